import { mkdirSync, rmSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { cpuMicros, residentMb, runCompiled } from '../harness/processes.ts'
import type { Process } from '../harness/processes.ts'
import { build, buildIsStale } from '../builder.ts'
import { root } from '../folders.ts'
import { startPostgres } from '../services/postgres.ts'
import { redisProgram, startRedis } from '../services/redis.ts'
import { connectDb } from '../../src/shared/infra/db.ts'
import type { Db } from '../../src/shared/infra/db.ts'
import { audit } from '../../src/shared/ledger/audit.ts'
import { migrate, offer } from '../harness/database.ts'
import { anAccount } from '../harness/factories.ts'
import type { TestAccount } from '../harness/factories.ts'
import { ownMb } from '../harness/memory.ts'

/** One web and one worker process of the compiled program, over services of their own. */
export type Stage = {
  url: string
  web: Process
  worker: Process
  others: Process[]
  db: Db
  account: TestAccount
  close: () => Promise<void>
}

const say = (line: string): void => void process.stderr.write(`${line}\n`)

/**
 * Builds and starts everything. Nothing of an earlier measurement is left.
 * @param upstream starts the upstream and returns its process
 * @param catalogueOf the catalogue over that upstream's port
 */
export async function startStage(
  name: string,
  upstream: () => Promise<Process>,
  catalogueOf: (port: number) => object,
  settings: Record<string, string> = {},
): Promise<Stage> {
  const folder = join(root, '.bench', name)
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if (buildIsStale()) await build()
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), say })
  const redis = await startRedis({ program: await redisProgram(say), folder: join(folder, 'redis'), durable: true })
  await migrate(postgres.url)
  const source = await upstream()
  await offer(postgres.url, catalogueOf(source.port))
  const environment = {
    DATABASE_URL: postgres.url,
    REDIS_URL: redis.url,
    PORT: '0',
    NODE_ENV: 'production',
    APP_SECRET: 'a secret of the measurement, long enough',
    GATEWAY_RATE_LIMIT: '1000000000',
    MAX_OUTSTANDING_CALLS: '100000',
    STORAGE_URL: `file:${join(folder, 'media')}`,
    MAIL_FILE: join(folder, 'mail.jsonl'),
    ...settings,
  }
  const web = await runCompiled('web', root, 'api/main.js', environment, /"port":(\d+)/)
  const worker = await runCompiled('worker', root, 'workers/main.js', environment, /worker process running()/)
  const db = connectDb({ DATABASE_URL: postgres.url, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  const service = (called: string, pid: number): Process => ({ name: called, pid, child: web.child, port: 0 })
  return {
    url: `http://127.0.0.1:${web.port}`,
    web,
    worker,
    db,
    account: await anAccount(db, 1_000_000_000),
    others: [service('postgres', postgres.process.pid), service('redis', redis.process.pid), source],
    close: async () => {
      const { breaches } = await audit(db)
      process.stdout.write(
        breaches.length === 0 ? 'The books balance.\n' : `${breaches.length} BREACHES of the books\n`,
      )
      await db.destroy()
      for (const one of [worker, web, source]) one.child.kill('SIGKILL')
      await redis.stop()
      await postgres.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** What a process used while something was done: CPU in seconds, its peak and initial memory in MB. */
export type Taken = { name: string; cpuSeconds: number; beforeMb: number; mostMb: number }

/** How often memory is read, in ms. */
const LOOK_MS = 500

/**
 * Does something and measures what the processes use meanwhile. Children are counted before and after it only: finding
 * them means reading all of /proc, which would distort the measurement.
 */
export async function watching<T>(
  processes: readonly Process[],
  work: () => Promise<T>,
): Promise<{ result: T; seconds: number; taken: Taken[] }> {
  const taken = processes.map(({ name, pid }) => ({
    name,
    cpuSeconds: -cpuMicros(pid) / 1e6,
    beforeMb: residentMb(pid),
    mostMb: 0,
  }))
  const timer = setInterval(
    () =>
      processes.forEach(({ pid }, index) => {
        taken[index]!.mostMb = Math.max(taken[index]!.mostMb, ownMb(pid))
      }),
    LOOK_MS,
  )
  const begunAt = performance.now()
  const result = await work()
  const seconds = (performance.now() - begunAt) / 1000
  clearInterval(timer)
  processes.forEach(({ pid }, index) => {
    taken[index]!.cpuSeconds += cpuMicros(pid) / 1e6
    taken[index]!.mostMb = Math.max(taken[index]!.mostMb, residentMb(pid))
  })
  return { result, seconds, taken }
}

/** A line a process on what it used. */
export function describeTaken(taken: readonly Taken[], seconds: number): string {
  return taken
    .map(({ name, cpuSeconds, beforeMb, mostMb }) => {
      const [cpu, most] = [((100 * cpuSeconds) / seconds).toFixed(0), mostMb.toFixed(0)]
      return (
        `  ${name.padEnd(9)} ${cpu.padStart(4)} % of a core, ` +
        `${most.padStart(5)} MB at most (${beforeMb} MB before)`
      )
    })
    .join('\n')
}

/** The machine and its load, without which no figure means anything. */
export const machine = (): string =>
  `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}, load ${loadavg()
    .map((one) => one.toFixed(1))
    .join(' ')}`
