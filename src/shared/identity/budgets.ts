/**
 * Budgets: how many credits the calls of a key, or of a member with all their keys of an account, may cost in a period.
 * The statement that charges a call checks and uses both (sql/open_calls.sql); the tighter one decides.
 */
import { newId } from '../platform/ids.ts'
import type { AccountId, KeyId, UserId } from '../platform/ids.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { MailDetails, BudgetNotice } from '../mail/mails.ts'

/** How long a window of a budget is. Windows are those of UTC; a week begins on Monday. */
export const PERIODS = ['total', 'day', 'week', 'month'] as const
/** After which time a budget begins anew; `total` never does. */
export type Period = (typeof PERIODS)[number]

/** How many credits the calls of a key or a member may cost in a period; 0 allows nothing. */
export type Budget = { credits: number; period: Period }

/**
 * A budget and what was used of it in the current window. `used` can exceed `credits`: a settlement counts in full.
 * `resetsAt`: when the next window begins; null for a total.
 */
export type ShownBudget = Budget & { used: number; remaining: number; resetsAt: string | null }

/** Whose budget it is: a key's, or a member's of an account. */
export type BudgetHolder = { scope: 'key'; keyId: KeyId } | { scope: 'member'; userId: UserId }

/** What `presentBudget` reads of a row. `credits` is null if there is no budget. */
export type BudgetRow = { credits: number | null; period: Period; used: number; resets_at: Date | null }

/** SQL: when the window of a budget `b` ends that begins at a moment; null for a total. */
export const windowEnd = (start: string): string =>
  `CASE WHEN b.period <> 'total'
    THEN (${start} AT TIME ZONE 'UTC' + ('1 ' || b.period)::interval) AT TIME ZONE 'UTC' END`

/** SQL: the columns of a `BudgetRow`, of a budget `b` and its window `w`. */
export const BUDGET_COLUMNS = `b.credits, b.period, coalesce(w.used, 0) AS used,
  ${windowEnd('budget_window(b.period, now())')} AS resets_at`

/** SQL: joins the window of a budget `b` that runs. */
export const JOIN_WINDOW = `LEFT JOIN budget_windows w ON w.budget_id = b.id
    AND w.starts_at = budget_window(b.period, now())`

/** A budget as its holder sees it; null if there is no budget. */
export function presentBudget({ credits, period, used, resets_at }: BudgetRow): ShownBudget | null {
  if (credits === null) return null
  return { credits, period, used, remaining: Math.max(0, credits - used), resetsAt: resets_at?.toISOString() ?? null }
}

/**
 * Sets or lifts a budget. The account's row must be locked, and be marked afterwards (sql/mark_limited.sql). A budget
 * counts the calls that are opened from when it is set. One of another period is another budget, and begins at zero;
 * other credits for the same period do not change what was used.
 */
export async function setBudget(
  trx: Trx,
  accountId: AccountId,
  holder: BudgetHolder,
  budget: Budget | null,
): Promise<void> {
  const whose = holder.scope === 'key' ? { key_id: holder.keyId } : { account_id: accountId, user_id: holder.userId }
  await trx('budgets')
    .where(whose)
    .modify((query) => {
      if (budget) void query.whereNot({ period: budget.period })
    })
    .delete()
  if (!budget) return
  await trx('budgets')
    .insert({
      ...whose,
      id: newId('budget'),
      account_id: accountId,
      scope: holder.scope,
      ...budget,
      created_at: trx.raw('clock_timestamp()'),
    })
    .onConflict(Object.keys(whose))
    .merge(['credits'])
}

/**
 * Counts what was spent of a budget in the running window before there was a record of it here. The account's row must
 * be locked, and the budget new.
 */
export async function countSpent(trx: Trx, holder: BudgetHolder, accountId: AccountId, spent: number): Promise<void> {
  const whose = holder.scope === 'key' ? { key_id: holder.keyId } : { account_id: accountId, user_id: holder.userId }
  const budget = await trx('budgets').where(whose).first<{ id: string; period: Period } | undefined>('id', 'period')
  if (!budget || spent === 0) return
  await trx('budget_windows').insert({
    budget_id: budget.id,
    starts_at: trx.raw('budget_window(?, now())', [budget.period]),
    used: spent,
    swept: spent,
  })
}

/** When the budget of a key, or of the member whose key it is, begins anew; null for a total, and without a budget. */
export async function resetOf(db: Db, keyId: KeyId, scope: BudgetHolder['scope']): Promise<string | null> {
  const { rows } = await db.raw<{ rows: { resets_at: Date | null }[] }>(
    `
    SELECT ${windowEnd('budget_window(b.period, now())')} AS resets_at
    FROM api_keys k CROSS JOIN LATERAL budgets_of(k.account_id, k.id, k.user_id) b
    WHERE k.id = :keyId AND b.scope = :scope`,
    { keyId, scope },
  )
  return rows[0]?.resets_at?.toISOString() ?? null
}

type NoticeRow = {
  key: string | null
  user_id: UserId
  email: string
  organisation: string
  used: number
  credits: number
  resets_at: Date | null
}

/**
 * What a mail is about, as it is now; null if the budget was lifted or the key revoked since.
 * @param details of the mail: the budget, its window, and the mark
 */
export async function noticeOf(
  trx: Trx,
  { budget, startsAt, percent }: MailDetails,
  reader: UserId | null,
): Promise<BudgetNotice | null> {
  const { rows } = await trx.raw<{ rows: NoticeRow[] }>(
    `
    SELECT k.name AS key, b.user_id, u.email, acc.name AS organisation, w.used - w.held AS used, b.credits,
      ${windowEnd('w.starts_at')} AS resets_at
    FROM budget_windows w JOIN budgets b ON b.id = w.budget_id JOIN accounts acc ON acc.id = b.account_id
    LEFT JOIN api_keys k ON k.id = b.key_id AND k.revoked_at IS NULL
    LEFT JOIN users u ON u.id = b.user_id
    WHERE w.budget_id = :budget AND w.starts_at = cast(:startsAt AS timestamptz)
      AND (k.id IS NOT NULL OR u.id IS NOT NULL)`,
    { budget: budget ?? null, startsAt: startsAt ?? null },
  )
  const [row] = rows
  if (!row) return null
  const { key, user_id: member, email, organisation, used, credits, resets_at: resetsAt } = row
  return {
    whose: key === null ? { email, organisation, isYou: member === reader } : { key },
    percent: percent as 80 | 100,
    used,
    credits,
    resetsAt,
  }
}
