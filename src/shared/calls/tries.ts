/** The tries of a call at its upstreams, as they are stored for operators. */
import { SUCCESS } from '../platform/errors.ts'
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { CallId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'

/**
 * One request to an upstream. `status`: of HTTP; null if it did not answer. `error`: the kind of its failure and the
 * upstream's words, bounded, without its keys; null if it succeeded. `ms`: until its end, in milliseconds.
 */
export type CallTry = {
  upstream: string
  key: string | null
  status: number | null
  error: string | null
  ms: number
  /** When it was sent, in ISO 8601. */
  at: string
}

/**
 * How the session of a call was served: by what served it before (`hit`), by what serves it from now on because nothing
 * did before (`new`), or in place of what did (`moved`).
 */
export const SESSION_USES = ['hit', 'new', 'moved'] as const
/** One of them. */
export type SessionUse = (typeof SESSION_USES)[number]

/** What is known of how a call was tried, at its end. */
export type Tried = {
  /** The key that served or failed it, by its name. */
  upstreamKey?: string | null
  /** Absent where its only try succeeded: its row has all of that. */
  tries?: readonly CallTry[] | undefined
  /** Absent without a session. */
  session?: SessionUse | undefined
}

type Row = {
  stored: CallTry[] | null
  tries: number | null
  status: string
  upstream: string | null
  upstream_key: string | null
  started_at: Date | null
  finished_at: Date | null
}

/**
 * The tries of a call, oldest first. Those that were stored are known for seven days; the only try of a call that
 * succeeded as long as its record.
 */
export async function triesOfCall(db: Db, id: CallId): Promise<CallTry[]> {
  const row = await db('calls as c')
    .leftJoin('call_tries as t', 't.call_id', 'c.id')
    .where('c.id', id)
    .first<Row | undefined>(
      't.tries as stored',
      'c.tries',
      'c.status',
      'c.upstream',
      'c.upstream_key',
      'c.started_at',
      'c.finished_at',
    )
  if (!row) return []
  const { stored, tries, status, upstream, upstream_key: key, started_at: startedAt, finished_at: endedAt } = row
  if (stored) return stored
  if (status !== 'succeeded' || tries !== null || !upstream || !startedAt || !endedAt) return []
  const ms = endedAt.getTime() - startedAt.getTime()
  return [{ upstream, key, status: SUCCESS, error: null, ms, at: startedAt.toISOString() }]
}

/** A failed try, and the call that it was for. */
export type FailedTry = CallTry & { call: string }

/** Reads the failed tries of the last calls that ended with any, newest first; @param calls how many of these */
export async function lastFailedTries(db: Db, calls: number): Promise<FailedTry[]> {
  const rows = await db('call_tries')
    .orderBy('expires_at', 'desc')
    .limit(calls)
    .select<{ call_id: CallId; tries: CallTry[] }[]>('call_id', 'tries')
  return rows.flatMap(({ call_id: id, tries }) =>
    tries
      .filter(({ error }) => error !== null)
      .toReversed()
      .map((one) => ({ ...one, call: publicId('call', id) })),
  )
}

/** The upstream and the key that served a call, by their names; null if they are not known. */
export const servedAt = async (db: Db, id: CallId): Promise<{ upstream: string; key: string } | null> =>
  (await db('calls')
    .where({ id })
    .whereNotNull('upstream')
    .whereNotNull('upstream_key')
    .first<{ upstream: string; key: string } | undefined>('upstream', 'upstream_key as key')) ?? null

/** The keys of open tasks, with how many each has made. */
export async function keysOfTasks(db: Db | Trx): Promise<{ upstream: string; key: string; tasks: number }[]> {
  const { rows } = await db.raw<{ rows: { upstream: string; key: string; tasks: number }[] }>(`
    SELECT upstream, upstream_key AS key, count(*)::integer AS tasks FROM calls
    WHERE finished_at IS NULL AND upstream_ref IS NOT NULL AND upstream_key IS NOT NULL
    GROUP BY 1, 2 ORDER BY 1, 2`)
  return rows
}

/** Deletes tries past their seven days, at most `limit` at a time. @returns how many */
export const deleteOldTries = (db: Db, limit: number): Promise<number> =>
  db('call_tries')
    .whereIn(
      'call_id',
      db('call_tries').where('expires_at', '<=', db.fn.now()).orderBy('expires_at').limit(limit).select('call_id'),
    )
    .delete()
