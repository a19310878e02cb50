/**
 * What an account used, by day and model: its call records, added up.
 */
import type { Db } from '../db.ts'
import type { AccountId } from '../ids.ts'
import type { Modality } from './lifecycle.ts'

/**
 * One model on one day (UTC, by the calls' acceptance). Refused calls are left out: they never were charged, and their
 * model is whatever text a client sent. `calls` has the failed ones in it, and those that have not ended, with the
 * credits they hold.
 */
export type UsageRow = {
  /** YYYY-MM-DD */
  day: string
  model: string; modality: Modality
  calls: number; failed: number; credits: number; inputTokens: number; outputTokens: number
}

/** Usage of the days `from` to `to` (YYYY-MM-DD, inclusive), oldest first; what had no calls has no row. */
export async function usageByDay(db: Db, accountId: AccountId, from: string, to: string): Promise<UsageRow[]> {
  const { rows } = await db.raw<{ rows: UsageRow[] }>(`
    SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, model, modality,
      count(*) AS calls, count(*) FILTER (WHERE status = 'failed') AS failed, sum(credits)::bigint AS credits,
      coalesce(sum(input_tokens), 0)::bigint AS "inputTokens", coalesce(sum(output_tokens), 0)::bigint AS "outputTokens"
    FROM calls
    WHERE user_id = ? AND status <> 'rejected'
      AND created_at >= ?::date::timestamp AT TIME ZONE 'UTC'
      AND created_at < (?::date + 1)::timestamp AT TIME ZONE 'UTC'
    GROUP BY 1, 2, 3 ORDER BY 1, 2, 3`, [accountId, from, to])
  return rows
}
