/**
 * How long calls took. What is read is bounded, however many calls there are: of each day or hour only the newest
 * calls, which are an interval of an index.
 */
import type { Db } from '../platform/postgres/db.ts'
import type { Seen } from '../identity/members.ts'
import type { KeyId } from '../platform/ids.ts'
import { firstIdAt } from '../platform/ids.ts'

/** From acceptance to end, of `calls` that succeeded: half of them, and 95 in 100, were at least as fast. */
export type Latency = { calls: number; p50Ms: number; p95Ms: number }

/** The latency of an account: of all its calls, by model and by key. `all` is null if none succeeded. */
export type AccountLatency = {
  all: Latency | null
  models: (Latency & { model: string })[]
  keys: (Latency & { keyId: KeyId })[]
}

/** The most calls of an account that are read, spread evenly over the days. Enough for a stable 95th percentile. */
const MOST_CALLS = 3000

/** The most calls of all accounts that are read of each of the last 24 hours. */
const MOST_OF_HOUR = 500

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const HOURS = 24

const PERCENTILES = `count(*) AS calls, percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms)::bigint AS "p50Ms",
      percentile_disc(0.95) WITHIN GROUP (ORDER BY latency_ms)::bigint AS "p95Ms"`

type Group = { calls: number; p50Ms: number | null; p95Ms: number | null; model: string | null; keyId: KeyId | null }

/**
 * The latency of an account's calls on the days `from` to `to` (YYYY-MM-DD in UTC, inclusive): exact while a day has
 * few calls, else of its newest.
 * @param keyId only the calls that came with this key.
 */
export async function latencyOfAccount(
  db: Db,
  { accountId, memberId }: Seen,
  from: string,
  to: string,
  keyId: KeyId | null = null,
): Promise<AccountLatency> {
  const days = Math.round((Date.parse(to) - Date.parse(from)) / DAY_MS) + 1
  const { rows } = await db.raw<{ rows: Group[] }>(
    `
    SELECT model, key_id AS "keyId", ${PERCENTILES}
    FROM generate_series(:from::date::timestamp, :to::date::timestamp, interval '1 day') AS day
    CROSS JOIN LATERAL (
      SELECT model, key_id, user_id, status, latency_ms FROM calls
      WHERE account_id = :accountId
        AND created_at >= day AT TIME ZONE 'UTC' AND created_at < (day + interval '1 day') AT TIME ZONE 'UTC'
      ORDER BY created_at DESC, id DESC LIMIT :each
    ) newest
    WHERE status = 'succeeded' ${keyId ? 'AND key_id = :keyId' : ''} ${memberId ? 'AND user_id = :memberId' : ''}
    GROUP BY GROUPING SETS ((), (model), (key_id))
    ORDER BY model, key_id`,
    { from, to, accountId, each: Math.ceil(MOST_CALLS / days), ...(keyId && { keyId }), ...(memberId && { memberId }) },
  )
  const known = rows.flatMap(({ p50Ms, p95Ms, ...row }) =>
    p50Ms === null || p95Ms === null ? [] : [{ ...row, p50Ms, p95Ms }],
  )
  const figures = ({ calls, p50Ms, p95Ms }: Latency): Latency => ({ calls, p50Ms, p95Ms })
  const all = known.find(({ model, keyId: key }) => model === null && key === null)
  return {
    all: all ? figures(all) : null,
    models: known.flatMap((row) => (row.model === null ? [] : [{ model: row.model, ...figures(row) }])),
    keys: known.flatMap((row) => (row.keyId === null ? [] : [{ keyId: row.keyId, ...figures(row) }])),
  }
}

/** The latency of each model in the last 24 hours, for all callers: of the newest calls of each hour. */
export async function latencyOfModels(db: Db): Promise<(Latency & { model: string })[]> {
  const now = Date.now()
  const starts = Array.from({ length: HOURS }, (_, hour) => now - (hour + 1) * HOUR_MS)
  const { rows } = await db.raw<{ rows: (Latency & { model: string })[] }>(
    `
    SELECT model, ${PERCENTILES}
    FROM unnest(:firsts::uuid[], :nexts::uuid[]) AS hour (first, next)
    CROSS JOIN LATERAL (
      SELECT model, status, latency_ms FROM calls WHERE id >= hour.first AND id < hour.next ORDER BY id DESC LIMIT :each
    ) newest
    WHERE status = 'succeeded'
    GROUP BY model ORDER BY model`,
    {
      firsts: starts.map((ms) => firstIdAt('call', ms)),
      nexts: starts.map((ms) => firstIdAt('call', ms + HOUR_MS)),
      each: MOST_OF_HOUR,
    },
  )
  return rows
}
