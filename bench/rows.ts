/**
 * `npm run bench -- --rows 1000000 [--accounts 10000] [--few 1000] [--in-flight 50] [--seconds 3] [--rounds 7]`:
 * whether everything costs the same when the tables are full. Two databases in one Postgres, one with few calls and
 * one with many, spread over a year of months, each with its own web and worker, are loaded in turn: by one hot
 * account, and by all accounts in turn. Prints ratios of CPU and of calls a second, what the pages of the hot account
 * take, and what dropping a month does to calls that run. The books of both are audited before and after.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { build, buildIsStale } from '../scripts/build/builder.ts'
import { root } from '../scripts/folders.ts'
import { removeDataFolder } from '../scripts/services/postgres-place.ts'
import type { Postgres } from '../scripts/services/postgres.ts'
import { connectDb } from '../src/shared/platform/postgres/db.ts'
import type { Db } from '../src/shared/platform/postgres/db.ts'
import { audit } from '../src/shared/ledger/audit.ts'
import { migrate } from '../scripts/harness/database.ts'
import { until } from '../scripts/harness/until.ts'
import type { LoadedAccount } from '../scripts/harness/loaded-books.ts'
import { loadAccounts, loadHistory } from '../scripts/harness/loaded-books.ts'
import { splitIntoMonths } from '../scripts/harness/months.ts'
import { readOptions } from '../scripts/options.ts'
import type { Process } from '../scripts/harness/processes.ts'
import { cpuMicros, runProgram } from '../scripts/harness/processes.ts'
import { dropAMonth, fillHours, printPages } from './pages.ts'
import { chatBody, load, median, say, startServices, startStack, writeCatalogue } from './stack.ts'

const usage =
  'npm run bench -- --rows 1000000 [--few 1000] [--accounts 10000] [--in-flight 50] [--seconds 3] [--rounds 7]'
const { values: options } = readOptions(usage, {
  options: {
    rows: { type: 'string', default: '1000000' },
    few: { type: 'string', default: '1000' },
    accounts: { type: 'string', default: '10000' },
    'in-flight': { type: 'string', default: '50' },
    seconds: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '7' },
  },
})

const folder = join(root, '.bench-rows')

/** Over how many days, and months, the calls are spread. */
const SPAN = { days: 360, months: 14 }

/** How long the first load of each side lasts, in s. */
const WARM_UP_S = 25

/** As docs/scaling.md#sizes recommends for a server of this size. */
const SETTINGS = {
  shared_buffers: `${Math.round(totalmem() / 4 / 1_048_576)}MB`,
  checkpoint_timeout: '15min',
  max_wal_size: '4GB',
  wal_compression: 'on',
}

/** The goal: calls a second with many rows, as a share of those with few. */
const GOAL = 0.9

/** One of the two systems under load. */
type Side = {
  name: string
  rows: number
  url: string
  db: Db
  accounts: LoadedAccount[]
  keysFile: string
  web: Process
  worker: Process
}

/** Which accounts call: one, or all in turn. */
const SPREADS = ['one hot account', 'every account in turn'] as const

/** Latencies in ms, CPU in µs a call by process. */
type Figures = { rate: number; p50: number; p99: number; cpu: Record<string, number> }

const timed = async <T>(what: string, work: () => Promise<T>): Promise<T> => {
  const began = performance.now()
  const result = await work()
  say(`${what}: ${((performance.now() - began) / 1000).toFixed(1)} s`)
  return result
}

async function auditBooks(side: Pick<Side, 'name' | 'db'>): Promise<void> {
  const { checked, breaches } = await timed(`audit of ${side.name}`, () => audit(side.db))
  say(`  ${JSON.stringify(checked)}`)
  if (breaches.length > 0)
    throw new Error(`the books of ${side.name} do not balance: ${JSON.stringify(breaches.slice(0, 3))}`)
}

/** A database with its accounts and history, and the processes that serve it. */
async function prepare(
  name: string,
  rows: number,
  postgres: Postgres,
  redisUrl: string,
  catalogue: string,
): Promise<Side> {
  const main = connectDb({ DATABASE_URL: postgres.url, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  await main.raw('CREATE DATABASE ??', [name])
  await main.destroy()
  const url = postgres.urlOf(name)
  await migrate(url)
  const db = connectDb({ DATABASE_URL: url, DATABASE_SSL: 'off', DATABASE_POOL: 4 }, { silenceMs: 0 })
  await splitIntoMonths(db, SPAN.months)
  const accounts = await loadAccounts(db, Number(options.accounts))
  await timed(`${rows} calls, their entries and hours for ${name}`, () => fill(db, accounts, rows))
  const { rows: size } = await db.raw<{ rows: { gb: number }[] }>(
    `SELECT round(pg_database_size(current_database()) / 1e9, 2)::float AS gb`,
  )
  say(`size of ${name}: ${size[0]!.gb} GB`)
  await auditBooks({ name, db })
  const keysFile = join(folder, `${name}.keys`)
  writeFileSync(keysFile, accounts.map(({ secret }) => secret).join('\n'))
  const { web, worker } = await startStack({ name, folder, catalogue, databaseUrl: url, redisUrl })
  return { name, rows, url, db, accounts, keysFile, web, worker }
}

async function fill(db: Db, accounts: LoadedAccount[], rows: number): Promise<void> {
  await loadHistory(db, accounts, rows, SPAN.days)
  await fillHours(db)
}

async function loadSide(
  side: Side,
  spread: (typeof SPREADS)[number],
  services: Record<string, number>,
  seconds = Number(options.seconds),
): Promise<Figures> {
  const job = {
    port: side.web.port,
    body: chatBody('bench-chat'),
    connections: Number(options['in-flight']),
    warmupMs: 1500,
    ms: seconds * 1000,
    headers: { Authorization: `Bearer ${side.accounts[0]!.secret}` },
    ...(spread === 'every account in turn' && { keysFile: side.keysFile }),
  }
  const pids = Object.entries({ web: side.web.pid, worker: side.worker.pid, ...services })
  const before = pids.map(([, pid]) => cpuMicros(pid))
  const { calls, seconds: lasted, latencies } = await load(`${side.name}, ${spread}`, job)
  const rate = calls / lasted
  // CPU is read across the warm-up too, whose rate is assumed to be the same.
  const served = rate * (lasted + job.warmupMs / 1000)
  const cpu = Object.fromEntries(pids.map(([name, pid], index) => [name, (cpuMicros(pid) - before[index]!) / served]))
  return { rate, p50: latencies.p50, p99: latencies.p99, cpu }
}

/** Before each round: no call is open, and the few rows are few again. The many rows grow by a percent or two. */
async function settleDown(side: Side): Promise<void> {
  await until(
    'the end of every call',
    async () => (await side.db('accounts').where('outstanding_calls', '>', 0).first('id')) === undefined,
    30_000,
  )
  if (side.rows === Number(options.few)) await fill(side.db, side.accounts, side.rows)
}

/** @param services pids of what both sides share. */
async function measureAll(sides: Side[], services: Record<string, number>): Promise<boolean> {
  let flat = true
  for (const spread of SPREADS) {
    // Once: after a checkpoint each page that is changed is logged as a whole, and rounds are shorter than the time
    // between two checkpoints of a server, in which every account calls many times.
    await sides[0]!.db.raw('CHECKPOINT')
    const rounds = new Map<Side, Figures[]>(sides.map((side) => [side, []]))
    for (let round = 0; round <= Number(options.rounds); round++) {
      // The order alternates, so that a drift of the machine favours neither side. Round 0 warms up the
      // processes and the pages of every account: it lasts long enough for a call of each.
      for (const side of round % 2 ? sides : sides.toReversed()) {
        await settleDown(side)
        const figures = await loadSide(side, spread, services, round === 0 ? WARM_UP_S : undefined)
        say(`${spread}, round ${round}, ${side.rows} rows: ${figures.rate.toFixed(0)} calls/s`)
        if (round > 0) rounds.get(side)!.push(figures)
      }
    }
    flat = report(spread, rounds) && flat
  }
  return flat
}

/** Prints the medians and the ratio. @returns whether the goal is met. */
function report(spread: string, rounds: Map<Side, Figures[]>): boolean {
  const [few, many] = [...rounds].map(([side, figures]) => {
    const of = (read: (one: Figures) => number) => median(figures.map(read))
    const cpu = Object.keys(figures[0]!.cpu)
      .map((name) => `${name} ${of((one) => one.cpu[name]!).toFixed(0)}`)
      .join(', ')
    const rate = of((one) => one.rate).toFixed(0)
    const [p50, p99] = [of((one) => one.p50).toFixed(1), of((one) => one.p99).toFixed(1)]
    console.log(
      `${spread.padEnd(22)} ${String(side.rows).padStart(8)} rows  ${rate.padStart(6)} calls/s  ` +
        `p50 ${p50} ms  p99 ${p99} ms  CPU µs a call: ${cpu}`,
    )
    return figures
  })
  const of = (figures: Figures[], read: (one: Figures) => number) => median(figures.map(read))
  const cpuOf = ({ cpu }: Figures) => Object.values(cpu).reduce((sum, one) => sum + one, 0)
  const ratio = of(many!, ({ rate }) => rate) / of(few!, ({ rate }) => rate)
  const pairs = many!.map(({ rate }, index) => rate / few![index]!.rate)
  console.log(`${spread.padEnd(22)} ratio of CPU a call ${(of(many!, cpuOf) / of(few!, cpuOf)).toFixed(2)}`)
  console.log(
    `${spread.padEnd(22)} ratio of medians ${ratio.toFixed(2)} (goal ${GOAL}); of rounds side by side ` +
      `${median(pairs).toFixed(2)}: ${pairs.map((one) => one.toFixed(2)).join(', ')}`,
  )
  return ratio >= GOAL
}

/** Fills, measures and audits. @returns whether calls a second met the goal. */
export async function measureRows(): Promise<boolean> {
  removeDataFolder(join(folder, 'postgres'))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if (buildIsStale()) await build()
  const { postgres, redis } = await startServices(folder, SETTINGS)
  const running: Process[] = []
  try {
    const upstream = await runProgram('upstream', 'bench/upstream.ts')
    running.push(upstream)
    const catalogue = writeCatalogue(folder, upstream.port)
    const sides: Side[] = []
    for (const [name, rows] of [
      ['few', Number(options.few)],
      ['many', Number(options.rows)],
    ] as const) {
      const side = await prepare(name, rows, postgres, redis.url, catalogue)
      sides.push(side)
      running.push(side.web, side.worker)
    }
    console.log(
      `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; ${options['in-flight']} in flight, ` +
        `${options.accounts} accounts, ${options.rounds} rounds of ${options.seconds} s`,
    )
    const flat = await measureAll(sides, { postgres: postgres.process.pid, redis: redis.process.pid })
    await printPages(sides)
    const [, many] = sides
    await dropAMonth(many!.db, SPAN.days - 31, async () => (await loadSide(many!, SPREADS[1], {})).p99)
    for (const side of sides) {
      await settleDown(side)
      await auditBooks(side)
      await side.db.destroy()
    }
    return flat
  } finally {
    for (const one of running.toReversed()) one.child.kill('SIGKILL')
    await redis.stop()
    await postgres.stop('immediate')
    removeDataFolder(join(folder, 'postgres'))
    rmSync(folder, { recursive: true, force: true })
  }
}
