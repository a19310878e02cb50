/**
 * `npx tsx bench/ablations.ts [--only WORD] [--in-flight 50,200] [--rounds 6] [--seconds 3]`: what each
 * optimization is worth. Each is taken out of a copy of the sources (bench/ablations-list.ts). The copy is built and
 * started beside the original on the same Postgres and Redis, and both are loaded in turn. Prints calls a second with
 * and without it, and CPU by process.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { cpus } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { build, buildIsStale, shipSql } from '../scripts/builder.ts'
import { root } from '../scripts/folders.ts'
import { removeDataFolder } from '../scripts/services/postgres-place.ts'
import { copyTree, editTree } from '../scripts/tree-copy.ts'
import type { TreeCopy } from '../scripts/tree-copy.ts'
import type { KeyChanges } from '../src/shared/accounts/key-limits.ts'
import { changeKey } from '../src/shared/accounts/key-limits.ts'
import { connectDb } from '../src/shared/infra/db.ts'
import { anAccount } from '../scripts/harness/factories.ts'
import type { Ablation } from './ablations-list.ts'
import { ABLATIONS } from './ablations-list.ts'
import type { Process } from '../scripts/harness/processes.ts'
import { cpuMicros, killTree, runProgram } from '../scripts/harness/processes.ts'
import { chatBody, load, median, say, startServices, startStack, writeCatalogue } from './stack.ts'

const { values: options } = parseArgs({
  options: {
    only: { type: 'string', default: '' },
    'in-flight': { type: 'string', default: '50,200' },
    rounds: { type: 'string', default: '6' },
    seconds: { type: 'string', default: '3' },
  },
})

const folder = join(root, '.bench-ablations')
const runFile = promisify(execFile)
const WARM_UP_MS = 6000
const WARM_UP_OF_A_ROUND_MS = 500

type Services = Awaited<ReturnType<typeof startServices>>

/** One of the two systems that are compared. CPU in µs a call by process. */
type Side = { name: string; web: Process; worker: Process; key: string }
type Figures = { rate: number; cpu: Record<string, number> }

/** What is copied: enough to build web and worker. The rest of the build is used as it is. */
const PARTS = [
  'src',
  'migrations',
  'sql',
  'dist',
  'assets',
  'package.json',
  'models.json',
  'tsconfig.json',
  'tsconfig.build.json',
  'knexfile.ts',
]

async function buildWithout({ name, edits }: Ablation): Promise<TreeCopy> {
  const copy = copyTree(PARTS)
  editTree(copy, name, edits)
  const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')
  await runFile(process.execPath, [tsc, '-p', 'tsconfig.build.json', '--noUnusedLocals', 'false'], { cwd: copy.folder })
  shipSql(copy.folder)
  return copy
}

async function startSide(
  name: string,
  tree: string,
  { postgres, redis }: Services,
  catalogue: string,
  { environment = {}, limits }: { environment?: Record<string, string>; limits?: KeyChanges | undefined } = {},
): Promise<Side> {
  const main = connectDb({ DATABASE_URL: postgres.url, DATABASE_SSL: 'off', DATABASE_POOL: 1 })
  await main.raw('CREATE DATABASE ??', [name])
  await main.destroy()
  const databaseUrl = postgres.urlOf(name)
  await runFile(process.execPath, [join(tree, 'dist/src/admin/migrate.js')], {
    cwd: tree,
    env: { ...process.env, DATABASE_URL: databaseUrl },
  })
  const db = connectDb({ DATABASE_URL: databaseUrl, DATABASE_SSL: 'off', DATABASE_POOL: 1 })
  const { key, keyId } = await anAccount(db, 1_000_000_000_000)
  if (limits) await changeKey(db, keyId, limits)
  await db.destroy()
  const processes = await startStack({ name, tree, folder, catalogue, databaseUrl, redisUrl: redis.url, environment })
  return { name, key, ...processes }
}

const loadSide = ({ name, web, key }: Side, connections: number, ms: number) =>
  load(name, {
    port: web.port,
    headers: { Authorization: `Bearer ${key}` },
    body: chatBody('bench-chat'),
    connections,
    warmupMs: WARM_UP_OF_A_ROUND_MS,
    ms,
  })

async function measure(side: Side, connections: number, { postgres, redis }: Services): Promise<Figures> {
  const pids = Object.entries({
    web: side.web.pid,
    worker: side.worker.pid,
    postgres: postgres.process.pid,
    redis: redis.process.pid,
  })
  const before = pids.map(([, pid]) => cpuMicros(pid))
  const { calls, seconds } = await loadSide(side, connections, Number(options.seconds) * 1000)
  const rate = calls / seconds
  const served = rate * (seconds + WARM_UP_OF_A_ROUND_MS / 1000)
  return {
    rate,
    cpu: Object.fromEntries(pids.map(([name, pid], index) => [name, (cpuMicros(pid) - before[index]!) / served])),
  }
}

/** Loads both in turn, and changes which goes first. Prints the medians, and the median of the rounds' ratios. */
async function compare(
  name: string,
  sides: [whole: Side, without: Side],
  connections: number,
  services: Services,
): Promise<void> {
  const figures: [Figures[], Figures[]] = [[], []]
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const at of round % 2 ? ([0, 1] as const) : ([1, 0] as const))
      figures[at].push(await measure(sides[at], connections, services))
  }
  const ratios = figures[0].map(({ rate }, at) => rate / figures[1][at]!.rate)
  const rates = figures.map((side) => median(side.map(({ rate }) => rate)).toFixed(0))
  const cpu = figures.map((side) =>
    Object.keys(side[0]!.cpu)
      .map((part) => `${part} ${median(side.map((one) => one.cpu[part]!)).toFixed(0)}`)
      .join(', '),
  )
  console.log(
    `| ${name} | ${connections} | ${rates[1]} → ${rates[0]} | ${median(ratios).toFixed(2)} (${ratios
      .toSorted((a, b) => a - b)
      .map((ratio) => ratio.toFixed(2))
      .join(' ')}) | ${cpu[1]} → ${cpu[0]} |`,
  )
}

/** Restarts both sides for each optimization: the side that has run longer would be faster. */
async function judge(
  ablation: Ablation,
  nth: number,
  services: Services,
  upstream: { catalogue: string; port: number },
): Promise<void> {
  const { catalogue, port } = upstream
  const copy = await buildWithout(ablation)
  const on = { environment: ablation.environment?.(port) ?? {}, limits: ablation.limits }
  const sides: Side[] = []
  try {
    sides.push(await startSide(`whole_${nth}`, root, services, catalogue))
    sides.push(await startSide(`without_${nth}`, copy.folder, services, catalogue, on))
    for (const side of [...sides, ...sides]) await loadSide(side, 50, WARM_UP_MS)
    for (const connections of options['in-flight'].split(',').map(Number))
      await compare(ablation.name, sides as [Side, Side], connections, services)
  } finally {
    for (const { web, worker } of sides) [web, worker].forEach(({ pid }) => killTree(pid))
    copy.remove()
  }
}

async function main(): Promise<void> {
  removeDataFolder(join(folder, 'postgres'))
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if (buildIsStale()) await build()
  const services = await startServices(folder)
  const running: Process[] = []
  try {
    const upstream = await runProgram('upstream', 'bench/upstream.ts')
    running.push(upstream)
    const catalogue = writeCatalogue(folder, upstream.port)
    console.log(
      `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}; ` +
        `${options.rounds} rounds of ${options.seconds} s each in turn`,
    )
    console.log(
      '| optimization | in flight | calls/s without → with | ratio (of each pair) | CPU µs a call without → with |\n' +
        '|---|---|---|---|---|',
    )
    for (const [nth, ablation] of ABLATIONS.filter(({ name }) => name.includes(options.only)).entries()) {
      say(`without: ${ablation.name}`)
      await judge(ablation, nth, services, { catalogue, port: upstream.port })
    }
  } finally {
    for (const one of running.toReversed()) killTree(one.pid)
    await services.redis.stop()
    await services.postgres.stop('immediate')
    removeDataFolder(join(folder, 'postgres'))
    rmSync(folder, { recursive: true, force: true })
  }
}

await main()
process.exit(0)
