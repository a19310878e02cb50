/**
 * Where an account stands at this moment.
 */
import type { Db } from '../db.ts'
import type { AccountId } from '../ids.ts'
import type { Role } from './users.ts'

/** `credits`: the balance. `held`: what open calls have taken of it so far, and perhaps give back in part. */
export type AccountState = { role: Role; credits: number; held: number; openCalls: number }

/** Where this account stands; null where there is none. */
export async function standingOf(db: Db, id: AccountId): Promise<AccountState | null> {
  const { rows } = await db.raw<{ rows: AccountState[] }>(`
    SELECT u.role, u.credits, coalesce(sum(c.credits), 0)::bigint AS held, count(c.id) AS "openCalls"
    FROM users u LEFT JOIN calls c ON c.user_id = u.id AND c.finished_at IS NULL
    WHERE u.id = ? GROUP BY u.id`, [id])
  return rows[0] ?? null
}
