/** Postgres: one pool per process, and what its errors mean. */
import type { Socket } from 'node:net'
import knex from 'knex'
import type { Knex } from 'knex'
import pg from 'pg'
import type { Config } from '../config/config.ts'

/** The pool of connections to Postgres. */
export type Db = Knex
/** A transaction that is open. */
export type Trx = Knex.Transaction

// Postgres sends bigint as text. Every bigint column is bounded by a constraint far below 2^53. A larger value is a
// defect and must not be rounded silently.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} is not exact in JavaScript`)
  return value
})

const TLS = { off: false, require: { rejectUnauthorized: false }, verify: { rejectUnauthorized: true } } as const

// Files of certificates in the address are read by the library where certificates are checked.
const SSL_PARAMETERS = ['sslmode', 'ssl', 'uselibpqcompat']

/** The address as it is but for these parameters: how it is read is the library's. */
function withoutSsl(address: string): string {
  const at = address.indexOf('?')
  if (at === -1) return address
  const parameters = new URLSearchParams(address.slice(at))
  for (const name of SSL_PARAMETERS) parameters.delete(name)
  return `${address.slice(0, at)}?${parameters.toString()}`
}

/** The sum of something over all accounts, as SQL: at most what JavaScript counts exactly. `of`: of which rows. */
export const boundedSum = (what: string, of = ''): string =>
  `least(coalesce(sum(${what})${of && ` FILTER (WHERE ${of})`}, 0), ${Number.MAX_SAFE_INTEGER})::bigint`

// Keeps knex from writing lost connections to the console: each statement reports its own error.
const silent = { warn() {}, error() {}, deprecate() {}, debug() {} }

/** How long a request waits for a connection, in ms; beyond it Postgres counts as unreachable. */
const ACQUIRE_MS = 3000

/** How long Postgres works on a statement at most, in ms. Migrations and the full audit lift this for themselves. */
const STATEMENT_MS = 20_000

/**
 * How long either side waits for the other, in ms: we for an answer, which a statement's own limit brings before; and
 * Postgres for the next statement of a transaction, whose locks it holds. One that vanished closes no connection.
 */
const SILENCE_MS = STATEMENT_MS + 5000

/** When the system asks whether the other end of a quiet connection is there, in ms: its own default is two hours. */
const KEEP_ALIVE_MS = 10_000

/** The state of a statement that writes where nothing may be written: on a standby. */
const READ_ONLY = '25006'

/** Fails, as a statement that writes would, if nothing may be written. It needs no table and waits for no lock. */
const WRITABLE = `DO $$ BEGIN IF current_setting('transaction_read_only')::boolean THEN
  RAISE read_only_sql_transaction USING MESSAGE = 'the server is read-only'; END IF; END $$`

/** Proves that Postgres accepts writes: assigns a transaction id, whose commit is written. @throws if it does not */
export async function askForWrite(db: Db): Promise<void> {
  await db.raw(`${WRITABLE}; SELECT pg_current_xact_id()`)
}

/**
 * A statement that was prepared while its tables were empty keeps its plan, a walk through the whole table, when they
 * have grown: measured, calls then cost ten times as much. Every query here has an index; the audit turns sequential
 * scans on again for itself. Up to version 17, disabling sequential scans makes plans seem so expensive that Postgres
 * would compile them with JIT, which does not pay for short statements. A database or role may have its own style of
 * dates, which the library cannot read or reads wrongly, and its own isolation, in which a statement that waited for
 * a row would fail.
 */
const SETTINGS = `SET enable_seqscan = off; SET jit = off; SET datestyle = ISO;
  SET default_transaction_isolation = 'read committed'`

/** What the library's types leave out: whether the server owes no answer, and what the connection runs over. */
type Inside = { readyForQuery: boolean; connection: { stream: Socket } }

/**
 * Breaks a connection whose server owes an answer and sends nothing for `ms`: its statements fail, their outcome
 * unknown, and no pool uses it again. The library's `query_timeout` would keep it, with the answer still to come.
 * @param ms how long; 0: for any time.
 */
function breakWhenSilent(connection: pg.Client, ms: number, broken: () => void): void {
  const inside = connection as unknown as Inside
  const { stream } = inside.connection
  const breakIfOwing = () => {
    if (inside.readyForQuery) return
    broken()
    stream.destroy(Object.assign(new Error(`Postgres was silent for ${ms} ms`), { code: 'ETIMEDOUT' }))
  }
  // What came while this process was busy or frozen is read first.
  stream.setTimeout(ms).on('timeout', () => setImmediate(breakIfOwing))
}

/**
 * Which connections of a pool may be used. After a failover those to the old primary would stay as they are, and refuse
 * every write or never answer: once one of them does, all that are as old are dropped. Where nothing may be written,
 * none is begun, unless the pool is for `reading` too.
 */
function usableConnections({ reading, silenceMs }: Required<Pick<PoolOptions, 'reading' | 'silenceMs'>>) {
  const settings = `${SETTINGS}; SET idle_in_transaction_session_timeout = ${silenceMs}`
  const madeAt = new WeakMap<pg.Client, number>()
  let leftAt = Number.NEGATIVE_INFINITY
  const leaveAll = () => {
    leftAt = performance.now()
  }
  return {
    afterCreate(connection: pg.Client, done: (error: Error | null, connection: pg.Client) => void): void {
      madeAt.set(connection, performance.now())
      breakWhenSilent(connection, silenceMs, leaveAll)
      connection.query(reading ? settings : `${settings}; ${WRITABLE}`, (error) => {
        // The pool forgets a connection that it does not get.
        if (error) connection.end(() => {})
        else
          connection.connection.on('errorMessage', ({ code }: pg.DatabaseError) => {
            if (code === READ_ONLY) leaveAll()
          })
        done(error, connection)
      })
    },
    validate: (connection: pg.Client): boolean => madeAt.get(connection)! > leftAt,
  }
}

/**
 * `acquireMs`: how long a statement waits for a connection, in ms. `reading`: whether a follower, which takes no
 * writes, will do. `silenceMs`: how long an answer is waited for, in ms; 0, for any time, where a statement may take
 * longer than the usual limit.
 */
type PoolOptions = { acquireMs?: number; reading?: boolean; silenceMs?: number }

/** The pool of this process. DATABASE_SSL decides, and already includes the `sslmode` of the address. */
export function connectDb(
  config: Pick<Config, 'DATABASE_URL' | 'DATABASE_SSL' | 'DATABASE_POOL'>,
  { acquireMs = ACQUIRE_MS, reading = false, silenceMs = SILENCE_MS }: PoolOptions = {},
): Db {
  return knex({
    client: 'pg',
    connection: {
      connectionString: withoutSsl(config.DATABASE_URL),
      ssl: TLS[config.DATABASE_SSL],
      connectionTimeoutMillis: acquireMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      statement_timeout: STATEMENT_MS,
      application_name: 'tollgate',
    },
    pool: {
      min: 0,
      max: config.DATABASE_POOL,
      propagateCreateError: true,
      ...usableConnections({ reading, silenceMs }),
    },
    acquireConnectionTimeout: acquireMs,
    asyncStackTraces: false,
    // Otherwise error messages, and so the log, would contain the statement's values: results, addresses, hashes.
    compileSqlOnError: false,
    log: silent,
  })
}

const UNREACHABLE_STATES = new Set(['57P01', '57P02', '57P03', '57014', '53300', '53400', READ_ONLY])
const UNREACHABLE_CODES = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EPIPE',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
])
const UNREACHABLE_TEXTS = [
  /connection terminated|server closed the connection|not queryable/i,
  /timeout expired|timeout exceeded when trying to connect|client has encountered a connection error/i,
]

/** Whether an error means that the other side could not be reached, or hung up. */
export const isNetworkFailure = (error: unknown): boolean =>
  error instanceof Error && UNREACHABLE_CODES.has(String((error as { code?: unknown }).code))

// A password that was changed, a role or a database that is gone: while an operator replaces them.
const LOCKED_OUT_STATES = new Set(['28P01', '28000', '3D000'])

/** Whether an error means that Postgres lets nobody in with this address any more, or not yet. */
export const isLockedOut = (error: unknown): boolean =>
  error instanceof Error && LOCKED_OUT_STATES.has(String((error as { code?: unknown }).code))

/**
 * Whether an error means that Postgres could not be reached, went away, or lets this process in no more: a new password
 * reaches it by a restart. The statement may still have committed: in
 * a test, 20 of 20 COMMITs that failed this way had.
 */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = (error as { code?: unknown }).code
  if (isNetworkFailure(error) || isLockedOut(error)) return true
  if (typeof code === 'string' && (code.startsWith('08') || UNREACHABLE_STATES.has(code))) return true
  return error.name === 'KnexTimeoutError' || UNREACHABLE_TEXTS.some((text) => text.test(error.message))
}

const NOT_MIGRATED = new Set(['42P01', '42703', '42883'])

/** Whether an error is about a table, column or function that is not there: has the database been migrated? */
export const isNotMigrated = (error: unknown): boolean =>
  error instanceof Error && NOT_MIGRATED.has(String((error as { code?: unknown }).code))

/** Whether the month of a new row has no partition (docs/scaling.md#months): nothing was written. */
export const isMonthMissing = (error: unknown): boolean =>
  error instanceof Error && (error as { routine?: unknown }).routine === 'ExecFindPartition'

/**
 * Whether Postgres rolled the statement back only because of concurrent ones (deadlock, serialization): run it again.
 */
export function isContention(error: unknown): boolean {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return code === '40001' || code === '40P01' || code === '55P03'
}

/** Pauses between tries of a statement that may be repeated, in ms. */
const PAUSES_MS = [50, 200, 500, 1000, 2000]

/**
 * Retries a statement until Postgres answers. Only for statements that are safe to repeat (same ids, guarded by their
 * own WHERE), because a lost answer cannot be told from a lost statement.
 * @param patienceMs how long to keep trying while Postgres is away; the last error is thrown after it.
 */
export async function retryWhileUnreachable<T>(patienceMs: number, run: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + patienceMs
  for (let tries = 0; ; tries++) {
    try {
      return await run()
    } catch (error) {
      if (!isContention(error) && !isUnreachable(error)) throw error
      const pause = PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]! * (0.5 + Math.random())
      if (performance.now() + pause > giveUpAt) throw error
      await new Promise((resolve) => setTimeout(resolve, pause))
    }
  }
}
