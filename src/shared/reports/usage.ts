/** What an account used, by day or hour, and by model, key or member (docs/scaling.md#usage). */
import type { Db } from '../platform/postgres/db.ts'
import type { Seen } from '../identity/members.ts'
import type { KeyId, UserId } from '../platform/ids.ts'
import type { Modality } from '../terms/kinds.ts'

/**
 * What was used in a day or an hour (UTC, by the calls' acceptance). Refused calls are excluded: they never were
 * charged. `calls` has the failed ones in it, and those that have not ended, with the credits they hold.
 */
type Used = {
  calls: number
  failed: number
  credits: number
  inputTokens: number
  outputTokens: number
  /** Those that succeeded, and how long all of these took together, in ms. */
  succeeded: number
  succeededMs: number
}

/** One model on one day (YYYY-MM-DD). */
export type UsageRow = Used & { day: string; model: string; modality: Modality }

/** One model in one hour, which begins at `hour` (ISO 8601, UTC). */
export type HourUsageRow = Used & { hour: string; model: string; modality: Modality }

/** One key on one day. */
export type KeyUsageRow = Used & { day: string; keyId: KeyId }

/** One member on one day. */
export type MemberUsageRow = Used & { day: string; memberId: UserId }

const DAY = `to_char(hour AT TIME ZONE 'UTC', 'YYYY-MM-DD') AS day`

/** The days `from` to `to` (YYYY-MM-DD, inclusive) as moments. */
const momentsOf = (from: string, to: string) => ({
  since: `${from}T00:00:00Z`,
  upto: new Date(Date.parse(to) + 86_400_000).toISOString(),
})

/**
 * Usage of the days `from` to `to` (YYYY-MM-DD, inclusive) by model, oldest first; days and models without calls have
 * no row.
 * @param keyId only the calls that came with this key.
 */
export const usageByDay = (
  db: Db,
  seen: Seen,
  from: string,
  to: string,
  keyId: KeyId | null = null,
): Promise<UsageRow[]> => addUp(db, [DAY, 'model', 'modality'], { ...seen, ...momentsOf(from, to), keyId })

/** Usage of the days `from` to `to` (YYYY-MM-DD, inclusive) by key, oldest first. */
export const keyUsageByDay = (db: Db, seen: Seen, from: string, to: string): Promise<KeyUsageRow[]> =>
  addUp(db, [DAY, 'key_id AS "keyId"'], { ...seen, ...momentsOf(from, to), keyId: null })

/** Usage of the days `from` to `to` (YYYY-MM-DD, inclusive) by member, oldest first. */
export const memberUsageByDay = (db: Db, seen: Seen, from: string, to: string): Promise<MemberUsageRow[]> =>
  addUp(db, [DAY, 'user_id AS "memberId"'], { ...seen, ...momentsOf(from, to), keyId: null })

/** Usage of the hours that begin from `from` to `to` by model, oldest first. @param keyId as above */
export async function usageByHour(
  db: Db,
  seen: Seen,
  { from, to, keyId }: { from: Date; to: Date; keyId: KeyId | null },
): Promise<HourUsageRow[]> {
  const since = new Date(Math.floor(from.getTime() / HOUR_MS) * HOUR_MS).toISOString()
  const upto = new Date(to.getTime() + 1).toISOString()
  const rows = await addUp<Omit<HourUsageRow, 'hour'> & { hour: Date }>(db, ['hour', 'model', 'modality'], {
    ...seen,
    since,
    upto,
    keyId,
  })
  return rows.map((row) => ({ ...row, hour: row.hour.toISOString() }))
}

const HOUR_MS = 3_600_000

/** `memberId`, `keyId`: only their calls; null: all. `since` and `upto` (exclusive): of which hours. */
type Wanted = Seen & { since: string; upto: string; keyId: KeyId | null }

/** Adds up usage by these columns, in their order. */
async function addUp<Row>(db: Db, columns: string[], { accountId, memberId, ...wanted }: Wanted): Promise<Row[]> {
  const places = columns.map((_column, index) => index + 1).join(', ')
  const { rows } = await db.raw<{ rows: Row[] }>(
    `
    SELECT ${columns.join(', ')}, sum(calls)::bigint AS calls, sum(failed)::bigint AS failed,
      sum(credits)::bigint AS credits, sum(input_tokens)::bigint AS "inputTokens",
      sum(output_tokens)::bigint AS "outputTokens", sum(succeeded)::bigint AS succeeded,
      sum(succeeded_ms)::bigint AS "succeededMs"
    FROM usage_rows(:accountId, :since, :upto)
    WHERE (:keyId::uuid IS NULL OR key_id = :keyId) AND (:memberId::uuid IS NULL OR user_id = :memberId)
    GROUP BY ${places} HAVING sum(calls) > 0
    ORDER BY ${places}`,
    { accountId, memberId: memberId ?? null, ...wanted },
  )
  return rows
}
