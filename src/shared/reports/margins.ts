/** What calls brought in and what they cost, by day, model and upstream (docs/pricing.md#margins). */
import type { Db } from '../platform/postgres/db.ts'

/** One upstream of a model on one day (UTC, by the calls' acceptance): calls that succeeded or failed. */
export type MarginRow = {
  /** YYYY-MM-DD */
  day: string
  model: string
  /** null: none had served the call. */
  upstream: string | null
  /** By group: that of the account when its calls were opened; null: none. */
  group?: string | null
  calls: number
  credits: number
  /** The credits in micro-dollars; null if the worth of a credit is unknown. */
  revenueMicroUsd: number | null
  /** What is known of the cost; null if nothing is. */
  costMicroUsd: number | null
  /** Calls whose cost is unknown, and not in the sum. */
  callsOfUnknownCost: number
}

/**
 * The margins of the days `from` to `to` (YYYY-MM-DD, inclusive), oldest first.
 * @param creditMicroUsd what a credit is worth
 * @param byGroup a row for each group of customers, too
 */
export async function marginsByDay(
  db: Db,
  { from, to }: { from: string; to: string },
  creditMicroUsd: number | null,
  byGroup = false,
): Promise<MarginRow[]> {
  const [group, named] = byGroup ? [', group_name', `, nullif(group_name, '') AS "group"`] : ['', '']
  const { rows } = await db.raw<{ rows: MarginRow[] }>(
    `
    SELECT to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, model, nullif(upstream, '') AS upstream${named},
      sum(succeeded + failed)::bigint AS calls, sum(credits)::bigint AS credits,
      (sum(credits) * :worth::bigint)::bigint AS "revenueMicroUsd",
      CASE WHEN sum(succeeded + failed) > sum(calls_of_unknown_cost) THEN sum(cost_micro_usd)::bigint
        END AS "costMicroUsd",
      sum(calls_of_unknown_cost)::bigint AS "callsOfUnknownCost"
    FROM usage_rows(NULL, :from::date::timestamp AT TIME ZONE 'UTC',
      (:to::date + 1)::timestamp AT TIME ZONE 'UTC') AS used
    WHERE succeeded + failed > 0
    GROUP BY day, model, used.upstream${group}
    ORDER BY day, model, used.upstream${group}`,
    { from, to, worth: creditMicroUsd },
  )
  return rows
}
