/**
 * The notice that there is a new version of the catalogue. It only saves time: every process checks by itself every few
 * seconds, so a lost notice does no harm.
 */
import { once } from 'node:events'
import type { Redis } from 'ioredis'
import { readRedisConfig } from '../platform/config/config.ts'
import { connectProducer } from '../platform/redis/redis.ts'

const channelOf = (prefix: string): string => `${prefix}:catalogue`

/** Notifies every process of a new version. @throws where Redis cannot be reached */
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
