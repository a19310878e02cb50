/**
 * The summary of an account: balance, debt and open calls.
 */
import type { Db } from '../infra/db.ts'
import type { AccountId } from '../ids.ts'
import type { Role } from './users.ts'

/**
 * `credits`: the balance. `debt`: what past calls left uncollected; the next credits repay it. `held`: what open calls
 * have taken of it so far, and perhaps give back in part. `running`: open calls.
 */
export type AccountState = { role: Role; credits: number; debt: number; held: number; running: number }

/** The summary of this account; null if there is none. */
export async function summaryOf(db: Db, id: AccountId): Promise<AccountState | null> {
  const { rows } = await db.raw<{ rows: AccountState[] }>(
    `
    SELECT u.role, u.credits, u.debt, coalesce(sum(c.credits), 0)::bigint AS held, count(c.id) AS running
    FROM users u LEFT JOIN calls c ON c.user_id = u.id AND c.finished_at IS NULL
    WHERE u.id = ? GROUP BY u.id`,
    [id],
  )
  return rows[0] ?? null
}
