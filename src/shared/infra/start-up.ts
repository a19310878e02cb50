/**
 * The first look at Postgres and Redis. What an operator must mend (a password, a database that is not there, a policy
 * that throws jobs away) refuses the start; a service that is only away is waited for, and that is said.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import type { Config } from '../config.ts'
import { ConfigError } from '../config.ts'
import type { Db } from './db.ts'
import { isLockedOut, isNetworkFailure, isUnreachable } from './db.ts'
import { sentenceOf } from './log.ts'
import type { Log } from './log.ts'
import { connectOnce, evictionPolicyOf } from './redis.ts'
import type { SchemaGate } from './schema.ts'

/** How often a service that is away is looked at, and how often that is said, in ms. */
const LOOK_EVERY_MS = 1000
const SAY_EVERY_MS = 30_000

/** How long one look at Redis may take, in ms. */
const REDIS_PATIENCE_MS = 2500

const OLDEST_POSTGRES = 13
const OLDEST_REDIS = [6, 2] as const

/** What a process needs before it can work. */
export type Needed = { config: Pick<Config, 'REDIS_URL' | 'REDIS_TLS_VERIFY'>; db: Db; schema: SchemaGate }

/** A service that does not answer now, and may later. */
export class ServiceAway extends Error {}

/**
 * Looks whether Postgres can be used.
 * @returns its version: `17.2`.
 * @throws ServiceAway, or ConfigError with what Postgres says against it.
 */
export async function lookAtPostgres(db: Db): Promise<string> {
  try {
    const { rows } = await db.raw<{ rows: { version: string; number: number }[] }>(
      `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number`,
    )
    const { version, number } = rows[0]!
    if (number < OLDEST_POSTGRES * 10_000) {
      throw new ConfigError(`DATABASE_URL: Postgres ${version} is too old; it must be ${OLDEST_POSTGRES} or newer.`)
    }
    return version.split(' ')[0]!
  } catch (error) {
    if (error instanceof ConfigError) throw error
    if (isUnreachable(error) && !isLockedOut(error)) throw new ServiceAway('Postgres is away', { cause: error })
    throw new ConfigError(`DATABASE_URL: Postgres cannot be used: ${sentenceOf(error)}.`)
  }
}

/**
 * Looks whether Redis can be used, over a connection of its own. Managed services that hide CONFIG are trusted.
 * @returns its version and eviction policy; null where it hides them.
 * @throws ServiceAway, or ConfigError where the password, the version or the policy is wrong.
 */
export async function lookAtRedis(
  config: Pick<Config, 'REDIS_URL' | 'REDIS_TLS_VERIFY'>,
): Promise<{ version: string | null; policy: string | null }> {
  const { redis, firstError } = connectOnce(config)
  try {
    const looked = await within(REDIS_PATIENCE_MS, ask(redis))
    const complaint = firstError()
    if (complaint) throw complaint
    return looked
  } catch (error) {
    if (error instanceof ConfigError) throw error
    const said = firstError() ?? (error as Error)
    if (isRedisAway(said)) throw new ServiceAway('Redis is away', { cause: said })
    throw new ConfigError(`REDIS_URL: Redis cannot be used: ${sentenceOf(said)}.`)
  } finally {
    redis.disconnect()
  }
}

async function ask(redis: Redis): Promise<{ version: string | null; policy: string | null }> {
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
  return { version, policy }
}

function isTooOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  return major < OLDEST_REDIS[0] || (major === OLDEST_REDIS[0] && minor < OLDEST_REDIS[1])
}

const REDIS_AWAY_TEXTS = [
  /^(Connection is closed|Command timed out|no answer)|max number of clients/,
  /^(LOADING|MASTERDOWN|CLUSTERDOWN|BUSY|READONLY|MISCONF|OOM)/,
]

/** Whether an error means that Redis cannot be reached, or takes nobody now. */
export const isRedisAway = (error: Error): boolean =>
  isNetworkFailure(error) || REDIS_AWAY_TEXTS.some((text) => text.test(error.message))

async function within<T>(ms: number, asked: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error('no answer')), ms)
  })
  try {
    return await Promise.race([asked, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Looks until the service is there. That it is away is said at once and every 30 s, and that it is back, too.
 * @param signal ends the wait, with an AbortError.
 * @throws ConfigError where it is there and cannot be used.
 */
export async function whenThere<T>(look: () => Promise<T>, log: Log, signal?: AbortSignal): Promise<T> {
  let saidAt: number | null = null
  for (;;) {
    try {
      const found = await look()
      if (saidAt !== null) log.info('everything needed is available now')
      return found
    } catch (error) {
      if (!(error instanceof ServiceAway)) throw error
      if (saidAt === null || performance.now() - saidAt >= SAY_EVERY_MS) {
        log.warn({ ...(error.cause !== undefined && { err: error.cause }) }, `${error.message}: waiting for it`)
        saidAt = performance.now()
      }
      await pause(LOOK_EVERY_MS, undefined, { signal })
    }
  }
}

/**
 * Looks once at everything that a process needs.
 * @returns whether it is all there.
 * @throws ConfigError where something is there and cannot be used.
 */
export async function isAllThere({ config, db, schema }: Needed): Promise<boolean> {
  const looks = await Promise.allSettled([lookAtRedis(config), lookAtPostgres(db).then(() => lookAtSchema(schema))])
  const failures = looks.flatMap((look) => (look.status === 'rejected' ? [look.reason as unknown] : []))
  const refusal = failures.find((failure) => !(failure instanceof ServiceAway))
  if (refusal !== undefined) throw refusal
  return failures.length === 0
}

/** Waits for everything that a process needs, as `whenThere` does. */
export async function whenAllThere({ config, db, schema }: Needed, log: Log, signal?: AbortSignal): Promise<void> {
  const postgres = async () => {
    await whenThere(() => lookAtPostgres(db), log, signal)
    await whenThere(() => lookAtSchema(schema), log, signal)
  }
  await Promise.all([whenThere(() => lookAtRedis(config), log, signal), postgres()])
}

async function lookAtSchema(schema: SchemaGate): Promise<void> {
  const missing = await schema.missing().catch((error: unknown) => {
    if (isUnreachable(error)) throw new ServiceAway('Postgres is away', { cause: error })
    throw error
  })
  if (missing.length === 0) return
  throw new ServiceAway(`The schema has not been migrated (${missing.slice(0, 3).join(', ')} missing)`)
}
