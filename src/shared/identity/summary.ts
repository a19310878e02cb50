/** The summary of an account: balance, debt and open calls. */
import type { Db } from '../platform/postgres/db.ts'
import type { AccountId, KeyId } from '../platform/ids.ts'
import { JOIN_WINDOW } from './budgets.ts'

/**
 * `credits`: the balance. `debt`: what past calls did not collect; the next credits repay it. `held`: what open calls
 * have taken of it so far, and perhaps give back in part. `running`: open calls.
 */
export type AccountSummary = { credits: number; debt: number; held: number; running: number }

/**
 * What can be charged to a balance or to a budget, in credits. `left`: now; negative if settlements exceeded a budget.
 * `held`: what running calls hold of it and may give back.
 */
export type Source = { left: number; held: number }

/**
 * What an account can be charged at this moment with a key, in credits. `balance`: as it is shown. `spendable`: the
 * balance without grants past their time. `keyBudget`, `memberBudget`: the budgets of the key and of its member; null
 * if there is none. `hasTopUp`: automatic top-up is on.
 */
export type Funds = {
  balance: number
  debt: number
  spendable: Source
  keyBudget: Source | null
  memberBudget: Source | null
  hasTopUp: boolean
}

/** The funds behind a key; null if there is no account. */
export async function fundsOf(
  db: Db,
  { accountId, keyId }: { accountId: AccountId; keyId: KeyId },
): Promise<Funds | null> {
  const { rows } = await db.raw<{ rows: Funds[] }>(
    `
    SELECT acc.credits AS balance, acc.debt,
      json_build_object('left',
        coalesce((SELECT max(g.upto) FROM spendable_grants(ARRAY[acc.id]) g), 0), 'held', acc.held) AS spendable,
      budget."keyBudget", budget."memberBudget",
      acc.top_up_below IS NOT NULL AS "hasTopUp"
    FROM accounts acc CROSS JOIN LATERAL (
      SELECT ${sourceOf('key')} AS "keyBudget", ${sourceOf('member')} AS "memberBudget"
      FROM api_keys k CROSS JOIN LATERAL budgets_of(k.account_id, k.id, k.user_id) b ${JOIN_WINDOW}
      WHERE k.id = :keyId
    ) budget
    WHERE acc.id = :accountId`,
    { keyId, accountId },
  )
  return rows[0] ?? null
}

/** SQL: the budget of a scope as a source; null if there is none. */
const sourceOf = (scope: 'key' | 'member'): string =>
  `(json_agg(json_build_object('left', b.credits - coalesce(w.used, 0), 'held', coalesce(w.held, 0)))
        FILTER (WHERE b.scope = '${scope}')) -> 0`

/**
 * The most credits that a call can be charged: `now`, and `later`, if running calls gave back all that they hold. Null
 * where it can be charged nothing at all, not even 0: in debt, and to a budget that is spent.
 */
export type Payable = { now: number | null; later: number | null }

/** What can be paid from these funds. */
export function payable({ debt, spendable, keyBudget, memberBudget }: Funds): Payable {
  const least = (free: (source: Source) => number): number | null => {
    const budgets = [keyBudget, memberBudget].filter((budget) => budget !== null).map(free)
    return debt > 0 || budgets.some((left) => left <= 0) ? null : Math.min(free(spendable), ...budgets)
  }
  return { now: least(({ left }) => left), later: least(({ left, held }) => left + held) }
}

/** The summary of this account; null if there is none. */
export async function summaryOf(db: Db, id: AccountId): Promise<AccountSummary | null> {
  const { rows } = await db.raw<{ rows: AccountSummary[] }>(
    `
    SELECT acc.credits, acc.debt, acc.held, acc.outstanding_calls AS running FROM accounts acc WHERE acc.id = ?`,
    [id],
  )
  return rows[0] ?? null
}
