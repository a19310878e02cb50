/**
 * The calls of everybody, for operators: by time, with filters that no index has. So that no answer reads millions
 * of rows to find a few, each reads a bounded number of calls, and returns where the next one goes on.
 */
import type { Knex } from 'knex'
import type { Db } from '../platform/postgres/db.ts'
import { TIME_ORDERS } from '../platform/postgres/time-order.ts'
import type { AccountId } from '../platform/ids.ts'
import { CLOCKS_MS, firstIdAt } from '../platform/ids.ts'
import type { CallFilter, CallPosition } from './call-list.ts'
import { MICROS, MOMENT, matching } from './call-list.ts'
import type { CallRecord, RecordRow } from './call-records.ts'
import { RECORD_COLUMNS, recordOf } from './call-records.ts'

/** Which calls; an absent field keeps them all. `upstream`: that served or failed it. */
export type AnyCallFilter = CallFilter & { accountId?: AccountId; upstream?: string; errorType?: string }

/** A page; it may have few calls, or none, and yet a `next`: where the search goes on. */
export type AnyCallPage = { calls: (CallRecord & { accountId: AccountId })[]; next: CallPosition | null }

/** How many calls are read for one answer. */
const LOOKED_AT = 50_000

type Row = RecordRow & { account_id: AccountId; micros: number }

/** At most `limit` calls after the position, or the first. @param lookedAt for tests */
export async function listAnyCalls(
  db: Db,
  filter: AnyCallFilter,
  limit: number,
  after: CallPosition | null,
  lookedAt = LOOKED_AT,
): Promise<AnyCallPage> {
  const looked = () => inOrder(db('calls'), filter, after)
  const rows = await db
    .from(
      looked()
        .limit(lookedAt)
        .select([...RECORD_COLUMNS, 'account_id', db.raw(`${MICROS} AS micros`)])
        .as('calls'),
    )
    .where((query) => remaining(query, filter))
    .modify((query) => orderOf(query, filter))
    .limit(limit + 1)
    .select<Row[]>('*')
  const calls = rows.slice(0, limit).map((row) => ({ ...recordOf(row), accountId: row.account_id }))
  const last = rows.length > limit ? rows[limit - 1]! : await lastOf(db, looked(), lookedAt)
  return { calls, next: last && { micros: last.micros, id: last.id } }
}

/** The last call of a full page; null if the search came to the end. */
async function lastOf(db: Db, looked: Knex.QueryBuilder, lookedAt: number): Promise<CallPosition | null> {
  const row = await looked
    .offset(lookedAt - 1)
    .first<CallPosition | undefined>('id', db.raw(`${MICROS} AS micros`) as unknown as 'micros')
  return row ?? null
}

/** An account's calls are in the order of its index, all calls in that of their ids: both are that of time. */
function orderOf(query: Knex.QueryBuilder, { accountId, sort = 'newest' }: AnyCallFilter): void {
  const { direction } = TIME_ORDERS[sort]
  if (accountId) void query.orderBy('created_at', direction)
  void query.orderBy('id', direction)
}

/** What an index knows of a filter: the calls that are read. */
function inOrder(calls: Knex.QueryBuilder, filter: AnyCallFilter, after: CallPosition | null): Knex.QueryBuilder {
  const { accountId, status, errorType, from, before, sort = 'newest' } = filter
  const { follows } = TIME_ORDERS[sort]
  orderOf(calls, filter)
  if (accountId) void calls.where({ account_id: accountId })
  if (from) {
    void calls.where('created_at', '>=', from)
    if (!accountId) void calls.where('id', '>=', firstIdAt('call', from.getTime() - CLOCKS_MS))
  }
  if (before) {
    void calls.where('created_at', '<', before)
    if (!accountId) void calls.where('id', '<', firstIdAt('call', before.getTime() + CLOCKS_MS))
  }
  if (status === 'failed' || status === 'rejected' || errorType) void calls.whereNotNull('error_type')
  if (status === 'queued' || status === 'running') void calls.whereNull('finished_at')
  if (after && accountId) void calls.whereRaw(`(created_at, id) ${follows} (${MOMENT}, ?)`, [after.micros, after.id])
  else if (after) void calls.where('id', follows, after.id)
  return calls
}

/** The rest of a filter. */
function remaining(query: Knex.QueryBuilder, filter: AnyCallFilter): void {
  const { upstream, errorType } = filter
  matching(query, filter)
  void query.where({
    ...(upstream !== undefined && { upstream }),
    ...(errorType !== undefined && { error_type: errorType }),
  })
}
