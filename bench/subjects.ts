/** What the benchmark compares, and how each is started. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { countingJson } from './counts.ts'
import type { Services } from './stack.ts'
import { chatBody, startStack, writeCatalogue } from './stack.ts'
import { changeKey } from '../src/shared/identity/key-limits.ts'
import { connectDb } from '../src/shared/platform/postgres/db.ts'
import type { Db } from '../src/shared/platform/postgres/db.ts'
import { migrate } from '../scripts/harness/database.ts'
import { anAccount } from '../scripts/harness/factories.ts'
import { loadAccounts, loadHistory } from '../scripts/harness/loaded-books.ts'
import type { Process } from '../scripts/harness/processes.ts'
import { run, runProgram } from '../scripts/harness/processes.ts'

/** One thing to measure: where requests go, and the processes whose CPU they use. */
export type Subject = {
  name: string
  port: number
  headers: Record<string, string>
  body: string
  processes: Process[]
  /** Chats by default. */
  method?: 'GET'
  path?: string
  /** See `LoadJob`. */
  keysFile?: string
}

/** Which subjects: the peer too, and everything of Tollgate's besides whole chats and streams. */
export type Wanted = { peer: boolean; all: boolean }

/** The subjects, in the order of a round. `running` gets each process as soon as it runs. */
export async function startSubjects(
  folder: string,
  services: Services,
  running: Process[],
  wanted: Wanted,
): Promise<Subject[]> {
  const started = async (one: Promise<Process>): Promise<Process> => {
    running.push(await one)
    return running.at(-1)!
  }
  const upstream = await started(runProgram('upstream', 'bench/upstream.ts'))
  const proxy = await started(runProgram('proxy', 'bench/proxy.ts', String(upstream.port)))
  const relay = await started(runProgram('relay', 'bench/relay.ts', String(upstream.port)))
  const body = chatBody('bench')
  const shared = [of('postgres', services.postgres.process.pid), of('redis', services.redis.process.pid)]
  return [
    { name: 'upstream', port: upstream.port, headers: {}, body, processes: [upstream] },
    { name: 'proxy', port: proxy.port, headers: {}, body, processes: [proxy] },
    { name: 'relay', port: relay.port, headers: {}, body: chatBody('bench', true), processes: [relay] },
    ...(wanted.peer ? [await startPeer(started, upstream.port)] : []),
    await startFloor(started, services, upstream.port, shared),
    ...(await startTollgate(folder, services, upstream.port, running, shared, wanted)),
  ]
}

/** A process that something else has started. */
const of = (name: string, pid: number): Process => ({ name, pid, child: null as never, port: 0 })

/**
 * Tollgate's streams by processes that count the JSON that they parse, in a database of their own. They are not
 * measured: counting takes time.
 */
export async function startCountingJson(
  folder: string,
  { postgres, redis }: Services,
  upstreamPort: number,
  running: Process[],
): Promise<Subject> {
  const databaseUrl = await newDatabase(postgres, 'counted')
  await migrate(databaseUrl)
  const { web, worker } = await startStack({
    name: 'counted',
    folder,
    catalogue: writeCatalogue(folder, upstreamPort),
    databaseUrl,
    redisUrl: redis.url,
    environment: countingJson(join(folder, 'json')),
  })
  running.push(web, worker)
  const db = connectDb({ DATABASE_URL: databaseUrl, DATABASE_SSL: 'off', DATABASE_POOL: 1 }, { silenceMs: 0 })
  const { key } = await anAccount(db, 1_000_000_000_000)
  await db.destroy()
  return {
    name: 'counted stream',
    port: web.port,
    headers: { Authorization: `Bearer ${key}` },
    body: chatBody('bench-chat', true),
    processes: [web, worker],
  }
}

/** Makes a database next to the one of the run. @returns its URL */
async function newDatabase(postgres: Services['postgres'], name: string): Promise<string> {
  const main = connectDb({ DATABASE_URL: postgres.url, DATABASE_SSL: 'off', DATABASE_POOL: 1 })
  await main.raw(`CREATE DATABASE ${name}`)
  await main.destroy()
  return postgres.urlOf(name)
}

/** The skeleton of this shape (bench/floor.ts), in a database of its own. */
async function startFloor(
  started: (one: Promise<Process>) => Promise<Process>,
  { postgres, redis }: Services,
  upstreamPort: number,
  shared: Process[],
): Promise<Subject> {
  const settings = [await newDatabase(postgres, 'floor'), redis.url, String(upstreamPort)]
  const web = await started(runProgram('web', 'bench/floor.ts', 'web', ...settings))
  const worker = await started(runProgram('worker', 'bench/floor.ts', 'worker', ...settings))
  return { name: 'floor', port: web.port, headers: {}, body: chatBody('bench'), processes: [web, worker, ...shared] }
}

async function startTollgate(
  folder: string,
  { postgres, redis }: Services,
  upstreamPort: number,
  running: Process[],
  shared: Process[],
  { all }: Wanted,
): Promise<Subject[]> {
  const catalogue = writeCatalogue(folder, upstreamPort)
  const { web, worker } = await startStack({
    name: 'tollgate',
    folder,
    catalogue,
    databaseUrl: postgres.url,
    redisUrl: redis.url,
  })
  running.push(web, worker)
  const db = connectDb({ DATABASE_URL: postgres.url, DATABASE_SSL: 'off', DATABASE_POOL: 2 }, { silenceMs: 0 })
  // Before any other account: a history is written for all that there are.
  const keysFile = all ? await manyAccounts(db, folder) : ''
  const account = await anAccount(db, 1_000_000_000_000)
  const subject = (name: string, more: Partial<Subject> = {}, { key }: { key: string } = account): Subject => ({
    name,
    body: chatBody('bench-chat'),
    port: web.port,
    headers: { Authorization: `Bearer ${key}` },
    processes: [web, worker, ...shared],
    ...more,
  })
  const subjects = [
    subject('tollgate'),
    subject('tollgate stream', { body: chatBody('bench-chat', true) }),
    ...(all ? await further(db, keysFile, subject) : []),
  ]
  await db.destroy()
  return subjects
}

const ACCOUNTS = 10_000

/** Accounts with a past, which can pay. @returns the file of their keys. */
async function manyAccounts(db: Db, folder: string): Promise<string> {
  const accounts = await loadAccounts(db, ACCOUNTS)
  await loadHistory(db, accounts, ACCOUNTS)
  const keysFile = join(folder, 'keys')
  writeFileSync(keysFile, accounts.map(({ secret }) => secret).join('\n'))
  return keysFile
}

/** What else Tollgate serves, by the name that the report has. */
async function further(
  db: Db,
  keysFile: string,
  subject: (name: string, more?: Partial<Subject>, account?: { key: string }) => Subject,
): Promise<Subject[]> {
  const limited = await anAccount(db, 1_000_000_000_000)
  await changeKey(db, limited.keyId, { budget: { credits: 1_000_000_000_000, period: 'month' } })
  return [
    subject('a key with a budget', {}, limited),
    subject('10,000 accounts', { keysFile, headers: {} }),
    subject('image', {
      path: '/v1/images/generations',
      body: JSON.stringify({ model: 'bench-image', prompt: 'A sea.' }),
    }),
    // Reads are limited by account, at any GATEWAY_RATE_LIMIT.
    subject('GET /v1/models', { method: 'GET', path: '/v1/models', keysFile, headers: {} }),
  ]
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
