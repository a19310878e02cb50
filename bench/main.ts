/**
 * `npm run bench [-- --peer] [--seconds 4] [--rounds 3] [--in-flight 1,50,200]`: what a call costs, measured in one run
 * so that the figures can be compared: the upstream directly, a bare proxy without billing or queue, Tollgate's chat
 * with everything on, and with --peer a stateless gateway that does not bill. Absolute times are this machine's; ratios
 * carry over to others.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { connectDb } from '../src/shared/infra/db.ts'
import { build, buildIsStale } from '../scripts/builder.ts'
import { root } from '../scripts/folders.ts'
import { anAccount } from '../scripts/harness/factories.ts'
import { migrate } from '../scripts/harness/database.ts'
import type { Process } from '../scripts/harness/processes.ts'
import { cpuMicros, killTree, residentMb, run, runProgram } from '../scripts/harness/processes.ts'
import { printReport } from './report.ts'
import type { Row } from './report.ts'
import { chatBody, load, say, startServices, startStack, writeCatalogue } from './stack.ts'

const { values: options } = parseArgs({
  options: {
    peer: { type: 'boolean', default: false },
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    'in-flight': { type: 'string', default: '1,50,200' },
    only: { type: 'string' },
    out: { type: 'string', default: '.bench/result.json' },
  },
})

const folder = join(root, '.bench')
/** One thing to measure: where requests go, and the processes whose CPU they use. */
type Subject = { name: string; port: number; headers: Record<string, string>; body: string; processes: Process[] }

/** How long a subject is loaded before anything counts, in ms. */
const WARM_UP_OF_A_ROUND_MS = 1000

async function measure(subject: Subject, connections: number, seconds: number): Promise<Row> {
  const before = subject.processes.map((one) => cpuMicros(one.pid))
  const { port, headers, body } = subject
  const result = await load(subject.name, {
    port,
    headers,
    body,
    connections,
    warmupMs: WARM_UP_OF_A_ROUND_MS,
    ms: seconds * 1000,
  })
  const rate = result.calls / result.seconds
  // CPU is read across the warm-up too, whose rate is assumed to be the same.
  const calls = rate * (result.seconds + WARM_UP_OF_A_ROUND_MS / 1000)
  const cpu = Object.fromEntries(
    subject.processes.map((one, index) => [one.name, Math.round((cpuMicros(one.pid) - before[index]!) / calls)]),
  )
  const memory = Object.fromEntries(subject.processes.map((one) => [one.name, residentMb(one.pid)]))
  return { subject: subject.name, inFlight: connections, rate, ...result.latencies, cpuMicros: cpu, memoryMb: memory }
}

async function main(): Promise<void> {
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  if (buildIsStale()) await build()
  const services = await startServices(folder)
  await migrate(services.postgres.url)
  const running: Process[] = []
  const started = async (one: Promise<Process>): Promise<Process> => {
    running.push(await one)
    return running.at(-1)!
  }
  try {
    const upstream = await started(runProgram('upstream', 'bench/upstream.ts'))
    const proxy = await started(runProgram('proxy', 'bench/proxy.ts', String(upstream.port)))
    const { web, worker } = await startStack({
      name: 'tollgate',
      folder,
      catalogue: writeCatalogue(folder, upstream.port),
      databaseUrl: services.postgres.url,
      redisUrl: services.redis.url,
    })
    running.push(web, worker)
    const db = connectDb({ DATABASE_URL: services.postgres.url, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    const account = await anAccount(db, 1_000_000_000_000)
    await db.destroy()
    const asProcess = (name: string, pid: number): Process => ({ name, pid, child: web.child, port: 0 })
    const tollgate = [
      web,
      worker,
      asProcess('postgres', services.postgres.process.pid),
      asProcess('redis', services.redis.process.pid),
    ]
    const key = { Authorization: `Bearer ${account.key}` }
    const subjects: Subject[] = [
      { name: 'upstream', port: upstream.port, headers: {}, body: chatBody('bench'), processes: [upstream] },
      { name: 'proxy', port: proxy.port, headers: {}, body: chatBody('bench'), processes: [proxy] },
      ...(options.peer ? [await startPeer(started, upstream.port)] : []),
      { name: 'tollgate', port: web.port, headers: key, body: chatBody('bench-chat'), processes: tollgate },
      {
        name: 'tollgate stream',
        port: web.port,
        headers: key,
        body: chatBody('bench-chat', true),
        processes: tollgate,
      },
    ].filter((subject) => !options.only || options.only.split(',').includes(subject.name))
    printReport(
      await measureAll(subjects),
      join(root, options.out),
      `${cpus().length} × ${cpus()[0]?.model}, Node ${process.version}`,
    )
  } finally {
    for (const one of running.toReversed()) killTree(one.pid)
    await services.redis.stop()
    await services.postgres.stop()
  }
}

/**
 * How long each subject is loaded before anything is measured, in ms: a fresh process runs code that is not yet
 * compiled.
 */
const WARM_UP = { connections: 50, ms: 8000 }

/** Rounds in turn, so that a disturbance of the machine hits all subjects alike. The median round of each counts. */
async function measureAll(subjects: Subject[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const subject of subjects) {
    say(`warm-up: ${subject.name}`)
    const { name, port, headers, body } = subject
    await load(name, { port, headers, body, connections: WARM_UP.connections, warmupMs: 0, ms: WARM_UP.ms })
  }
  for (const connections of options['in-flight'].split(',').map(Number)) {
    const rounds = new Map<string, Row[]>(subjects.map((subject) => [subject.name, []]))
    for (let round = 1; round <= Number(options.rounds); round++) {
      for (const subject of subjects) {
        say(`${connections} in flight, round ${round}: ${subject.name}`)
        rounds.get(subject.name)!.push(await measure(subject, connections, Number(options.seconds)))
      }
    }
    for (const one of rounds.values()) rows.push(one.toSorted((a, b) => a.rate - b.rate)[Math.floor(one.length / 2)]!)
  }
  return rows
}

/** A stateless gateway that does not bill. It is run by npx, so it is no dependency of this project. */
async function startPeer(started: (one: Promise<Process>) => Promise<Process>, upstreamPort: number): Promise<Subject> {
  const port = 18_787
  const peer = await started(
    run(
      'peer',
      ['--yes', '@portkey-ai/gateway@1.15.2', `--port=${port}`, '--headless'],
      { NODE_ENV: 'production' },
      /ready|running|listening|localhost/i,
      'npx',
    ),
  )
  return {
    name: 'peer',
    port,
    body: chatBody('bench'),
    processes: [peer],
    headers: {
      Authorization: 'Bearer made-up',
      'x-portkey-provider': 'openai',
      'x-portkey-custom-host': `http://127.0.0.1:${upstreamPort}/v1`,
    },
  }
}

await main()
process.exit(0)
