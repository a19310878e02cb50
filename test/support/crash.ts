import type { Server } from 'node:http'
import { Redis } from 'ioredis'
import type { WorkerConfig } from '../../src/workers/deps.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { createLog } from '../../src/shared/platform/process/log.ts'
import type { AccountId } from '../../src/shared/platform/ids.ts'
import type { Modality } from '../../src/shared/terms/kinds.ts'
import { startWeb } from '../../src/api/web.ts'
import { startWorker } from '../../src/workers/worker.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { connectTestDb, newDatabaseUrl } from '../../scripts/harness/database.ts'
import { testConfig } from '../../scripts/harness/harness.ts'
import type { Catalogue, Settings } from '../../scripts/harness/harness.ts'
import { startPostgresProxy } from './proxy-postgres.ts'
import { startRedisProxy } from './proxy-redis.ts'
import type { Proxy } from './proxy.ts'
import { testRedis } from '../../scripts/harness/redis.ts'
import { until } from '../../scripts/harness/until.ts'

/** A web and a worker in this process. Each has its own proxies in front of a real Postgres and Redis. */
export type Arena = {
  url: string
  /** A direct connection to Postgres, without a proxy. */
  db: Db
  config: WorkerConfig
  proxies: Record<'web' | 'worker', Record<'postgres' | 'redis', Proxy>>
  server: Server
  stop: () => Promise<void>
}

/** Starts one. Each has a database and Redis keys of its own. */
export async function startArena(
  sandbox: Sandbox,
  settings: Settings = {},
  change: (catalogue: Catalogue) => void = () => {},
): Promise<Arena> {
  const databaseUrl = await newDatabaseUrl()
  const { url: redisUrl } = await testRedis()
  const names = ['web', 'worker'] as const
  const proxies = {} as Arena['proxies']
  const configs = {} as Record<'web' | 'worker', WorkerConfig>
  const own = { DATABASE_URL: databaseUrl, LOG_LEVEL: 'silent', ...settings }
  const config = await testConfig(sandbox.url, own, change)
  for (const name of names) {
    const postgres = await startPostgresProxy(Number(new URL(databaseUrl).port))
    const redis = await startRedisProxy(Number(new URL(redisUrl).port))
    proxies[name] = { postgres, redis }
    configs[name] = { ...config, DATABASE_URL: through(databaseUrl, postgres), REDIS_URL: through(redisUrl, redis) }
  }
  const web = await startWeb(configs.web, createLog(config.LOG_LEVEL, 'web'), 100)
  const worker = await startWorker(configs.worker, createLog(config.LOG_LEVEL, 'worker'), 100)
  const db = connectTestDb({ ...config, DATABASE_URL: databaseUrl, DATABASE_POOL: 3 })
  return {
    url: `http://127.0.0.1:${web.port}`,
    db,
    config,
    proxies,
    server: web.server,
    stop: async () => {
      await web.stop()
      await worker.stop()
      await db.destroy()
      for (const name of names) await Promise.all([proxies[name].postgres.close(), proxies[name].redis.close()])
    },
  }
}

function through(address: string, proxy: Proxy): string {
  const url = new URL(address)
  url.port = String(proxy.port)
  return url.href
}

/** Deletes everything that an installation has in Redis. */
export async function loseRedis(config: Pick<WorkerConfig, 'REDIS_URL' | 'REDIS_PREFIX'>): Promise<void> {
  const redis = new Redis(config.REDIS_URL)
  const keys = await redis.keys(`${config.REDIS_PREFIX}:*`)
  if (keys.length > 0) await redis.del(keys)
  redis.disconnect()
}

/** The columns of a call that crash tests read. */
export type CallRow = {
  id: string
  model: string
  modality: Modality
  status: string
  credits: number
  credits_precharged: number
  attempts: number
  http_status: number | null
  created_at: Date
  finished_at: Date | null
}

/** Reads the calls of an account, oldest first. */
export const callsOf = (db: Db, account: AccountId): Promise<CallRow[]> =>
  db('calls').where({ account_id: account }).whereNot({ status: 'rejected' }).orderBy('id').select<CallRow[]>('*')

/** Waits until none of an account's calls is open, and returns them. */
export async function untilEnded(db: Db, account: AccountId, ms?: number): Promise<CallRow[]> {
  // The calls of a storm are thousands: too many to read them all at every look.
  const open = db('calls').where({ account_id: account }).whereNull('finished_at').first('id')
  return await until(
    'the end of every call',
    async () => {
      if (await open.clone()) return false
      const calls = await callsOf(db, account)
      return calls.every(({ finished_at }) => finished_at !== null) && calls
    },
    ms,
  )
}
