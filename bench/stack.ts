/** What is measured: a web and a worker process, compiled, over the services of the run. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { root } from '../scripts/folders.ts'
import { startPostgres } from '../scripts/services/postgres.ts'
import { redisProgram, startRedis } from '../scripts/services/redis.ts'
import { offer } from '../scripts/harness/database.ts'
import { readCatalogueFile } from '../src/shared/catalogue/parse.ts'
import type { LoadJob, LoadResult } from './load.ts'
import { loadProgram } from './load.ts'
import type { Process } from '../scripts/harness/processes.ts'
import { runCompiled } from '../scripts/harness/processes.ts'

const runFile = promisify(execFile)

/** Prints progress on the standard error: the standard output has the figures. */
export const say = (line: string): boolean => process.stderr.write(`${line}\n`)

const message = { role: 'user', content: 'How many waves does a lighthouse keeper count in a night?' }

/** A chat request. */
export const chatBody = (model: string, stream = false): string =>
  JSON.stringify({ model, messages: [message], max_tokens: 200, ...(stream && { stream }) })

/** Postgres with durable commits, and a durable Redis, in a folder of the run. */
export async function startServices(folder: string, settings: Record<string, string> = {}) {
  const postgres = await startPostgres({ folder: join(folder, 'postgres'), settings, say })
  const redis = await startRedis({ program: await redisProgram(say), folder: join(folder, 'redis'), durable: true })
  return { postgres, redis }
}

/** The services of a run. */
export type Services = Awaited<ReturnType<typeof startServices>>

/** A catalogue of a chat and an image model. Every chat is charged, and its settlement gives something back. */
export function writeCatalogue(folder: string, upstreamPort: number): string {
  const file = join(folder, 'models.json')
  writeFileSync(
    file,
    JSON.stringify({
      upstreams: { bench: { protocol: 'openai', baseUrl: `http://127.0.0.1:${upstreamPort}/v1` } },
      models: [
        {
          id: 'bench-chat',
          modality: 'chat',
          pricing: { input: 100, output: 300, perTokens: 1000, minimum: 1 },
          upstreams: [{ upstream: 'bench', model: 'bench' }],
        },
        { id: 'bench-image', modality: 'image', credits: 5, upstreams: [{ upstream: 'bench', model: 'bench' }] },
      ],
    }),
  )
  return file
}

/** `tree`: the checkout or copy whose build is run. */
export type StackOptions = {
  name: string
  tree?: string
  folder: string
  catalogue: string
  databaseUrl: string
  redisUrl: string
  environment?: Record<string, string>
}

/**
 * Starts a web and a worker process with everything on: keys, limits, billing, the queue, results, records, and logs
 * at level info.
 */
export async function startStack({
  name,
  tree = root,
  folder,
  catalogue,
  databaseUrl,
  redisUrl,
  environment: more = {},
}: StackOptions): Promise<{ web: Process; worker: Process }> {
  const environment = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redisUrl,
    REDIS_PREFIX: name,
    PORT: '0',
    APP_SECRET: 'a secret of the benchmark, long enough',
    GATEWAY_RATE_LIMIT: '1000000000',
    CHAT_CONCURRENCY: '1000',
    IMAGE_CONCURRENCY: '100',
    ACCOUNT_SHARE: '1',
    STORAGE_URL: `file:${join(folder, 'media')}`,
    MAIL_FILE: join(folder, 'mail.jsonl'),
    NODE_ENV: 'production',
    ...more,
  }
  await offer(databaseUrl, readCatalogueFile(catalogue) as object)
  const web = await runCompiled('web', tree, 'api/main.js', environment, /"port":(\d+)/)
  const worker = await runCompiled('worker', tree, 'workers/main.js', environment, /worker process running()/)
  return { web, worker }
}

/** Loads an address from a process of its own. @throws where any answer was an error: such a run is void. */
export async function load(what: string, job: Omit<LoadJob, 'host' | 'path'> & { path?: string }): Promise<LoadResult> {
  const whole: LoadJob = { path: '/v1/chat/completions', ...job, host: '127.0.0.1' }
  const { stdout } = await runFile(process.execPath, ['--import', 'tsx', loadProgram, JSON.stringify(whole)], {
    cwd: root,
    maxBuffer: 1 << 24,
  })
  const result = JSON.parse(stdout) as LoadResult
  if (result.errors > 0)
    throw new Error(
      `${what} at ${job.connections} in flight: ${result.errors} errors, the first: ${result.firstError}. ` +
        'A run with errors has no figures.',
    )
  return result
}

/** The median. */
export const median = (values: readonly number[]): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
