/**
 * `npm run bench [-- --peer] [--seconds 4] [--rounds 3] [--in-flight 1,50,200]`: what a call costs, measured in one run so that the
 * figures can be compared: the upstream directly, a bare proxy without billing or queue, Tollgate's chat with everything on, and
 * with --peer a stateless gateway that does not bill. Absolute times are this machine's; ratios travel.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { connectDb } from '../src/shared/db.ts'
import { build, buildIsStale } from '../scripts/builder.ts'
import { root } from '../scripts/folders.ts'
import { startPostgres } from '../scripts/services/postgres.ts'
import { redisProgram, startRedis } from '../scripts/services/redis.ts'
import { anAccount } from '../test/support/factories.ts'
import { migrate } from '../test/support/database.ts'
import type { LoadJob, LoadResult } from './load.ts'
import { loadProgram } from './load.ts'
import type { Process } from './processes.ts'
import { cpuMicros, killTree, residentMb, run, runCompiled, runProgram } from './processes.ts'
import { printReport } from './report.ts'
import type { Row } from './report.ts'

const { values: options } = parseArgs({ options: {
  peer: { type: 'boolean', default: false },
  seconds: { type: 'string', default: '4' },
  rounds: { type: 'string', default: '3' },
  'in-flight': { type: 'string', default: '1,50,200' },
  only: { type: 'string' },
  out: { type: 'string', default: '.bench/result.json' },
} })

const folder = join(root, '.bench')
const runFile = promisify(execFile)
const say = (line: string) => process.stderr.write(`${line}\n`)

/** One thing to measure: where requests go, and whose CPU they cost. */
type Subject = { name: string; port: number; headers: Record<string, string>; body: string; processes: Process[] }

const message = { role: 'user', content: 'How many waves does a lighthouse keeper count in a night?' }
const chat = (model: string, stream: boolean) => JSON.stringify({ model, messages: [message], max_tokens: 200, ...(stream && { stream }) })

/** Loads a subject from a process of its own. @throws where any answer was an error: such a run has no figures. */
async function load(subject: Subject, connections: number, ms: number): Promise<LoadResult> {
  const job: LoadJob = {
    host: '127.0.0.1', port: subject.port, path: '/v1/chat/completions', headers: subject.headers, body: subject.body, connections,
    warmupMs: 1000, ms,
  }
  const { stdout } = await runFile(process.execPath, ['--import', 'tsx', loadProgram, JSON.stringify(job)], { cwd: root, maxBuffer: 1 << 24 })
  const result = JSON.parse(stdout) as LoadResult
  if (result.errors > 0) throw new Error(`${subject.name} at ${connections} in flight: ${result.errors} errors, the first: ${result.firstError}. A run with errors has no figures.`)
  return result
}

async function measure(subject: Subject, connections: number, seconds: number): Promise<Row> {
  const before = subject.processes.map((one) => cpuMicros(one.pid))
  const result = await load(subject, connections, seconds * 1000)
  const rate = result.calls / result.seconds
  // CPU is read around the warm-up too; the rate is taken to be the same in it.
  const calls = rate * (result.seconds + 1)
  const cpu = Object.fromEntries(subject.processes.map((one, index) => [one.name, Math.round((cpuMicros(one.pid) - before[index]!) / calls)]))
  const memory = Object.fromEntries(subject.processes.map((one) => [one.name, residentMb(one.pid)]))
  return { subject: subject.name, inFlight: connections, rate, ...result.latencies, cpuMicros: cpu, memoryMb: memory }
}

function median(rows: Row[]): Row {
  return rows.toSorted((a, b) => a.rate - b.rate)[Math.floor(rows.length / 2)]!
}

async function startServices() {
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), say })
  const redis = await startRedis({ program: await redisProgram(say), folder: join(folder, 'redis'), durable: true })
  await migrate(postgres.url)
  return { postgres, redis }
}

function writeCatalogue(upstreamPort: number): string {
  const file = join(folder, 'models.json')
  writeFileSync(file, JSON.stringify({
    upstreams: { bench: { protocol: 'openai', baseUrl: `http://127.0.0.1:${upstreamPort}/v1` } },
    models: [{ id: 'bench-chat', modality: 'chat', pricing: { input: 1, output: 3, perTokens: 1000, minimum: 1 }, upstreams: [{ upstream: 'bench', model: 'bench' }] }],
  }))
  return file
}

async function main(): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if (buildIsStale()) await build()
  const services = await startServices()
  const running: Process[] = []
  const started = async (one: Promise<Process>): Promise<Process> => {
    running.push(await one)
    return running.at(-1)!
  }
  try {
    const upstream = await started(runProgram('upstream', 'bench/upstream.ts'))
    const proxy = await started(runProgram('proxy', 'bench/proxy.ts', String(upstream.port)))
    const environment = {
      DATABASE_URL: services.postgres.url, REDIS_URL: services.redis.url, MODELS_FILE: writeCatalogue(upstream.port), PORT: '0',
      APP_SECRET: 'a secret of the benchmark, long enough', GATEWAY_RATE_LIMIT: '1000000000', CHAT_CONCURRENCY: '500',
      STORAGE_URL: `file:${join(folder, 'media')}`, MAIL_FILE: join(folder, 'mail.jsonl'), NODE_ENV: 'production',
    }
    const web = await started(runCompiled('web', 'api/main.js', environment, /"port":(\d+)/))
    const worker = await started(runCompiled('worker', 'workers/main.js', environment, /worker process runs()/))
    const db = connectDb({ DATABASE_URL: services.postgres.url, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    const account = await anAccount(db, 1_000_000_000_000)
    await db.destroy()
    const asProcess = (name: string, pid: number): Process => ({ name, pid, child: web.child, port: 0 })
    const tollgate = [web, worker, asProcess('postgres', services.postgres.process.pid), asProcess('redis', services.redis.process.pid)]
    const key = { Authorization: `Bearer ${account.key}` }
    const subjects: Subject[] = [
      { name: 'upstream', port: upstream.port, headers: {}, body: chat('bench', false), processes: [upstream] },
      { name: 'proxy', port: proxy.port, headers: {}, body: chat('bench', false), processes: [proxy] },
      ...(options.peer ? [await startPeer(started, upstream.port)] : []),
      { name: 'tollgate', port: web.port, headers: key, body: chat('bench-chat', false), processes: tollgate },
      { name: 'tollgate stream', port: web.port, headers: key, body: chat('bench-chat', true), processes: tollgate },
    ].filter((subject) => !options.only || options.only.split(',').includes(subject.name))
    printReport(await measureAll(subjects), join(root, options.out), `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`)
  } finally {
    for (const one of running.toReversed()) killTree(one.pid)
    await services.redis.stop()
    await services.postgres.stop()
  }
}

/** How long each subject is loaded before anything is measured, in ms: a process just started runs code that is not yet compiled. */
const WARM_UP = { connections: 50, ms: 8000 }

/** Rounds in turn, so that what disturbs the machine disturbs all; the median round of each counts. */
async function measureAll(subjects: Subject[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const subject of subjects) {
    say(`warm-up: ${subject.name}`)
    await load(subject, WARM_UP.connections, WARM_UP.ms)
  }
  for (const connections of options['in-flight'].split(',').map(Number)) {
    const rounds = new Map<string, Row[]>(subjects.map((subject) => [subject.name, []]))
    for (let round = 1; round <= Number(options.rounds); round++) {
      for (const subject of subjects) {
        say(`${connections} in flight, round ${round}: ${subject.name}`)
        rounds.get(subject.name)!.push(await measure(subject, connections, Number(options.seconds)))
      }
    }
    for (const one of rounds.values()) rows.push(median(one))
  }
  return rows
}

/** A stateless gateway that does not bill, by npx: no dependency of ours. */
async function startPeer(started: (one: Promise<Process>) => Promise<Process>, upstreamPort: number): Promise<Subject> {
  const port = 18_787
  const peer = await started(run('peer', ['--yes', '@portkey-ai/gateway@1.15.2', `--port=${port}`, '--headless'], { NODE_ENV: 'production' }, /ready|running|listening|localhost/i, 'npx'))
  return {
    name: 'peer', port, body: chat('bench', false), processes: [peer],
    headers: { Authorization: 'Bearer made-up', 'x-portkey-provider': 'openai', 'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1` },
  }
}

await main()
process.exit(0)
