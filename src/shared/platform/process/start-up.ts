/**
 * The first check of Postgres and Redis. What an operator must fix (a password, a database that is not there, a policy
 * that throws jobs away) refuses the start; a service that is only away is waited for, and that is logged.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Config } from '../config/config.ts'
import { ConfigError } from '../config/config.ts'
import type { Db } from '../postgres/db.ts'
import { isLockedOut, isUnreachable } from '../postgres/db.ts'
import { sentenceOf } from './log.ts'
import type { Log } from './log.ts'
import { connectOnce, evictionPolicyOf, isRedisUnavailable, missingPermission } from '../redis/redis.ts'
import type { SchemaGate } from '../postgres/schema.ts'

/** How often an unavailable service is checked, and how often that is logged, in ms. */
const CHECK_EVERY_MS = 1000
const LOG_EVERY_MS = 30_000

/** How long one check may take, in ms. */
const PATIENCE_MS = 2000

const OLDEST_POSTGRES = 13
const OLDEST_REDIS = [6, 2] as const

/** What a process needs before it can work. */
export type Needed = { config: RedisConfig; db: Db; schema: SchemaGate }

type RedisConfig = Pick<Config, 'REDIS_URL' | 'REDIS_TLS_VERIFY' | 'REDIS_PREFIX'>

/** A service that does not answer now, and may later. */
export class ServiceUnavailable extends Error {}

/**
 * Checks whether Postgres can be used.
 * @returns its version: `17.2`.
 * @throws ServiceUnavailable, or ConfigError with the reason that Postgres reports.
 */
export async function checkPostgres(db: Db): Promise<string> {
  try {
    const { rows } = await within(PATIENCE_MS, () =>
      db.raw<{ rows: { version: string; number: number }[] }>(
        `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number`,
      ),
    )
    const { version, number } = rows[0]!
    if (number < OLDEST_POSTGRES * 10_000) {
      throw new ConfigError(`DATABASE_URL: Postgres ${version} is too old; it must be ${OLDEST_POSTGRES} or newer.`)
    }
    return version.split(' ')[0]!
  } catch (error) {
    if (error instanceof ConfigError) throw error
    throw unavailableOf(error) ?? new ConfigError(`DATABASE_URL: Postgres cannot be used: ${sentenceOf(error)}.`)
  }
}

/** That Postgres is away, where an error means that. */
export function unavailableOf(error: unknown): ServiceUnavailable | null {
  if (!(error instanceof NoAnswer) && (!isUnreachable(error) || isLockedOut(error))) return null
  // The library guesses that its pool is full. While nothing has begun yet, nobody else holds a connection.
  const reported = (error as Error).name === 'KnexTimeoutError' ? new NoAnswer() : error
  return new ServiceUnavailable('Postgres is away', { cause: reported })
}

/**
 * Checks whether Redis can be used, over a connection of its own. Managed services that hide CONFIG are trusted.
 * @returns its version and eviction policy; null if it hides them.
 * @throws ServiceUnavailable, or ConfigError if the password, the version, the policy or what the user may do is wrong.
 */
export async function checkRedis(config: RedisConfig): Promise<{ version: string | null; policy: string | null }> {
  const { redis, firstError } = connectOnce(config)
  try {
    const checked = await within(PATIENCE_MS, () => ask(redis, config.REDIS_PREFIX))
    const complaint = firstError()
    if (complaint) throw complaint
    return checked
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const reported = firstError() ?? (error as Error)
    if (reported instanceof NoAnswer || isRedisUnavailable(reported))
      throw new ServiceUnavailable('Redis is away', { cause: reported })
    throw new ConfigError(`REDIS_URL: Redis cannot be used: ${sentenceOf(reported)}.`)
  } finally {
    redis.disconnect()
  }
}

async function ask(redis: Redis, prefix: string): Promise<{ version: string | null; policy: string | null }> {
  await redis.connect()
  await redis.ping()
  const server = await redis.info('server').catch(() => '')
  const version = /^redis_version:(\S+)/m.exec(server)?.[1] ?? null
  if (version !== null && isTooOld(version)) {
    throw new ConfigError(`REDIS_URL: Redis ${version} is too old; it must be ${OLDEST_REDIS.join('.')} or newer.`)
  }
  const policy = await evictionPolicyOf(redis)
  if (policy !== null && policy !== 'noeviction') {
    throw new ConfigError(`REDIS_URL: this Redis evicts keys (maxmemory-policy ${policy}); it must be noeviction.`)
  }
  const missing = await missingPermission(redis, prefix)
  if (missing) throw new ConfigError(`REDIS_URL: its user may not run ${missing.command}: ${missing.says}.`)
  return { version, policy }
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1])
}

/** A server that took a connection and is silent, or does not even refuse one. */
class NoAnswer extends Error {
  override message = 'no answer'
}

/** The most that any check of a start or of `doctor` may take, in ms. */
export const CHECK_MS = 10_000

/** What `ask` returns. @throws NoAnswer after `ms`: the service took the question, and is silent */
export async function within<T>(ms: number, ask: () => PromiseLike<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new NoAnswer()), ms)
  })
  try {
    return await Promise.race([ask(), late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Checks until the service is available. An outage is logged at once and every 30 s, and so is its end.
 * @param around `signal` ends the wait, with an AbortError; `away` is called when the service is found away.
 * @throws ConfigError if it is there and cannot be used.
 */
export async function waitFor<T>(
  check: () => Promise<T>,
  log: Log,
  { signal, onUnavailable = () => {} }: { signal?: AbortSignal | undefined; onUnavailable?: () => void } = {},
): Promise<T> {
  let loggedAt: number | null = null
  for (;;) {
    try {
      const found = await check()
      if (loggedAt !== null) log.info('everything needed is available now')
      return found
    } catch (error) {
      if (!(error instanceof ServiceUnavailable)) throw error
      if (loggedAt === null || performance.now() - loggedAt >= LOG_EVERY_MS) {
        log.warn({ ...(error.cause !== undefined && { err: error.cause }) }, `${error.message}: waiting for it`)
        loggedAt = performance.now()
      }
      onUnavailable()
      await pause(CHECK_EVERY_MS, undefined, { signal })
    }
  }
}

/**
 * Checks everything that a process needs, until it is all there.
 * @returns `checked`: each has been checked once, and what is unavailable was logged; `available`: all are available.
 * Both reject with a ConfigError if something can be reached and cannot be used.
 */
export function checkServices(
  { config, db, schema }: Needed,
  log: Log,
  signal?: AbortSignal,
): { checked: Promise<unknown>; available: Promise<unknown> } {
  const checks = [
    begin((onUnavailable) => waitFor(() => checkRedis(config), log, { signal, onUnavailable })),
    begin(async (onUnavailable) => {
      await waitFor(() => checkPostgres(db), log, { signal, onUnavailable })
      await waitFor(() => checkSchema(schema), log, { signal, onUnavailable })
    }),
  ]
  const available = Promise.all(checks.map((one) => one.available))
  const checked = Promise.all(checks.map((one) => one.checked))
  // A caller that waits for one of the two gets its failure there.
  for (const one of [available, checked]) one.catch(() => {})
  return { checked, available }
}

function begin(check: (onUnavailable: () => void) => Promise<unknown>): {
  checked: Promise<unknown>
  available: Promise<unknown>
} {
  let onUnavailable = (): void => {}
  const isUnavailable = new Promise<void>((resolve) => {
    onUnavailable = resolve
  })
  const available = check(onUnavailable)
  return { checked: Promise.race([available, isUnavailable]), available }
}

async function checkSchema(schema: SchemaGate): Promise<void> {
  const missing = await within(CHECK_MS, () => schema.missing()).catch((error: unknown) => {
    throw unavailableOf(error) ?? error
  })
  if (missing.length === 0) return
  throw new ServiceUnavailable(`The schema has not been migrated (${missing.slice(0, 3).join(', ')} missing)`)
}
