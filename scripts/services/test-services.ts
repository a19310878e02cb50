import { join } from 'node:path'
import type { Lifetime } from './local-server.ts'
import { withLock } from './lock.ts'
import { removeDataFolder } from './postgres-place.ts'
import { startPostgres } from './postgres.ts'
import type { Postgres } from './postgres.ts'
import { end, lives } from './processes.ts'
import type { ProcessMark } from './processes.ts'
import { chooseRedis, surroundings } from './redis-ladder.ts'
import { redisProgram, startRedis } from './redis.ts'
import type { PrivateRedis } from './redis.ts'
import { readIfThere, writePrivately } from './secrets.ts'

/** Postgres settings for data that need not survive a power failure; a killed process loses nothing. */
export const throwaway = { fsync: 'off', full_page_writes: 'off' }

/** How many numbered databases a Redis for tests has: number 0 keeps the list of who has which of the others. */
export const testRedisDatabases = 64

type Say = (line: string) => void

/** The Redis server program of this machine, installed first where that is possible; throws an Error that says what to do. */
export async function testRedisProgram(say: Say): Promise<string> {
  // Never a Redis that the surroundings name: tests empty theirs.
  const source = chooseRedis(surroundings(undefined))
  if (source.from === 'nowhere' || source.from === 'given') throw new Error(source.from === 'nowhere' ? source.message : source.url)
  return await redisProgram(source, say)
}

/** Starts a Postgres and a Redis for tests over a folder of their own, on any free ports, both at once. Throws when either fails. */
export async function startTestServices(
  folder: string, lifetime: Lifetime, say: Say,
): Promise<{ postgres: Postgres, redis: PrivateRedis }> {
  const [postgres, redis] = await Promise.allSettled([
    startPostgres({ folder, lifetime, settings: throwaway, say }),
    testRedisProgram(say).then((program) => startRedis({ folder, lifetime, program, databases: testRedisDatabases })),
  ])
  if (postgres.status === 'fulfilled' && redis.status === 'fulfilled') return { postgres: postgres.value, redis: redis.value }
  if (postgres.status === 'fulfilled') await postgres.value.stop('immediate')
  if (redis.status === 'fulfilled') await redis.value.stop()
  throw postgres.status === 'rejected' ? postgres.reason : (redis as PromiseRejectedResult).reason
}

/** The addresses of services for tests: of Postgres' database for housekeeping, and of Redis. */
export type TestAddresses = { databaseUrl: string, redisUrl: string }

type Shared = TestAddresses & { processes: ProcessMark[] }

function stateFile(folder: string): string {
  return join(folder, 'services.json')
}

function sharedIn(folder: string): Shared | undefined {
  const text = readIfThere(stateFile(folder))
  return text === undefined ? undefined : (JSON.parse(text) as Shared)
}

/**
 * The services that every test run outside of `npm test` shares, over `folder`: those that run already, or new ones, which stay
 * up for the runs to come. Several processes may ask at once. `say` is told when they are started, and how to stop them.
 */
export async function sharedTestServices(folder: string, say: Say): Promise<TestAddresses> {
  return await withLock(`${folder}.lock`, async () => {
    const shared = sharedIn(folder)
    if (shared?.processes.every(lives)) return { databaseUrl: shared.databaseUrl, redisUrl: shared.redisUrl }
    for (const process of shared?.processes ?? []) await end(process, 'SIGQUIT', 5_000)
    const { postgres, redis } = await startTestServices(folder, 'detached', say)
    const addresses = { databaseUrl: postgres.urlOf('postgres'), redisUrl: redis.url }
    writePrivately(stateFile(folder), JSON.stringify({ ...addresses, processes: [postgres.process, redis.process] }))
    say('started a Postgres and a Redis for tests, which stay up; stop them with: npx tsx scripts/test-services.ts stop')
    return addresses
  })
}

/** Stops the shared services and removes their data. Answers whether there were any. */
export async function stopSharedTestServices(folder: string): Promise<boolean> {
  return await withLock(`${folder}.lock`, async () => {
    const shared = sharedIn(folder)
    for (const process of shared?.processes ?? []) await end(process, 'SIGQUIT', 5_000)
    removeDataFolder(folder)
    return shared !== undefined
  })
}
