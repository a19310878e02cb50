import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Lifetime } from './local-server.ts'
import { withLock } from './lock.ts'
import { removeDataFolder } from './postgres-place.ts'
import { startPostgres } from './postgres.ts'
import { end, lives } from './processes.ts'
import type { ProcessMark } from './processes.ts'
import { redisProgram, startRedis } from './redis.ts'
import { readIfThere, writePrivately } from './secrets.ts'

/**
 * Postgres settings for data that need not survive a power failure. A killed process still loses nothing. Hundreds of
 * small databases would keep autovacuum busy; tests that read plans analyze their own tables.
 */
export const throwaway = { fsync: 'off', full_page_writes: 'off', autovacuum: 'off', jit: 'off' }

/** How many numbered databases a Redis for tests has. Number 0 has the list of which process uses which. */
export const testRedisDatabases = 64

type Say = (line: string) => void

/** The folder, in that of a test run, with the data of services for single tests. */
export function privateData(folder: string): string {
  return join(folder, 'private')
}

/** The addresses of services for tests: Postgres's maintenance database, and Redis. */
export type TestAddresses = { databaseUrl: string; redisUrl: string }

type Running = TestAddresses & { processes: ProcessMark[] }

function stateFile(folder: string): string {
  return join(folder, 'services.json')
}

function runningIn(folder: string): Running | undefined {
  const text = readIfThere(stateFile(folder))
  return text === undefined ? undefined : (JSON.parse(text) as Running)
}

/**
 * Starts a Postgres and a Redis for tests over a folder of their own, at once and on any free ports. Throws if either
 * fails.
 */
export async function startTestServices(folder: string, lifetime: Lifetime, say: Say): Promise<TestAddresses> {
  const [postgres, redis] = await Promise.allSettled([
    startPostgres({ folder, lifetime, settings: throwaway, socket: true, say }),
    // Never the Redis of REDIS_URL: tests delete everything in theirs.
    redisProgram(say).then((program) => startRedis({ folder, lifetime, program, databases: testRedisDatabases })),
  ])
  if (postgres.status === 'rejected' || redis.status === 'rejected') {
    if (postgres.status === 'fulfilled') await postgres.value.stop('immediate')
    if (redis.status === 'fulfilled') await redis.value.stop()
    throw postgres.status === 'rejected' ? postgres.reason : (redis as PromiseRejectedResult).reason
  }
  const addresses = { databaseUrl: postgres.value.urlOf('postgres'), redisUrl: redis.value.url }
  const processes = [postgres.value.process, redis.value.process]
  writePrivately(stateFile(folder), JSON.stringify({ ...addresses, processes } satisfies Running))
  return addresses
}

/** Stops the services over a folder and removes their data. Returns whether there were any. */
export async function stopTestServices(folder: string): Promise<boolean> {
  const running = runningIn(folder)
  for (const process of running?.processes ?? []) await end(process, 'SIGQUIT', 5_000)
  const own = privateData(folder)
  for (const entry of existsSync(own) ? readdirSync(own) : []) removeDataFolder(join(own, entry))
  removeDataFolder(folder)
  return running !== undefined
}

/**
 * The services that all test runs outside of `npm test` share, over `folder`: those that run already, or new ones,
 * which stay up for later runs. Several processes may call this at once. `say` gets a line when they are started, with
 * how to stop them.
 */
export async function sharedTestServices(folder: string, say: Say): Promise<TestAddresses> {
  return await withLock(`${folder}.lock`, async () => {
    const running = runningIn(folder)
    if (running?.processes.every(lives)) return running
    await stopTestServices(folder)
    const addresses = await startTestServices(folder, 'detached', say)
    say('started a Postgres and a Redis for tests, which stay up until: npx tsx scripts/testing/services.ts stop')
    return addresses
  })
}
