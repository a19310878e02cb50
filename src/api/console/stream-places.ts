/**
 * The open event streams of each account, over all web processes: a sorted set in Redis, of stream ids and the times
 * until which they count. A stream that is not renewed, because its process died, stops counting by itself.
 */
import type { Redis } from 'ioredis'

/** How long a stream counts after it was last renewed, in ms. */
const LEASE_MS = 60_000

/** Counts or renews stream ARGV[1], unless ARGV[2] others count already. By Redis' clock, which all processes share. */
const TAKE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], now + ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`

/** One stream's place. `renew` keeps it; one that is not renewed is lost within a minute. */
export type StreamPlace = { renew: () => void; leave: () => void }

/**
 * Takes one of an account's places. While Redis is unreachable every stream gets one: each process bounds its own.
 * @returns null if all places are taken.
 */
export async function takePlace(
  { redis, prefix, most }: { redis: Redis; prefix: string; most: number },
  account: string,
  stream: string,
): Promise<StreamPlace | null> {
  const key = `${prefix}:event-streams:${account}`
  const take = async (): Promise<boolean> => (await redis.eval(TAKE, 1, key, stream, most, LEASE_MS)) === 1
  if (!(await take().catch(() => true))) return null
  return {
    renew: () => {
      take().catch(() => {})
    },
    leave: () => {
      redis.zrem(key, stream).catch(() => {})
    },
  }
}
