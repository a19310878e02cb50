/**
 * The summary of an account: balance, debt and open calls.
 */
import type { Db } from '../platform/postgres/db.ts'
import type { AccountId, KeyId } from '../platform/ids.ts'
import { JOIN_WINDOW } from './budgets.ts'

/**
 * `credits`: the balance. `debt`: what past calls left uncollected; the next credits repay it. `held`: what open calls
 * have taken of it so far, and perhaps give back in part. `running`: open calls.
 */
export type AccountSummary = { credits: number; debt: number; held: number; running: number }

/**
 * What an account can be charged at this moment with a key, in credits. `spendable`: its balance without grants past
 * their time. `keyBudget`, `memberBudget`: what is left of the budget of the key, and of the member whose it is; null
 * where there is none.
 */
export type Funds = {
  balance: number
  debt: number
  spendable: number
  keyBudget: number | null
  memberBudget: number | null
}

/** The funds behind a key; null where there is no account. */
export async function fundsOf(
  db: Db,
  { accountId, keyId }: { accountId: AccountId; keyId: KeyId },
): Promise<Funds | null> {
  const { rows } = await db.raw<{ rows: Funds[] }>(
    `
    SELECT acc.credits AS balance, acc.debt,
      coalesce((SELECT max(g.upto) FROM spendable_grants(ARRAY[acc.id]) g), 0) AS spendable,
      left_of."keyBudget", left_of."memberBudget"
    FROM accounts acc CROSS JOIN LATERAL (
      SELECT max(greatest(0, b.credits - coalesce(w.used, 0))) FILTER (WHERE b.scope = 'key') AS "keyBudget",
        max(greatest(0, b.credits - coalesce(w.used, 0))) FILTER (WHERE b.scope = 'member') AS "memberBudget"
      FROM api_keys k CROSS JOIN LATERAL budgets_of(k.account_id, k.id, k.user_id) b ${JOIN_WINDOW}
      WHERE k.id = :keyId
    ) left_of
    WHERE acc.id = :accountId`,
    { keyId, accountId },
  )
  return rows[0] ?? null
}

/**
 * The most that a call can be charged, in credits; null where it can be charged nothing at all, not even 0: in debt,
 * and by a key whose budget, or its member's, is spent.
 */
export function payable({ debt, spendable, keyBudget, memberBudget }: Funds): number | null {
  if (debt > 0 || keyBudget === 0 || memberBudget === 0) return null
  return Math.min(spendable, keyBudget ?? Infinity, memberBudget ?? Infinity)
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
