/**
 * The calls of an account as pages, by time. The order is that of acceptance, and of ids within one microsecond: a
 * page is an interval of it, so that calls that arrive meanwhile move nothing.
 */
import type { Knex } from 'knex'
import type { Db } from '../platform/postgres/db.ts'
import type { TimeOrder } from '../platform/postgres/time-order.ts'
import { TIME_ORDERS } from '../platform/postgres/time-order.ts'
import type { Seen } from '../identity/members.ts'
import { ownedBy } from '../identity/members.ts'
import type { CallId, KeyId, UserId } from '../platform/ids.ts'
import type { Modality } from '../terms/kinds.ts'
import type { CallStatus } from '../terms/lifecycle.ts'
import type { Dialect } from '../chat/dialect.ts'
import type { CallRecord, RecordRow } from './call-records.ts'
import { RECORD_COLUMNS, recordOf } from './call-records.ts'

/** Which calls; an absent field keeps them all. */
export type CallFilter = {
  model?: string
  modality?: Modality
  /** Chats that were asked in it. */
  dialect?: Dialect
  status?: CallStatus
  keyId?: KeyId
  /** With a key of this member. */
  memberId?: UserId
  /** Accepted at this moment or later. */
  from?: Date
  /** Accepted before this moment. */
  before?: Date
  /** The newest first if absent. */
  sort?: TimeOrder
}

/** The last call of a page. A `Date` would lose the microseconds that Postgres orders by. */
export type CallPosition = { micros: number; id: CallId }

/** One page; `next` is null on the last one. */
export type CallPage = { calls: CallRecord[]; next: CallPosition | null }

/** The time of a call in microseconds, and a moment of them, as SQL. */
export const MICROS = '(extract(epoch FROM created_at) * 1000000)::bigint'
/** SQL: a moment from microseconds since 1970, the precision of Postgres; a Date has milliseconds only. */
export const MOMENT = "timestamptz 'epoch' + ? * interval '1 microsecond'"

/** At most `limit` calls after the position, or the first. */
export async function listCalls(
  db: Db,
  seen: Seen,
  filter: CallFilter,
  limit: number,
  after: CallPosition | null,
): Promise<CallPage> {
  const { direction, follows } = TIME_ORDERS[filter.sort ?? 'newest']
  const rows = await db('calls')
    .where(ownedBy(seen))
    .where((query) => matching(query, filter))
    .where((query) => within(query, filter))
    .modify((query) => {
      if (after) void query.whereRaw(`(created_at, id) ${follows} (${MOMENT}, ?)`, [after.micros, after.id])
    })
    .orderBy([
      { column: 'created_at', order: direction },
      { column: 'id', order: direction },
    ])
    .limit(limit + 1)
    .select<(RecordRow & { micros: number })[]>([...RECORD_COLUMNS, db.raw(`${MICROS} AS micros`)])
  const last = rows.length > limit ? rows[limit - 1]! : null
  return { calls: rows.slice(0, limit).map(recordOf), next: last && { micros: last.micros, id: last.id } }
}

/** Keeps the calls that are what a filter asks for, whenever they came. */
export function matching(
  query: Knex.QueryBuilder,
  { model, modality, dialect, status, keyId, memberId }: CallFilter,
): void {
  void query.where({
    ...(model !== undefined && { model }),
    ...(modality && { modality }),
    ...(status && { status }),
    ...(keyId && { key_id: keyId }),
    ...(memberId && { user_id: memberId }),
  })
  if (dialect) void query.whereRaw('coalesce(dialect, modality) = ?', [dialect])
}

function within(query: Knex.QueryBuilder, { from, before }: CallFilter): void {
  if (from) void query.where('created_at', '>=', from)
  if (before) void query.where('created_at', '<', before)
}
