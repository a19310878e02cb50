/**
 * The summary of an account: balance, debt and open calls.
 */
import type { Db } from '../infra/db.ts'
import type { AccountId } from '../ids.ts'

/**
 * `credits`: the balance. `debt`: what past calls left uncollected; the next credits repay it. `held`: what open calls
 * have taken of it so far, and perhaps give back in part. `running`: open calls.
 */
export type AccountSummary = { credits: number; debt: number; held: number; running: number }

/**
 * Whether an account could be charged so many credits at this moment, and its balance. It is judged as a charge would
 * be, which takes nothing while there is debt and nothing from a grant past its time. Null where there is no account.
 */
export async function affordability(
  db: Db,
  id: AccountId,
  credits: number,
): Promise<{ balance: number; affordable: boolean } | null> {
  const { rows } = await db.raw<{ rows: { balance: number; affordable: boolean }[] }>(
    `
    SELECT acc.credits AS balance,
      acc.debt = 0 AND coalesce((SELECT max(lot.upto) FROM spendable_lots(ARRAY[acc.id]) lot), 0) >= ? AS affordable
    FROM accounts acc WHERE acc.id = ?`,
    [credits, id],
  )
  return rows[0] ?? null
}

/** The summary of this account; null if there is none. */
export async function summaryOf(db: Db, id: AccountId): Promise<AccountSummary | null> {
  const { rows } = await db.raw<{ rows: AccountSummary[] }>(
    `
    SELECT acc.credits, acc.debt, coalesce(sum(c.credits), 0)::bigint AS held, count(c.id) AS running
    FROM accounts acc LEFT JOIN calls c ON c.account_id = acc.id AND c.finished_at IS NULL
    WHERE acc.id = ? GROUP BY acc.id`,
    [id],
  )
  return rows[0] ?? null
}
