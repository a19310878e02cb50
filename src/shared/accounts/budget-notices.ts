/**
 * What a mail about a budget says. The statement that uses the budget asks for the mail (sql/notify_of_budget.sql).
 */
import type { Trx } from '../platform/postgres/db.ts'
import type { MailId } from '../platform/ids.ts'

/** That `percent` of a key's budget were used. `resetsAt`: when its window ends; null for a total. */
export type BudgetNotice = {
  keyName: string
  percent: 80 | 100
  used: number
  credits: number
  resetsAt: Date | null
}

type NoticeRow = {
  name: string
  percent: 80 | 100
  used: number
  credits: number
  resets_at: Date | null
}

/** What a mail is about, as it stands now; null if the budget was lifted or the key revoked since. */
export async function noticeOf(trx: Trx, mailId: MailId): Promise<BudgetNotice | null> {
  const { rows } = await trx.raw<{ rows: NoticeRow[] }>(
    `
    SELECT k.name, n.percent, w.used, b.credits,
      CASE WHEN b.period <> 'total'
        THEN (n.starts_at AT TIME ZONE 'UTC' + ('1 ' || b.period)::interval) AT TIME ZONE 'UTC' END AS resets_at
    FROM budget_notices n
    JOIN budget_windows w ON w.budget_id = n.budget_id AND w.starts_at = n.starts_at
    JOIN budgets b ON b.id = n.budget_id
    JOIN api_keys k ON k.id = b.key_id
    WHERE n.mail_id = ? AND k.revoked_at IS NULL`,
    [mailId],
  )
  const row = rows[0]
  return row
    ? { keyName: row.name, percent: row.percent, used: row.used, credits: row.credits, resetsAt: row.resets_at }
    : null
}
