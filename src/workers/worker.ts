/** The worker process, put together: `main.ts` runs it, tests start it in process. */
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'bullmq'
import type { Processor } from 'bullmq'
import type { Redis } from 'ioredis'
import { jobsAtOnce } from '../shared/platform/config/config.ts'
import type { QueueName } from '../shared/terms/kinds.ts'
import { QUEUES, mapKinds } from '../shared/terms/kinds.ts'
import type { Db } from '../shared/platform/postgres/db.ts'
import { reportDefect } from '../shared/platform/process/defects.ts'
import type { Log } from '../shared/platform/process/log.ts'
import { openDatabase } from '../shared/calls/calls.ts'
import type { Running } from '../shared/platform/process/process.ts'
import { holdCatalogue, listenForVersions } from '../shared/catalogue/holder.ts'
import { createQueues, MAX_STALLED_COUNT } from '../shared/queues.ts'
import {
  connectPersistent,
  connectSubscriber,
  isRedisUnavailable,
  isRedisRefusing,
} from '../shared/platform/redis/redis.ts'
import { missingSchema } from '../../migrations/index.ts'
import { SchemaGate } from '../shared/platform/postgres/schema.ts'
import { checkServices } from '../shared/platform/process/start-up.ts'
import type { Needed } from '../shared/platform/process/start-up.ts'
import { checkStorage } from '../shared/media/storage-check.ts'
import { createPublisher, listenForCancels } from '../shared/replies/publisher.ts'
import { listenForKeys } from '../shared/operators/key-states.ts'
import { noteOpening, noteRecovery, noteStillWorking } from '../shared/operators/upstreams.ts'
import { paymentsOf } from '../shared/payments/deps.ts'
import { createMailer } from '../shared/mail/mailer.ts'
import { createAudits } from '../shared/metrics/audits.ts'
import { startTelemetry } from '../shared/platform/telemetry/start.ts'
import type { Trace } from '../shared/platform/process/trace.ts'
import { traceFields } from '../shared/platform/process/trace.ts'
import { answerBudget } from './calls/answer-room.ts'
import { createChatProcessor } from './calls/count-input.ts'
import { createCallProcessor } from './calls/processor.ts'
import type { WorkerConfig, WorkerDeps } from './deps.ts'
import { createFetcher } from './fetching/fetcher.ts'
import type { FetcherSettings } from './fetching/fetcher.ts'
import { serveHealth } from './health-server.ts'
import { ChunkRelays } from './calls/chunk-relay.ts'
import { createHeldCalls } from './calls/held-calls.ts'
import { createJobPlaces } from './queue-places.ts'
import type { HeldCalls } from './calls/held-calls.ts'
import { Reasoners } from './calls/reasoning.ts'
import { createPaymentProcessor } from './payments/processor.ts'
import { createWebhookProcessor } from './webhooks/processor.ts'
import { roundsAtOnce } from './webhooks/round-places.ts'
import { createMailProcessor } from './mail/processor.ts'
import { createWorkerMetrics, showWork } from './metrics.ts'
import { RECONCILE_EVERY_MS, createReconciler } from './reconciler.ts'
import { createPins } from './calls/pins.ts'
import { createResults } from './calls/results.ts'
import { createMediaStore } from './storage/create-store.ts'
import { keepKeys, noteKeys } from './key-notes.ts'
import type { KeyListener } from './upstreams/pools.ts'
import { createUpstreams } from './upstreams/registry.ts'

/** How long a stopping worker lets its calls finish before it hands them back, in ms. */
const DRAIN_MS = 25_000

/** How long handing them back may take, in ms: the process is ended after 29 s (`process.ts`). */
const HAND_BACK_MS = 2000

/** How often the reconciler's schedule is written again: a flushed Redis has forgotten it. In ms. */
const RESCHEDULE_MS = 5000

/**
 * Starts the worker process for the queues of WORKER_QUEUES. @param fetching is for tests: names that lead elsewhere.
 */
export async function startWorker(
  config: WorkerConfig,
  log: Log,
  drainMs = DRAIN_MS,
  fetching: FetcherSettings = {},
): Promise<Running> {
  const metrics = createWorkerMetrics(config)
  const telemetry = await startTelemetry(config, { process: 'worker', registry: metrics.registry, log })
  const { db, calls } = openDatabase(config, metrics.observer)
  const redis = connectPersistent(config)
  const schema = new SchemaGate(() => missingSchema(db))
  const catalogue = holdCatalogue({ db, log, secretOf: config.secretOf })
  const terminating = new AbortController()
  const health = await openHealth(config, { db, redis, schema, catalogue, terminating: terminating.signal }, metrics)
  // Before the first job is taken.
  await checkDependencies({ config, db, schema }, log)
  await catalogue.refresh()
  const held = createHeldCalls(calls, log)
  const queues = createQueues(redis, config.REDIS_PREFIX)
  const fetcher = createFetcher(fetching)
  const publisher = metrics.measureReplies(createPublisher(redis, config.REDIS_PREFIX))
  const shared = { config, log, db, calls, queues, catalogue, held, fetcher, publisher, telemetry }
  const deps = dependencies(shared, redis, metrics)
  showWork(metrics, { db, held, catalogue, upstreams: deps.upstreams })
  const keys = keepKeys({ ...shared, redis, prefix: config.REDIS_PREFIX }, deps.upstreams.pools)
  await keys.refresh()
  const subscriber = subscribe(deps)
  listenForKeys(subscriber, config.REDIS_PREFIX, keys.refreshLater)
  const queueWorkers = await takeJobs(deps, redis)
  const schedule = config.WORKER_QUEUES.includes('maintenance') ? keepScheduled(deps) : undefined
  log.info({ queues: config.WORKER_QUEUES, catalogue: catalogue.version() }, 'worker process running')

  return {
    reload: catalogue.refreshLater,
    stop: async () => {
      terminating.abort()
      clearInterval(schedule)
      await Promise.all([drain(queueWorkers, held, drainMs), health && pause(config.DRAIN_SECONDS * 1000)])
      for (const one of [held, catalogue, keys]) one.stop()
      for (const one of [health, deps.mailer]) one?.close()
      await queues.close()
      for (const one of [subscriber, redis]) one.disconnect()
      await Promise.all([deps.upstreams.close(), fetcher.close(), telemetry?.stop()])
      await db.destroy()
    },
  }
}

type Shared = Pick<
  WorkerDeps,
  'config' | 'log' | 'db' | 'calls' | 'queues' | 'catalogue' | 'held' | 'fetcher' | 'publisher' | 'telemetry'
>

/** What the processors need: what the process shares with its start and its end, and what only they use. */
const dependencies = (shared: Shared, redis: Redis, metrics: ReturnType<typeof createWorkerMetrics>): QueueDeps => {
  const { config, log, db, queues, fetcher, publisher } = shared
  return {
    ...shared,
    logError: logQueueErrors(log),
    reasoners: new Reasoners(),
    usageRefused: metrics.usageRefused,
    places: createJobPlaces(config, queues),
    answers: answerBudget(),
    upstreams: metrics.measureUpstreams(
      upstreamsBy(config, { db, log, keyNotes: noteKeys({ db, log, redis, prefix: config.REDIS_PREFIX }, metrics) }),
    ),
    pins: createPins(redis, config.REDIS_PREFIX, log),
    results: createResults(createMediaStore(config), fetcher),
    relays: new ChunkRelays(publisher),
    mailer: createMailer(config),
    audits: createAudits(redis, config.REDIS_PREFIX),
    payments: paymentsOf(config, {
      db,
      log,
      observer: metrics.payments,
      publishBalance: (account, balance) => publisher.balance(account, balance),
    }),
  }
}

/** The upstreams of a worker. That a circuit or a key has failed, or works, is noted; no call waits for it. */
const upstreamsBy = (
  { ACCOUNT_SHARE, MAX_ANSWER_BYTES }: WorkerConfig,
  { db, log, keyNotes }: { db: Db; log: Log; keyNotes: KeyListener },
) =>
  createUpstreams({
    accountShare: ACCOUNT_SHARE,
    maxAnswerBytes: MAX_ANSWER_BYTES,
    notServed: (upstream, key, err) =>
      log.error({ upstream, key, err }, 'upstream refuses its key, its credit or its model'),
    keys: keyNotes,
    listener: {
      opened: (upstream) => {
        log.warn({ upstream }, 'circuit opened')
        noteOpening(db, upstream).catch((error: unknown) => log.warn({ err: error }, 'opening of a circuit not noted'))
      },
      works: (upstream) => noteRecovery(db, upstream),
      stillWorks: (upstream) => {
        noteStillWorking(db, upstream).catch((err: unknown) => log.warn({ err }, 'recovery of an upstream not noted'))
      },
    },
  })

/** Serves the health where HEALTH_PORT is set. @throws as `listenAt`. */
const openHealth = async (
  config: WorkerConfig,
  watched: Omit<Parameters<typeof serveHealth>[2], 'prefix'>,
  { registry }: ReturnType<typeof createWorkerMetrics>,
) => {
  const { HEALTH_PORT: port, METRICS_TOKEN: token } = config
  return port === undefined
    ? undefined
    : serveHealth(config, port, { ...watched, prefix: config.REDIS_PREFIX }, { registry, token })
}

/**
 * Checks what the process needs, and waits for a Postgres or Redis that is unreachable.
 * @throws ConfigError where something must be fixed first.
 */
async function checkDependencies(needed: Needed & { config: WorkerConfig }, log: Log): Promise<void> {
  const refused = new AbortController()
  const storage = async () => {
    const warning = await checkStorage(needed.config)
    if (warning !== null) log.warn(warning)
  }
  try {
    await Promise.all([storage(), checkServices(needed, log, refused.signal).available])
  } catch (error) {
    refused.abort()
    throw error
  }
}

/** Listens for disconnected clients, followers, and new versions of the catalogue, on a connection of its own. */
function subscribe(deps: Pick<WorkerDeps, 'config' | 'held' | 'catalogue' | 'publisher'>): Redis {
  const { config, held, catalogue, publisher } = deps
  const subscriber = connectSubscriber(config)
  publisher.listen(subscriber)
  listenForCancels(subscriber, config.REDIS_PREFIX, held.cancel)
  listenForVersions(subscriber, config.REDIS_PREFIX, catalogue.refreshLater)
  return subscriber
}

/**
 * Takes no more jobs, and waits for those that run; what has not ended after `drainMs` goes back to its queue. It ends
 * HAND_BACK_MS later at the latest: a queue never closes while its connection waits to be made again
 * (github.com/taskforcesh/bullmq/issues/4656). Another worker takes what is then still active, as after a crash.
 */
async function drain(queueWorkers: readonly Worker[], held: HeldCalls, drainMs: number): Promise<void> {
  const requeue = setTimeout(() => {
    held.requeueAll()
    queueWorkers.forEach((one) => one.cancelAllJobs('shutdown'))
  }, drainMs)
  const closed = Promise.all(queueWorkers.map((one) => one.close()))
  await Promise.race([closed, pause(drainMs + HAND_BACK_MS, undefined, { ref: false })])
  clearTimeout(requeue)
}

const processors: Record<QueueName, (deps: WorkerDeps) => Processor> = {
  ...mapKinds(() => createCallProcessor),
  chat: createChatProcessor,
  mail: createMailProcessor,
  payments: createPaymentProcessor,
  webhooks: createWebhookProcessor,
  maintenance: createReconciler,
}

function concurrencyOf(name: QueueName, config: WorkerConfig): number {
  if (name === 'maintenance') return 1
  return name === 'webhooks' ? roundsAtOnce(config) : jobsAtOnce(config, name)
}

type QueueDeps = WorkerDeps & { logError: ReturnType<typeof logQueueErrors> }

function createQueueWorkers(name: QueueName, deps: QueueDeps, connection: Redis): Worker[] {
  const concurrency = concurrencyOf(name, deps.config)
  const queueWorkers = Math.min(QUEUES[name].queueWorkers, concurrency)
  return Array.from({ length: queueWorkers }, (_one, nth) =>
    createQueueWorker(name, deps, connection, Math.floor((concurrency + nth) / queueWorkers)),
  )
}

function createQueueWorker(name: QueueName, deps: QueueDeps, connection: Redis, concurrency: number): Worker {
  const worker = new Worker(name, processors[name](deps), {
    connection,
    prefix: deps.config.REDIS_PREFIX,
    concurrency,
    lockDuration: QUEUES[name].lockMs,
    stalledInterval: QUEUES[name].stalledMs,
    maxStalledCount: MAX_STALLED_COUNT,
    autorun: false,
  })
  worker.on('error', (error) => deps.logError(name, error))
  worker.on('failed', (job, error) =>
    deps.log.error(
      {
        queue: name,
        job: job?.id,
        ...traceFields(job?.data as Partial<Trace>),
        attempt: job?.attemptsMade,
        err: error,
      },
      'job failed',
    ),
  )
  return worker
}

/**
 * Takes jobs from now on: a worker that runs before its connections are set up tries that again without a pause, and
 * nothing else gets a turn. @throws what Redis answers them
 */
async function takeJobs(deps: QueueDeps, connection: Redis): Promise<Worker[]> {
  const queueWorkers = (deps.config.WORKER_QUEUES as QueueName[]).flatMap((name) =>
    createQueueWorkers(name, deps, connection),
  )
  await Promise.all(queueWorkers.map((one) => one.waitUntilReady()))
  for (const one of queueWorkers) one.run().catch(reportDefect)
  return queueWorkers
}

/** Schedules the reconciler, and again and again: the schedule lives in Redis, which may be flushed at any second. */
function keepScheduled({ queues, log }: WorkerDeps): NodeJS.Timeout {
  const put = () => {
    queues
      .queue('maintenance')
      .upsertJobScheduler('reconcile', { every: RECONCILE_EVERY_MS }, { name: 'reconcile' })
      .catch((error: unknown) => log.warn({ err: error }, 'reconciler not scheduled'))
  }
  put()
  return setInterval(put, RESCHEDULE_MS)
}

/** How often an unreachable Redis is logged, in ms: each connection of each queue tries again every second. */
const LOG_EVERY_MS = 30_000

const LOCKED_OUT = /^(WRONGPASS|NOAUTH)/

/**
 * Logs an error of a queue. That Redis is unreachable, rejects the password or refuses a command, is logged once for
 * all queues, and again every 30 s while it lasts.
 */
export function logQueueErrors(log: Log): (queue: QueueName, error: Error) => void {
  let loggedAt = Number.NEGATIVE_INFINITY
  return (queue, error) => {
    if (isRedisUnavailable(error) || isRedisRefusing(error) || LOCKED_OUT.test(error.message)) {
      if (performance.now() - loggedAt < LOG_EVERY_MS) return
      loggedAt = performance.now()
    }
    log.warn({ queue, err: error }, 'queue error')
  }
}
