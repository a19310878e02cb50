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
 * The services of this test run: those of `npm test`; for files that mocha runs by itself, shared ones, started at
 * first use. Tests use `testDatabaseUrl` and `testRedis` instead, which give each process its own part of them.
 */
export function testServices(): Promise<TestAddresses> {
  services ??= findServices()
  return services
}

/** A name for what belongs to one process. A later process with the same pid has another name. */
function nameOf(pid: number, startedAt: string): string {
  return `${pid}_${createHash('sha256').update(startedAt).digest('hex').slice(0, 8)}`
}

/** The name for what belongs to this process. */
export const processName = nameOf(process.pid, markOf(process.pid).startedAt)

/** Whether the process to which `nameOf` gave this name still lives. */
export function ownerLives(name: string): boolean {
  const pid = Number(name.split('_')[0])
  const startedAt = startOf(pid)
  return startedAt !== undefined && nameOf(pid, startedAt) === name
}

let instances = 0

/** A folder for a single test, not made yet. A later run removes it, with what services keep outside of it. */
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
 * A Postgres for a single test, which may kill and restart it. Its database `tollgate` is empty. The test must stop it;
 * otherwise it ends with this process.
 */
export async function startPrivatePostgres(options: Partial<PostgresOptions> = {}): Promise<Postgres> {
  return await startPostgres({ folder: privateFolder(), settings: throwaway, ...options })
}

/** A Redis for a single test, like `startPrivatePostgres`. By default its data end with it. */
export async function startPrivateRedis(options: Partial<RedisOptions> = {}): Promise<PrivateRedis> {
  return await startRedis({ folder: privateFolder(), program: await redisProgram(say), ...options })
}
