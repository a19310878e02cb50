/** Leases: work that one process does at a time. Stored in Postgres, because a flush of Redis would lose the lock. */
import type { Db } from './db.ts'

/**
 * Does `work` unless another process is doing it.
 * @param seconds after which the holder counts as dead; must be longer than the work ever takes.
 * @returns whether the work was done here.
 */
export async function underLease(db: Db, name: string, seconds: number, work: () => Promise<void>): Promise<boolean> {
  const { rowCount } = await db.raw<{ rowCount: number }>(
    `
    INSERT INTO leases (name, held_until) VALUES (?, now() + make_interval(secs => ?))
    ON CONFLICT (name) DO UPDATE SET held_until = excluded.held_until WHERE leases.held_until < now()`,
    [name, seconds],
  )
  if (rowCount === 0) return false
  try {
    await work()
  } finally {
    await db('leases').where({ name }).update({ held_until: db.fn.now() })
  }
  return true
}
