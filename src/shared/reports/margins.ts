/** What calls brought in and what they cost, by day, model and upstream (docs/pricing.md#margins). */
import type { Db } from '../platform/postgres/db.ts'
import { CLOCKS_MS, firstIdAt } from '../platform/ids.ts'

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

const DAY_MS = 86_400_000

/**
 * The margins of the days `from` to `to` (YYYY-MM-DD, inclusive), oldest first. The calls of all accounts in a time are
 * an interval of their ids.
 * @param creditMicroUsd what a credit is worth
 * @param byGroup a row for each group of customers, too
 */
export async function marginsByDay(
  db: Db,
  { from, to }: { from: string; to: string },
  creditMicroUsd: number | null,
  byGroup = false,
): Promise<MarginRow[]> {
  const [group, named] = byGroup ? [', group_name', ', group_name AS "group"'] : ['', '']
  const { rows } = await db.raw<{ rows: MarginRow[] }>(
    `
    SELECT to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day, model, upstream${named},
      count(*) AS calls, sum(credits)::bigint AS credits, (sum(credits) * :worth::bigint)::bigint AS "revenueMicroUsd",
      sum(cost_micro_usd)::bigint AS "costMicroUsd",
      count(*) FILTER (WHERE cost_micro_usd IS NULL) AS "callsOfUnknownCost"
    FROM calls
    WHERE id BETWEEN :first AND :last AND status IN ('succeeded', 'failed')
      AND created_at >= :from::date::timestamp AT TIME ZONE 'UTC'
      AND created_at < (:to::date + 1)::timestamp AT TIME ZONE 'UTC'
    GROUP BY day, model, upstream${group}
    ORDER BY day, model, upstream NULLS FIRST${group && `${group} NULLS FIRST`}`,
    {
      from,
      to,
      worth: creditMicroUsd,
      first: firstIdAt('call', Date.parse(from) - CLOCKS_MS),
      last: firstIdAt('call', Date.parse(to) + DAY_MS + CLOCKS_MS),
    },
  )
  return rows
}
