/** The invariants of the hours of usage, and what else the audit knows of calls by them. */

/** SQL: from which id on there are records of all calls; those before it count as gone (sql/leave_month.sql). */
export const KEPT_FROM = '(SELECT kept_from FROM usage_watermark)'

/** What calls left uncollected: those that have records, and, by their hours, those whose months were given up. */
export const UNCOLLECTED = `
  SELECT account_id, credits_uncollected FROM calls
  WHERE credits_uncollected > 0 AND id >= ${KEPT_FROM}
  UNION ALL SELECT account_id, credits_uncollected FROM usage_hours
  WHERE credits_uncollected > 0 AND hour < (SELECT accepted_at(kept_from) FROM usage_watermark)`

/**
 * Queries that return what breaks the invariants (audit.ts). By the day of acceptance: records of calls before
 * `records_from` may be deleted; their ledger entries stay.
 */
export const OF_USAGE: Record<string, string> = {
  'the hours of usage are what the calls that ended before the watermark add up to': `
    SELECT account_id, day, sum(calls) AS calls, sum(credits) AS credits, sum(uncollected) AS uncollected,
      sum(tokens) AS tokens, sum(cost) AS cost, sum(refused) AS refused
    FROM (
      SELECT account_id, date_trunc('day', hour, 'UTC') AS day, calls, credits, credits_uncollected AS uncollected,
        input_tokens + output_tokens AS tokens, cost_micro_usd AS cost, refused
      FROM usage_hours
      UNION ALL
      SELECT account_id, date_trunc('day', accepted_at(id), 'UTC'), -(status <> 'rejected')::integer, -credits,
        -credits_uncollected, -coalesce(input_tokens, 0) - coalesce(output_tokens, 0), -coalesce(cost_micro_usd, 0),
        -(CASE status WHEN 'rejected' THEN count ELSE 0 END)
      FROM calls WHERE finished_at < (SELECT folded_until FROM usage_watermark)
      UNION ALL
      -- A record of refusals that has ended again is counted as far as it had been folded.
      SELECT account_id, date_trunc('day', accepted_at(id), 'UTC'), 0, 0, 0, 0, 0, -counted
      FROM calls WHERE finished_at >= (SELECT folded_until FROM usage_watermark) AND counted > 0
    ) days
    WHERE day >= (SELECT records_from FROM usage_watermark)
    GROUP BY account_id, day
    HAVING sum(calls) <> 0 OR sum(credits) <> 0 OR sum(uncollected) <> 0 OR sum(tokens) <> 0 OR sum(cost) <> 0
      OR sum(refused) <> 0`,
  'the usage of a day is what the ledger charged for its calls': `
    SELECT account_id, day, sum(credits) AS credits FROM (
      SELECT account_id, date_trunc('day', hour, 'UTC') AS day, credits FROM usage_hours
      UNION ALL SELECT account_id, date_trunc('day', accepted_at(id), 'UTC'), credits FROM calls
      WHERE finished_at >= (SELECT folded_until FROM usage_watermark) OR finished_at IS NULL
      UNION ALL SELECT account_id, date_trunc('day', accepted_at(call_id), 'UTC'), amount FROM ledger_entries
      WHERE call_id IS NOT NULL
    ) days
    WHERE day >= (SELECT ledger_from FROM usage_watermark)
    GROUP BY account_id, day HAVING sum(credits) <> 0`,
}
