/** The catalogue as a process uses it: the current version, and those that calls were opened at. */
import { LRUCache } from 'lru-cache'
import type { Config } from '../platform/config/config.ts'
import { readRedisConfig } from '../platform/config/config.ts'
import { ApiError } from '../platform/errors.ts'
import type { Db } from '../platform/postgres/db.ts'
import { reportDefect } from '../platform/process/defects.ts'
import type { Log } from '../platform/process/log.ts'
import type { Catalogue } from './catalogue.ts'
import { catalogueWarnings, parseCatalogue } from './parse.ts'
import type { StoredVersion } from './versions.ts'
import { newestAfter, readVersion } from './versions.ts'
import { once } from 'node:events'
import type { Redis } from 'ioredis'
import { connectProducer } from '../platform/redis/redis.ts'

/** How often a process checks for a new version, in ms; more often while it has none. */
const CHECK_MS = { usually: 10_000, withoutAny: 1000 }

/** How many versions a process caches next to the current one. */
const CACHED_VERSIONS = 16

/** A version that this process cannot use: it is not there, or this release does not understand it. */
export class UnusableVersion extends Error {}

/** The catalogue that a process has now, and what keeps it current. */
export type CatalogueHolder = {
  /**
   * The current catalogue. Take it once per request, so that one request sees one version.
   * @throws ApiError service_unavailable while there is none
   */
  current: () => Catalogue
  /**
   * The catalogue of a version that a call was opened at, current or not.
   * @throws UnusableVersion, ApiError service_unavailable while there is none, or what Postgres throws
   */
  at: (version: number) => Promise<Catalogue>
  /** The number of the current version; null while there is none. */
  version: () => number | null
  /** Takes the newest version, if there is a newer one that this process can use. Never throws. */
  refresh: () => Promise<void>
  /** The same, for callers that do not wait for it. */
  refreshLater: () => void
  /** Stops checking for new versions. */
  stop: () => void
}

type Options = { db: Db; log: Log; secretOf: Config['secretOf'] }

/** Holds nothing until the first `refresh`; from then on it checks for newer versions by itself until it is stopped. */
export function holdCatalogue({ db, log, secretOf }: Options): CatalogueHolder {
  let current: Catalogue | null = null
  let refused = 0
  let hasLogged = false
  const readCached = caching((version) => readUsable(db, version, secretOf))

  const take = (stored: StoredVersion): void => {
    try {
      const taken = parse(stored, secretOf)
      for (const warning of catalogueWarnings(taken)) log.warn(warning)
      // At its start a process logs one thing: that it is up, or why it is not.
      log[current ? 'info' : 'debug']({ version: taken.version, models: taken.models.size }, 'catalogue taken')
      current = taken
    } catch (error) {
      if (refused !== stored.version) log.error({ version: stored.version, err: error }, 'catalogue rejected')
      refused = stored.version
    }
  }
  const check = async (): Promise<void> => {
    try {
      const stored = await newestAfter(db, current?.version ?? 0)
      if (stored) {
        take(stored)
        // A release that was rolled back to starts with the version that it had before.
        const oldest = Math.max(stored.version - CACHED_VERSIONS, 0)
        for (let version = stored.version - 1; version > oldest && !current; version--)
          take((await readVersion(db, version))!)
      } else if (!current && !hasLogged) {
        hasLogged = true
        log.error('There is no catalogue in the database: run migrate.')
      }
    } catch (error) {
      log.warn({ err: error }, 'catalogue not checked')
    }
  }
  let checking = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const checkAgain = (): void => {
    if (stopped) return
    clearTimeout(timer)
    timer = setTimeout(refreshLater, current ? CHECK_MS.usually : CHECK_MS.withoutAny).unref()
  }
  // One check after the other: a notice that arrives during a check may be about a version that it does not see.
  const refresh = (): Promise<void> => (checking = checking.then(check).then(checkAgain))
  const refreshLater = (): void => {
    refresh().catch(reportDefect)
  }
  const usable = (): Catalogue => {
    if (current) return current
    throw new ApiError('service_unavailable', { message: 'There is no catalogue yet.' })
  }
  return {
    current: usable,
    at: async (version) => (version === current?.version ? usable() : readCached(version)),
    version: () => current?.version ?? null,
    refresh,
    refreshLater,
    stop: () => {
      stopped = true
      clearTimeout(timer)
    },
  }
}

/** Reads each version once, as long as it is among the last that were asked for; a failure is not cached. */
function caching(read: (version: number) => Promise<Catalogue>): (version: number) => Promise<Catalogue> {
  const cache = new LRUCache<number, Promise<Catalogue>>({ max: CACHED_VERSIONS })
  return (version) => {
    const found = cache.get(version) ?? read(version)
    cache.set(version, found)
    return found.catch((error: unknown) => {
      if (cache.peek(version) === found) cache.delete(version)
      throw error
    })
  }
}

async function readUsable(db: Db, version: number, secretOf: Config['secretOf']): Promise<Catalogue> {
  const stored = await readVersion(db, version)
  if (!stored) throw new UnusableVersion(`There is no version ${version} of the catalogue.`)
  return parse(stored, secretOf)
}

function parse({ content, version, appliedAt }: StoredVersion, secretOf: Config['secretOf']): Catalogue {
  try {
    return parseCatalogue(content, { version, createdAt: Math.floor(Date.parse(appliedAt) / 1000) }, secretOf)
  } catch (error) {
    throw new UnusableVersion(`Version ${version} of the catalogue cannot be used.`, { cause: error })
  }
}

const channelOf = (prefix: string): string => `${prefix}:catalogue`

/**
 * Notifies every process of a new version. This only saves time: every process checks by itself every few seconds, so a
 * lost notice does no harm. @throws if Redis cannot be reached
 */
export async function announceVersion(redis: Redis, prefix: string, version: number): Promise<void> {
  await redis.publish(channelOf(prefix), String(version))
}

/**
 * The same from a command, over a connection of its own.
 * @returns false if Redis is not configured or cannot be reached: processes then find it at their next check
 */
export async function announceFromCommand(version: number): Promise<boolean> {
  let redis: Redis | undefined
  try {
    const { REDIS_URL, ...config } = readRedisConfig()
    if (REDIS_URL === undefined) return false
    redis = connectProducer({ ...config, REDIS_URL })
    await untilReady(redis)
    await announceVersion(redis, config.REDIS_PREFIX, version)
    return true
  } catch {
    return false
  } finally {
    redis?.disconnect()
  }
}

/** How long a command waits for Redis, in ms. */
const PATIENCE_MS = 3000

/** @throws if there is no connection in time */
async function untilReady(redis: Redis): Promise<void> {
  if (redis.status !== 'ready') await once(redis, 'ready', { signal: AbortSignal.timeout(PATIENCE_MS) })
}

/** Calls `onNotice` at every notice, and whenever the connection is there again: one may have been missed. */
export function listenForVersions(subscriber: Redis, prefix: string, onNotice: () => void): void {
  subscriber.on('message', (channel: string) => {
    if (channel === channelOf(prefix)) onNotice()
  })
  subscriber.on('ready', onNotice)
  subscriber.subscribe(channelOf(prefix)).catch(() => {})
}
