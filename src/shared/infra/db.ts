/**
 * Postgres: one pool a process, and what its errors mean.
 */
import knex from 'knex'
import type { Knex } from 'knex'
import pg from 'pg'
import type { Config } from '../config.ts'

export type Db = Knex
export type Trx = Knex.Transaction

// Postgres sends bigint as text. Every bigint of ours is bounded by a constraint far below 2^53; a value beyond it is a
// defect and must not be rounded silently.
pg.types.setTypeParser(pg.types.builtins.INT8, (text) => {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`bigint ${text} is not exact in JavaScript`)
  return value
})

const TLS = { off: false, require: { rejectUnauthorized: false }, verify: { rejectUnauthorized: true } } as const

// Knex would write of lost connections to the console; each statement tells its own caller.
const silent = { warn() {}, error() {}, deprecate() {}, debug() {} }

/** How long a request waits for a connection, in ms; beyond it Postgres counts as unreachable. */
const ACQUIRE_MS = 3000

/**
 * A statement that was prepared while its tables were empty keeps its plan, a walk through the whole table, when they have grown:
 * measured, calls then cost ten times as much. Every path of ours has an index; the audit asks for its own way.
 * What Postgres is discouraged from counts as so dear, up to version 17, that it would compile the statement: statements of ours are short.
 */
function preferIndexes(connection: pg.Client, done: (error: Error | null, connection: pg.Client) => void): void {
  connection.query('SET enable_seqscan = off; SET jit = off', (error) => done(error, connection))
}

/**
 * The pool of this process. `sslmode` in the address is ignored: DATABASE_SSL alone decides.
 * @param acquireMs how long a statement waits for a connection, in ms.
 */
export function connectDb(
  config: Pick<Config, 'DATABASE_URL' | 'DATABASE_SSL' | 'DATABASE_POOL'>,
  acquireMs: number = ACQUIRE_MS,
): Db {
  const url = new URL(config.DATABASE_URL)
  for (const name of ['sslmode', 'ssl', 'uselibpqcompat']) url.searchParams.delete(name)
  return knex({
    client: 'pg',
    connection: {
      connectionString: url.toString(),
      ssl: TLS[config.DATABASE_SSL],
      connectionTimeoutMillis: acquireMs,
      keepAlive: true,
      statement_timeout: 20_000,
      application_name: 'tollgate',
    },
    pool: { min: 0, max: config.DATABASE_POOL, propagateCreateError: true, afterCreate: preferIndexes },
    acquireConnectionTimeout: acquireMs,
    asyncStackTraces: false,
    // Otherwise an error's message has the statement's values in it: results, addresses, hashes, in every log line about it.
    compileSqlOnError: false,
    log: silent,
  })
}

const UNREACHABLE_STATES = new Set(['57P01', '57P02', '57P03', '57014', '53300', '53400', '25006'])
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
const UNREACHABLE_TEXT =
  /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error|not queryable|server closed the connection/i

/**
 * Whether an error says that Postgres could not be reached, or went away. The statement's fate is then unknown: 20 of
 * 20 such errors at a COMMIT had committed.
 */
export function isUnreachable(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = (error as { code?: unknown }).code
  if (
    typeof code === 'string' &&
    (code.startsWith('08') || UNREACHABLE_STATES.has(code) || UNREACHABLE_CODES.has(code))
  )
    return true
  return error.name === 'KnexTimeoutError' || UNREACHABLE_TEXT.test(error.message)
}

/** Whether Postgres rolled the statement back only because of its neighbours: running it again is right. */
export function isContention(error: unknown): boolean {
  const code = error instanceof Error ? (error as { code?: unknown }).code : undefined
  return code === '40001' || code === '40P01' || code === '55P03'
}

/** Pauses between tries of a statement that may be repeated, in ms. */
const PAUSES_MS = [50, 200, 500, 1000, 2000]

/**
 * Runs a statement until it is answered. Only for statements that are safe to repeat (same ids, guarded by their own
 * WHERE): a lost answer looks like a lost statement.
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
