import { createHash } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { sharedTestData, testData } from '../folders.ts'
import { startPostgres } from '../services/postgres.ts'
import type { Postgres, PostgresOptions } from '../services/postgres.ts'
import { removeDataFolder } from '../services/postgres-place.ts'
import { markOf, startOf } from '../services/processes.ts'
import { redisProgram, startRedis } from '../services/redis.ts'
import type { PrivateRedis, RedisOptions } from '../services/redis.ts'
import { privateData, sharedTestServices, throwaway } from '../services/test-services.ts'
import type { TestAddresses } from '../services/test-services.ts'

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

async function findServices(): Promise<TestAddresses> {
  const databaseUrl = process.env['TOLLGATE_TEST_DATABASE_URL']
  const redisUrl = process.env['TOLLGATE_TEST_REDIS_URL']
  if (databaseUrl && redisUrl) return { databaseUrl, redisUrl }
  return await sharedTestServices(sharedTestData, say)
}

let services: Promise<TestAddresses> | undefined

/**
 * The services of this test run: those of `npm test`; for a file run by mocha alone, shared ones, started at the first
 * use. Tests ask for `testDatabaseUrl` and `testRedis` instead, which give each process its own part of them.
 */
export function testServices(): Promise<TestAddresses> {
  services ??= findServices()
  return services
}

/** A name for what belongs to one process: a later process with the same pid has another. */
export function nameOf(pid: number, startedAt: string): string {
  return `${pid}_${createHash('sha256').update(startedAt).digest('hex').slice(0, 8)}`
}

/** The name for what belongs to this very process. */
export const processName = nameOf(process.pid, markOf(process.pid).startedAt)

/** Whether the process still lives for which `nameOf` gave this name. */
export function ownerLives(name: string): boolean {
  const pid = Number(name.split('_')[0])
  const startedAt = startOf(pid)
  return startedAt !== undefined && nameOf(pid, startedAt) === name
}

let instances = 0

/** A folder for one test alone, not made yet; a later run removes it, and what services keep outside of it. */
export function privateFolder(): string {
  const folder = privateData(process.env['TOLLGATE_TEST_FOLDER'] ?? testData)
  if (instances === 0 && existsSync(folder)) {
    for (const entry of readdirSync(folder)) {
      if (!ownerLives(entry.split('-')[0] ?? '')) removeDataFolder(join(folder, entry))
    }
  }
  instances += 1
  return join(folder, `${processName}-${instances}`)
}

/**
 * A Postgres for one test alone, which may kill it and start it again; its database `tollgate` is empty. Whoever asks
 * for it stops it; should that be forgotten, it ends with this process.
 */
export async function startPrivatePostgres(options: Partial<PostgresOptions> = {}): Promise<Postgres> {
  return await startPostgres({ folder: privateFolder(), settings: throwaway, ...options })
}

/** A Redis for one test alone, as `startPrivatePostgres`. By default it forgets everything when it ends. */
export async function startPrivateRedis(options: Partial<RedisOptions> = {}): Promise<PrivateRedis> {
  return await startRedis({ folder: privateFolder(), program: await redisProgram(say), ...options })
}
