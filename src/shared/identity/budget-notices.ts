/**
 * What a mail about a budget reports. The statement that uses the budget asks for the mail (sql/notify_of_budget.sql).
 */
import type { MailDetails, BudgetNotice } from '../mail/mails.ts'
import type { UserId } from '../platform/ids.ts'
import type { Trx } from '../platform/postgres/db.ts'
import { windowEnd } from './budgets.ts'

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
