/**
 * Work that one process does at a time. Kept in Postgres: a lock in Redis would be forgotten by a flush.
 */
import type { Db } from './db.ts'

/**
 * Does `work` unless another process is at it.
 * @param seconds after which a holder counts as dead; longer than the work ever takes.
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
