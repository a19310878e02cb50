/**
 * The web process, put together: `main.ts` runs it, tests start it in process.
 */
import { randomUUID } from 'node:crypto'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Redis } from 'ioredis'
import { createKeyLookup } from '../shared/identity/key-lookup.ts'
import type { Config } from '../shared/platform/config/config.ts'
import type { Db } from '../shared/platform/postgres/db.ts'
import { reportDefect } from '../shared/platform/process/defects.ts'
import type { Log } from '../shared/platform/process/log.ts'
import { openDatabase } from '../shared/calls/calls.ts'
import { refuseStart } from '../shared/platform/process/process.ts'
import type { Running } from '../shared/platform/process/process.ts'
import { holdCatalogue, listenForVersions } from '../shared/catalogue/holder.ts'
import { prepareDummyHash } from '../shared/identity/passwords.ts'
import { createMailer } from '../shared/mail/mailer.ts'
import { createQueues } from '../shared/queues.ts'
import { connectProducer, connectSubscriber } from '../shared/platform/redis/redis.ts'
import { missingSchema } from '../../migrations/index.ts'
import { SchemaGate } from '../shared/platform/postgres/schema.ts'
import { checkServices } from '../shared/platform/process/start-up.ts'
import type { Needed } from '../shared/platform/process/start-up.ts'
import { findEnded } from '../shared/reports/call-records.ts'
import { createLongAnswers } from '../shared/replies/long-answers.ts'
import { createRefusals } from '../shared/calls/refusal-records.ts'
import { Replies } from '../shared/replies/reply-channel.ts'
import { WebProcesses } from '../shared/replies/web-processes.ts'
import { checkStorage } from '../shared/media/storage-check.ts'
import { createProviderClients } from '../shared/sign-in/provider-client.ts'
import { readProviders } from '../shared/sign-in/providers.ts'
import { promptPaymentsOf } from '../shared/payments/deps.ts'
import { createMediaReader } from '../shared/media/reader.ts'
import { startTelemetry } from '../shared/platform/telemetry/start.ts'
import { createApp } from './app.ts'
import { endpoints } from './routes.ts'
import { createGuesses } from './endpoint/password-guesses.ts'
import { longestOf } from './endpoint/declaration.ts'
import { BodyMemory, bodyBounds, formBounds } from './server/body-memory.ts'
import { MOST_FORMS } from './forms/form-file.ts'
import { LargeBodies, waitingBounds, LargeRefusals } from './endpoint/large-body-queue.ts'
import { Measuring } from './v1/audio/measuring.ts'
import { createLimits } from './endpoint/rate-limits.ts'
import { listen } from './server/listen.ts'
import { createLoad } from './server/shedding.ts'
import { createWebMetrics, showServices } from './ops/metrics.ts'
import type { WebMetrics } from './ops/metrics.ts'
import { OrderlyStop } from './server/shutdown.ts'
import { ResponseMemory, unreadBounds } from './server/response-memory.ts'
import { Quota } from './endpoint/quota.ts'
import { FairQueue } from '../shared/platform/fair-queue.ts'
import { readAnswer } from './v1/calls/read-answer.ts'
import { RelayedStreams } from './v1/calls/relayed-stream.ts'
import { UnstartedCalls } from './v1/calls/unstarted-calls.ts'

/** How long a stopping process lets waiting requests have their answer, in ms (docs/architecture.md#stopping). */
const DRAIN_MS = 25_000

/**
 * Requests that wait for a call which another request opened: each holds a connection. An account's share is small,
 * so that a few accounts cannot take every place of the process.
 */
const MAX_JOINS = { perAccount: 100, perProcess: 20_000 }

/** Requests of one account in the console that may wait while others of it are worked on. */
const MAX_WAITING = 500

/** Starts the web process. `port` is the one it listens on, where PORT was 0. */
export async function startWeb(
  config: Config,
  log: Log,
  drainMs = DRAIN_MS,
): Promise<Running & { port: number; server: Server }> {
  const metrics = createWebMetrics(config)
  const services = await connect(config, metrics, log)
  const { db, redis, queues } = services
  const subscriber = connectSubscriber(config)
  const catalogue = holdCatalogue({ db, log, secretOf: config.secretOf })
  listenForVersions(subscriber, config.REDIS_PREFIX, catalogue.refreshLater)
  const stop = new OrderlyStop(config.DRAIN_SECONDS * 1000, drainMs)
  const replies = createReplies(config, services, subscriber)
  const webProcesses = new WebProcesses(redis, config.REDIS_PREFIX, replies.address)
  const unstarted = new UnstartedCalls(db, log)
  showServices(metrics, { config, db, redis, queues, replies, catalogue })
  const load = createLoad(queues, replies, log)
  await Promise.all([prepareDummyHash(), checkDependencies({ config, ...services }, log, stop.signals.terminating)])
  await catalogue.refresh()
  const bounds = createBounds(redis, config)
  const app = createApp({
    config,
    log,
    ...services,
    recordRefusal: createRefusals(db),
    keys: createKeyLookup(db),
    replies,
    webProcesses,
    unstarted,
    catalogue,
    load,
    metrics,
    longAnswers: createLongAnswers(db, Math.ceil(config.DATABASE_POOL / 4)),
    ...bounds,
    media: createMediaReader(config),
    payments: paymentsWith(config, { db, log, replies }, metrics),
    ...stop.signals,
  })
  replies.start().catch((error: unknown) => log.error({ err: error }, 'replies not subscribed'))
  webProcesses.start(() => {
    unstarted.enqueueAgain().catch(reportDefect)
  })
  const server = await listen(app.callback(), config)
  const { port } = server.address() as AddressInfo
  log.info({ port, catalogue: catalogue.version() }, 'web process listening')

  return {
    port,
    server,
    reload: catalogue.refreshLater,
    stop: async () => {
      await stop.drain(server)
      load.stop()
      catalogue.stop()
      replies.stop()
      await webProcesses.stop()
      subscriber.disconnect()
      await Promise.all([bounds.measuring.stop(), disconnect(services)])
    },
  }
}

/** What bounds how often requests may come, and how much of the process they may hold. */
const createBounds = (redis: Redis, config: Config, longest = longestOf(endpoints, config)) => ({
  limits: createLimits(redis, config),
  guesses: createGuesses(redis, config),
  bodyMemory: new BodyMemory(bodyBounds(longest.body)),
  uploadSpace: new BodyMemory(formBounds(longest.form)),
  openForms: new Quota(MOST_FORMS),
  largeBodies: new LargeBodies(waitingBounds(longest.body)),
  largeRefusals: new LargeRefusals(redis, config),
  measuring: new Measuring(),
  responseMemory: new ResponseMemory(unreadBounds(longest.body)),
  joins: new Quota(MAX_JOINS),
  relayed: new RelayedStreams(),
  consoleQueue: new FairQueue({ perHolder: Math.max(2, Math.ceil(config.DATABASE_POOL / 4)), waiting: MAX_WAITING }),
})

/** The verbs of payments in a web process; null without PAYMENTS. */
const paymentsWith = (
  config: Config,
  { db, log, replies }: { db: Db; log: Log; replies: Replies },
  { payments: observer }: ReturnType<typeof createWebMetrics>,
) =>
  promptPaymentsOf(config, {
    db,
    log,
    observer,
    publishBalance: (account, balance) => replies.publishEvent(account, { callId: null, balance }),
  })

/** What a web process is connected to. */
async function connect(config: Config, { observer, registry }: WebMetrics, log: Log) {
  const telemetry = await startTelemetry(config, { process: 'web', registry, log })
  const redis = connectProducer(config)
  const database = openDatabase(config, observer)
  return {
    ...database,
    providers: createProviderClients(config, readProviders(config)),
    telemetry,
    schema: new SchemaGate(() => missingSchema(database.db)),
    redis,
    queues: createQueues(redis, config.REDIS_PREFIX),
    mailer: createMailer(config),
  }
}

type Services = Awaited<ReturnType<typeof connect>>

async function disconnect({ db, redis, queues, mailer, telemetry }: Services): Promise<void> {
  mailer.close()
  await queues.close()
  redis.disconnect()
  await db.destroy()
  await telemetry?.stop()
}

function createReplies(config: Config, services: Services, subscriber: Redis): Replies {
  const address = randomUUID()
  return new Replies({
    subscriber,
    publisher: services.redis,
    prefix: config.REDIS_PREFIX,
    address,
    readAnswer: readAnswer({ ...services, address }),
    findEnded: (ids) => findEnded(services.db, ids),
  })
}

/**
 * Checks what the process needs. A process that starts while Postgres or Redis is unreachable listens, answers 503, and
 * is ready once they are back.
 * @throws ConfigError if an operator must fix something first.
 */
async function checkDependencies(
  needed: Needed & { config: Config },
  log: Log,
  terminating: AbortSignal,
): Promise<void> {
  const { checked, available } = checkServices(needed, log, terminating)
  const [warning] = await Promise.all([checkStorage(needed.config), checked])
  if (warning !== null) log.warn(warning)
  available.catch((error: unknown) => {
    if (!terminating.aborted) refuseStart('web', error)
  })
}
