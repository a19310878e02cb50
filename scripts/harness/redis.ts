import { Redis } from 'ioredis'
import { testRedisDatabases } from '../services/test-services.ts'
import { ownerLives, processName, testServices } from './services.ts'

/** One process's part of the tests' Redis. */
export type TestRedis = {
  /** The address of a numbered database that no other process uses. */
  url: string
  /** For keys, queues and channels: pub/sub does not have numbered databases. */
  prefix: string
}

const takeOver = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('SET', KEYS[1], ARGV[2]) end`

async function claim(redis: Redis): Promise<number> {
  for (let number = 1; number < testRedisDatabases; number += 1) {
    const key = `database:${number}`
    if (await redis.set(key, processName, 'NX')) return number
    const owner = await redis.get(key)
    if (owner !== null && !ownerLives(owner) && (await redis.eval(takeOver, 1, key, owner, processName))) return number
  }
  throw new Error("every database of the tests' Redis is taken by a living process")
}

async function findRedis(): Promise<TestRedis> {
  const { redisUrl } = await testServices()
  const redis = new Redis(redisUrl)
  try {
    const number = await claim(redis)
    await redis.select(number)
    await redis.flushdb()
    return { url: `${redisUrl}/${number}`, prefix: `test-${processName}` }
  } finally {
    redis.disconnect()
  }
}

let mine: Promise<TestRedis> | undefined

/** The Redis database and key prefix of this mocha worker, empty at its first use. */
export function testRedis(): Promise<TestRedis> {
  mine ??= findRedis()
  return mine
}
