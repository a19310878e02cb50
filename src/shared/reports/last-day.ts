/**
 * Totals of the calls of all accounts in the last 24 hours. Ids sort by time, so only the calls of that day are read,
 * however many there are.
 */
import type { Db } from '../platform/postgres/db.ts'
import { boundedSum } from '../platform/postgres/db.ts'
import type { AccountId } from '../platform/ids.ts'
import { CLOCKS_MS, firstIdAt } from '../platform/ids.ts'
import type { Modality } from '../terms/kinds.ts'

const HOUR_MS = 3_600_000

/** The usage of the hour that began 24 hours ago at most, and of those after it. */
const LAST_DAY = `usage_rows(NULL, now() - interval '24 hours', 'infinity')`

/** `calls`: accepted ones, with the failed ones among them. `refused`: before any charge. `credits`: what they cost. */
type Tally = { calls: number; failed: number; refused: number; credits: number }

/** The last 24 hours. `accounts`: how many made calls. The tops are the most expensive, the dearest first. */
export type LastDay = Tally & {
  accounts: number
  modalities: (Tally & { modality: Modality })[]
  topAccounts: (Tally & { accountId: AccountId })[]
  topModels: (Tally & { model: string })[]
}

type Row = Tally & {
  /** Which of account, model and modality it is not grouped by, as bits. */
  grouping: number
  account_id: AccountId | null
  model: string | null
  modality: Modality | null
  groups: number
}

/** The bits of `GROUPING(account_id, model, modality)`. */
const BY = { all: 7, account: 3, model: 5, modality: 6 } as const

/** Adds up the calls of the last 24 hours, in one pass. @param top how many accounts and models are named. */
export async function tallyLastDay(db: Db, top: number): Promise<LastDay> {
  const { rows } = await db.raw<{ rows: Row[] }>(
    `
    SELECT * FROM (
      SELECT tally.*, count(*) OVER (PARTITION BY "grouping") AS groups,
        row_number() OVER (PARTITION BY "grouping" ORDER BY credits DESC, calls DESC, account_id, model) AS place
      FROM (
        SELECT GROUPING(account_id, model, modality) AS "grouping", account_id, model, modality,
          sum(calls)::bigint AS calls, sum(failed)::bigint AS failed, ${boundedSum('refused')} AS refused,
          ${boundedSum('credits')} AS credits
        FROM ${LAST_DAY}
        GROUP BY GROUPING SETS ((), (account_id), (model), (modality))
      ) tally
      -- Refused calls have no model.
      WHERE calls > 0 OR account_id IS NULL AND model IS NULL
    ) ranked
    WHERE place <= ? ORDER BY "grouping", place`,
    [top],
  )
  const of = (grouping: number): Row[] => rows.filter((row) => row.grouping === grouping)
  return {
    ...tallyOf(of(BY.all)[0]!),
    accounts: of(BY.account)[0]?.groups ?? 0,
    modalities: of(BY.modality).map((row) => ({ modality: row.modality!, ...tallyOf(row) })),
    topAccounts: of(BY.account).map((row) => ({ accountId: row.account_id!, ...tallyOf(row) })),
    topModels: of(BY.model).map((row) => ({ model: row.model!, ...tallyOf(row) })),
  }
}

const tallyOf = ({ calls, failed, refused, credits }: Row): Tally => ({ calls, failed, refused, credits })

/** An upstream in one hour: the calls that were accepted then and have ended since. */
export type UpstreamHour = { upstream: string; hour: Date; calls: number; failed: number }

/** Every upstream in every hour of the last 24 in which it had calls, oldest first. */
export async function upstreamHours(db: Db): Promise<UpstreamHour[]> {
  const { rows } = await db.raw<{ rows: UpstreamHour[] }>(
    `
    SELECT coalesce(nullif(upstream, ''), '(none)') AS upstream, hour, sum(succeeded + failed)::bigint AS calls,
      sum(failed)::bigint AS failed
    FROM ${LAST_DAY} AS used WHERE succeeded + failed > 0
    GROUP BY used.upstream, hour ORDER BY hour, 1`,
  )
  return rows
}

/** The requests with a key of an upstream in calls that ended in the last hour, and how many of them failed. */
export type KeyOfLastHour = { upstream: string; key: string; calls: number; failures: number }

/** Every key that was asked for a call that ended in the last hour. */
export async function keysOfLastHour(db: Db): Promise<KeyOfLastHour[]> {
  const first = firstIdAt('call', Date.now() - 2 * HOUR_MS - CLOCKS_MS)
  const { rows } = await db.raw<{ rows: KeyOfLastHour[] }>(
    `
    SELECT upstream, key, count(*) AS calls, count(*) FILTER (WHERE failed) AS failures
    FROM (
      SELECT upstream, upstream_key AS key, false AS failed FROM calls
      WHERE id > :first::uuid AND finished_at > now() - interval '1 hour' AND tries IS NULL AND upstream_key IS NOT NULL
      UNION ALL
      SELECT try ->> 'upstream', try ->> 'key', try ->> 'error' IS NOT NULL
      FROM call_tries t CROSS JOIN jsonb_array_elements(t.tries) AS try
      WHERE t.expires_at > now() + interval '7 days' - interval '1 hour'
    ) asked
    GROUP BY 1, 2`,
    { first },
  )
  return rows
}

/** The calls of an upstream that ended in the last hour. `latencyMs`: the median. */
export type UpstreamOfLastHour = {
  upstream: string
  calls: number
  failed: number
  latencyMs: number | null
  lastCallAt: Date
}

/** Every upstream that served or failed a call in the last hour. Calls end within their hour's deadline. */
export async function upstreamsOfLastHour(db: Db): Promise<UpstreamOfLastHour[]> {
  const { rows } = await db.raw<{ rows: UpstreamOfLastHour[] }>(
    `
    SELECT coalesce(upstream, '(none)') AS upstream, count(*) AS calls,
      count(*) FILTER (WHERE status = 'failed') AS failed,
      percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms)::bigint AS "latencyMs", max(finished_at) AS "lastCallAt"
    FROM calls
    WHERE id > ?::uuid AND status IN ('succeeded', 'failed') AND finished_at > now() - interval '1 hour'
    GROUP BY 1 ORDER BY 1`,
    [firstIdAt('call', Date.now() - 2 * HOUR_MS - CLOCKS_MS)],
  )
  return rows
}
