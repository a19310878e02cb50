/**
 * The summary of an account: balance, debt and open calls.
 */
import type { Db } from '../infra/db.ts'
import type { AccountId, KeyId } from '../ids.ts'

/**
 * `credits`: the balance. `debt`: what past calls left uncollected; the next credits repay it. `held`: what open calls
 * have taken of it so far, and perhaps give back in part. `running`: open calls.
 */
export type AccountSummary = { credits: number; debt: number; held: number; running: number }

/**
 * Whether an account could be charged so many credits at this moment with this key, and its balance. It is judged as a
 * charge would be, which takes nothing while there is debt, nothing from a grant past its time, and nothing beyond the
 * key's budget. Null where there is no account.
 */
export async function affordability(
  db: Db,
  { accountId, keyId }: { accountId: AccountId; keyId: KeyId },
  credits: number,
): Promise<{ balance: number; affordable: boolean } | null> {
  const { rows } = await db.raw<{ rows: { balance: number; affordable: boolean }[] }>(
    `
    SELECT acc.credits AS balance,
      acc.debt = 0 AND coalesce((SELECT max(g.upto) FROM spendable_grants(ARRAY[acc.id]) g), 0) >= :credits
      AND NOT EXISTS (SELECT FROM budgets b
        LEFT JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at = budget_window(b.period, now())
        WHERE b.key_id = :keyId AND NOT budget_allows(b.credits, coalesce(w.used, 0), :credits)) AS affordable
    FROM accounts acc WHERE acc.id = :accountId`,
    { credits, keyId, accountId },
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
