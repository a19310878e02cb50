import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { QUEUES } from '../../src/shared/terms/kinds.ts'
import { readConfig } from '../../src/shared/platform/config/config.ts'
import type { WorkerConfig } from '../../src/workers/deps.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { createLog } from '../../src/shared/platform/process/log.ts'
import { startWeb } from '../../src/api/web.ts'
import { startWorker } from '../../src/workers/worker.ts'
import { createSandbox } from '../../sandbox/server.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { connectTestDb, offer, testDatabaseUrl } from './database.ts'
import { watchErrors } from './declared-errors.ts'
import { testRedis } from './redis.ts'

/** The folders of all configurations, which end with this process. */
const folders: string[] = []
process.once('exit', () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })))

/** Settings of one test's processes, as environment variables. */
export type Settings = Record<string, string>

const IMAGE = { modality: 'image', credits: 40 }
const VIDEO = { modality: 'video', credits: 250 }
const chat = (input = 1, output = 3) => ({
  modality: 'chat',
  pricing: { input, output, perTokens: 1000, minimum: 1 },
})

/** The routes of a model that one upstream serves. */
const at = (model: string, upstream = 'sandbox') => [{ upstream, model }]

/** Upstreams and models of the sandbox. */
export function sandboxCatalogue(url: string) {
  const sandbox = { protocol: 'openai', baseUrl: `${url}/v1`, apiKeyEnv: 'SANDBOX_API_KEY' }
  return {
    packs: [{ id: 'starter', currency: 'eur', amountMinor: 1000, credits: 10_000, bonus: 500 }],
    topUp: { currency: 'eur', minMinor: 500, maxMinor: 100_000, creditsPer: 1000, perMinor: 100 },
    upstreams: {
      sandbox,
      unconfigured: { ...sandbox, apiKeyEnv: 'KEY_THAT_IS_NOT_SET' },
      unreachable: { ...sandbox, baseUrl: 'http://127.0.0.1:9/v1' },
    } as Record<string, object>,
    models: [
      { id: 'sandbox-chat', ...chat(), upstreams: at('gpt-sandbox') },
      { id: 'dear-chat', ...chat(1000, 2000), upstreams: at('gpt-sandbox') },
      { id: 'sandbox-image', ...IMAGE, upstreams: at('image-sandbox') },
      { id: 'sandbox-video', ...VIDEO, upstreams: at('video-sandbox') },
      {
        id: 'sandbox-embedding',
        modality: 'embedding',
        pricing: { input: 1, perTokens: 10, minimum: 1 },
        upstreams: at('embedding-sandbox'),
      },
      { id: 'sandbox-moderation', modality: 'moderation', credits: 0, free: true, upstreams: at('moderation-sandbox') },
      { id: 'sandbox-rerank', modality: 'rerank', pricing: { perSearch: 2 }, upstreams: at('rerank-sandbox') },
      {
        id: 'sandbox-speech',
        modality: 'speech',
        pricing: { perCharacter: 3, perCharacters: 2, minimum: 5 },
        upstreams: at('speech-sandbox'),
      },
      {
        id: 'sandbox-transcription',
        modality: 'transcription',
        prices: [{ perSecond: 2 }],
        upstreams: at('transcription-sandbox'),
      },
      { id: 'sized-image', ...IMAGE, resolutions: ['16x16', '1K', '2K'], upstreams: at('image-sandbox') },
      {
        id: 'sized-video',
        ...VIDEO,
        durations: [4, 8],
        resolutions: ['720p', '1080p'],
        upstreams: at('video-sandbox'),
      },
      { id: 'ranged-video', ...VIDEO, durations: { min: 2, max: 12.5, default: 5 }, upstreams: at('video-sandbox') },
      { id: 'unavailable-image', ...IMAGE, upstreams: at('image-sandbox', 'unconfigured') },
      { id: 'disabled-image', ...IMAGE, enabled: false, upstreams: at('image-sandbox') },
      { id: 'hasty-chat', ...chat(), timeoutSeconds: 3, upstreams: at('gpt-sandbox') },
      { id: 'hasty-image', ...IMAGE, timeoutSeconds: 3, upstreams: at('image-sandbox') },
      { id: 'fallback-chat', ...chat(), upstreams: [...at('refusing-gpt'), ...at('gpt-sandbox')] },
      { id: 'fallback-image', ...IMAGE, upstreams: [...at('image-sandbox', 'unreachable'), ...at('image-sandbox')] },
    ] as Record<string, unknown>[],
  }
}

export type Catalogue = ReturnType<typeof sandboxCatalogue>

let configurations = 0

/** Where no sandbox is: for what calls no model. */
const NOWHERE = 'http://127.0.0.1:9'

/** How many web processes of `startTestWeb` run. */
let running = 0

/**
 * A configuration on this test process's own Postgres, Redis and folder, whose queues and limits no other one shares:
 * what a failed test left running takes no other test's jobs. `change` edits the catalogue, which becomes the current
 * version of the database; but one without a sandbox does not change what running processes serve.
 */
export async function testConfig(
  sandboxUrl: string,
  settings: Settings = {},
  change: (catalogue: Catalogue) => void = () => {},
): Promise<WorkerConfig> {
  const { url, prefix } = await testRedis()
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-test-'))
  folders.push(folder)
  const catalogue = sandboxCatalogue(sandboxUrl)
  change(catalogue)
  writeFileSync(join(folder, 'models.json'), JSON.stringify(catalogue))
  const config = readConfig(QUEUES, {
    PORT: '0',
    DRAIN_SECONDS: '0',
    DATABASE_URL: settings.DATABASE_URL ?? (await testDatabaseUrl()),
    REDIS_URL: url,
    REDIS_PREFIX: `${prefix}-${++configurations}`,
    LOG_LEVEL: 'error',
    MODELS_FILE: join(folder, 'models.json'),
    MAIL_FILE: join(folder, 'mail.jsonl'),
    STORAGE_URL: `file:${join(folder, 'media')}`,
    APP_SECRET: 'a secret of the tests, long enough for it',
    SANDBOX_API_KEY: 'sk-made-up',
    GATEWAY_RATE_LIMIT: '1000000',
    LOGIN_RATE_LIMIT: '1000000',
    REGISTER_RATE_LIMIT: '1000000',
    ...settings,
  })
  if (sandboxUrl !== NOWHERE || running === 0) await offer(config.DATABASE_URL, catalogue)
  return config
}

export type TestWeb = { url: string; config: WorkerConfig; db: Db; stop: () => Promise<void> }

/**
 * A web process inside this one, on a free port. `db` is a pool of the test's own. Stopping it fails if an endpoint
 * answered with an error that it does not declare.
 */
export async function startTestWeb(config?: WorkerConfig): Promise<TestWeb> {
  const own = config ?? (await testConfig(NOWHERE))
  const log = createLog(own.LOG_LEVEL, 'web')
  const expectDeclared = watchErrors(log)
  const web = await startWeb(own, log, 500)
  running += 1
  const db = connectTestDb({ ...own, DATABASE_POOL: 4 })
  return {
    url: `http://127.0.0.1:${web.port}`,
    config: own,
    db,
    stop: async () => {
      running -= 1
      await web.stop()
      await db.destroy()
      expectDeclared()
    },
  }
}

export type Gateway = TestWeb & { sandbox: Sandbox; stopWorker: () => Promise<void>; startWorker: () => Promise<void> }

/** Sandbox, web and one worker, as customers meet them. */
export async function startGateway(settings: Settings = {}, change?: (catalogue: Catalogue) => void): Promise<Gateway> {
  const sandbox = await createSandbox({ videoSeconds: 0.6, imageSeconds: 0.05 })
  const stripe: Settings = settings.PAYMENTS === undefined ? {} : { STRIPE_API_BASE: sandbox.url }
  const config = await testConfig(sandbox.url, { ...stripe, ...settings }, change)
  const web = await startTestWeb(config)
  const run = () => startWorker(config, createLog(config.LOG_LEVEL, 'worker'), 500)
  let worker: Awaited<ReturnType<typeof run>> | null = await run()
  const stopWorker = async () => {
    await worker?.stop()
    worker = null
  }
  return {
    ...web,
    sandbox,
    stopWorker,
    startWorker: async () => {
      worker ??= await run()
    },
    stop: async () => {
      await web.stop()
      await stopWorker()
      await sandbox.close()
    },
  }
}
