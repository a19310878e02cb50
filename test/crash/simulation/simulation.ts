import type { Processor } from 'bullmq'
import type { Config } from '../../../src/shared/platform/config/config.ts'
import type { Catalogue, Model, Upstream as UpstreamEntry } from '../../../src/shared/catalogue/catalogue.ts'
import type { CatalogueHolder } from '../../../src/shared/catalogue/holder.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { AccountId, CallId } from '../../../src/shared/platform/ids.ts'
import type { CallJob } from '../../../src/shared/queues.ts'
import { isLeftToReader } from '../../../src/shared/queues.ts'
import { sweepUploads } from '../../../src/shared/requests/uploads.ts'
import { WHOLE_PRICE, shareOf } from '../../../src/shared/terms/pricing.ts'
import { createLog } from '../../../src/shared/platform/process/log.ts'
import type { Calls } from '../../../src/shared/calls/calls.ts'
import { ChunkRelays } from '../../../src/workers/calls/chunk-relay.ts'
import { createPublisher, listenForCancels } from '../../../src/shared/replies/publisher.ts'
import { findEnded } from '../../../src/shared/reports/call-records.ts'
import { Quota } from '../../../src/api/endpoint/quota.ts'
import { RelayedStreams } from '../../../src/api/v1/calls/relayed-stream.ts'
import { UnstartedCalls } from '../../../src/api/v1/calls/unstarted-calls.ts'
import { Replies } from '../../../src/shared/replies/reply-channel.ts'
import { readAnswer } from '../../../src/api/v1/calls/read-answer.ts'
import { createCallProcessor } from '../../../src/workers/calls/processor.ts'
import type { WorkerDeps } from '../../../src/workers/deps.ts'
import { createFetcher } from '../../../src/workers/fetching/fetcher.ts'
import { createHeldCalls } from '../../../src/workers/calls/held-calls.ts'
import { Reasoners } from '../../../src/workers/calls/reasoning.ts'
import { reconcileCalls } from '../../../src/workers/reconciler.ts'
import type { Results } from '../../../src/workers/calls/results.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'
import { Process, Scheduler } from '../../support/faults.ts'
import { Dispatch } from './dispatch.ts'
import { Upstream } from './upstream.ts'
import { callsOf } from './verbs.ts'
import type { Refunder } from './verbs.ts'
import { Wire } from './wire.ts'
import { IMAGE, PRICES, VIDEO, upstreamWith } from './prices.ts'
import type { Prices } from './prices.ts'

/** Open calls that one account may have in a simulation: few, so that the bound is reached. */
export const MAX_OUTSTANDING = 5

/** The group that some accounts are in. Nearly a third would hide whoever rounds twice. */
export const GROUP = { name: 'partner', priceBasisPoints: 7001 }

/** MAX_ANSWER_BYTES of a simulation: little, so that streams are cut. */
export const LONGEST_ANSWER = 300

/** Whole-call deadline of every model, in seconds, after which nothing of a killed process is left. */
const DEADLINE_SECONDS = 8

const config = {
  APP_SECRET: 'a secret of the tests, long enough for it',
  BASE_URL: 'http://gateway.test',
  RESULT_TTL_SECONDS: 3600,
  REDIS_PREFIX: 'simulation',
  MAX_ANSWER_BYTES: LONGEST_ANSWER,
  LONG_CALL_REPLY: 'wait',
  // Less than what is asked for, so that it is lowered to what an account can pay.
  MIN_OUTPUT_TOKENS: 5,
  MAX_OUTSTANDING_CALLS: MAX_OUTSTANDING,
  LONG_CALL_AFTER_SECONDS: 20,
} as Config

const limits = { resultSeconds: config.RESULT_TTL_SECONDS, maxOutstanding: MAX_OUTSTANDING }

const log = createLog('silent', 'worker')

// Opens nothing before it fetches, which no model of a simulation asks for.
const fetcher = createFetcher()

export type Web = {
  process: Process
  calls: Calls
  replies: Replies
  deps: {
    config: Config
    catalogue: Pick<CatalogueHolder, 'current'>
    db: Db
    calls: Calls
    replies: Replies
    joins: Quota
    relayed: RelayedStreams
    queues: WorkerDeps['queues']
    load: { admit: () => void; stop: () => void }
    log: typeof log
    stopping: AbortSignal
  }
}
export type Worker = { process: Process; deps: WorkerDeps; processor: Processor<CallJob>; isStopping: boolean }

/**
 * A whole Tollgate inside this process, over a real Postgres. Its queue, its pub/sub and its upstream behave as badly
 * as they may.
 */
export class Simulation {
  readonly db: Db
  readonly turns: Scheduler
  readonly dispatch: Dispatch
  readonly wire = new Wire()
  readonly upstream: Upstream
  readonly lost = new Map<CallId, number>()
  readonly settledBy = new Map<CallId, Process>()
  readonly refundedBy = new Map<CallId, Refunder>()
  /** Fails once the simulation has ended. */
  readonly over: Promise<never>
  readonly webs: Web[] = []
  readonly workers: Worker[] = []
  /** Prices by model; see `changePrices`. */
  prices = PRICES
  /** Counts the changes of the prices. */
  catalogueVersion = 1
  private readonly versions = new Map<number, Catalogue>()
  private readonly name: string
  private readonly upstreamEntry: UpstreamEntry
  private processes = 0
  private setOver: (why: Error) => void = () => {}

  /** @param keys how many keys the upstream has */
  constructor(db: Db, name: string, keys = 1) {
    this.db = db
    this.name = name
    this.upstreamEntry = upstreamWith(keys)
    this.turns = new Scheduler(db)
    this.dispatch = new Dispatch(this.turns)
    this.upstream = new Upstream(this.turns)
    this.over = new Promise((_resolve, reject) => (this.setOver = reject))
    this.over.catch(() => {})
  }

  /** What an account of a group (null: of none) pays at this moment, by model. */
  pricesFor(group: string | null): Prices {
    const points = group === null ? WHOLE_PRICE : GROUP.priceBasisPoints
    return Object.fromEntries(
      Object.entries(this.prices).map(([model, price]) => [model, shareOf(price, points)]),
    ) as Prices
  }

  /** Makes everything dearer, as an operator does: in a new version of the catalogue. */
  changePrices(): void {
    const { chat, dear, image, video, embedding, moderation, rerank, speech, transcription } = this.prices
    this.prices = {
      chat: { ...chat, output: chat.output + 1000 },
      dear: { ...dear, input: dear.input + 500 },
      image: { prices: image.prices.map((one, at) => (at === 1 ? { ...one, credits: one.credits + 7 } : one)) },
      video: { prices: video.prices.map((one, at) => (at === 1 ? { ...one, perSecond: one.perSecond + 3 } : one)) },
      embedding: { ...embedding, input: embedding.input + 1 },
      moderation: { credits: moderation.credits + 5 },
      rerank: { perSearch: rerank.perSearch + 5 },
      speech: { ...speech, perCharacter: speech.perCharacter + 1 },
      transcription: { prices: transcription.prices.map(({ perSecond }) => ({ perSecond: perSecond + 1 })) },
    }
    this.catalogueVersion += 1
  }

  /** The catalogue at this moment: one object for each version of it. */
  catalogue(): Catalogue {
    const known = this.versions.get(this.catalogueVersion)
    if (known) return known
    const routes = [{ upstream: this.upstreamEntry, model: 'm', rename: {}, drop: [], set: {}, allow: [] }]
    const version = this.catalogueVersion
    const common = { version, enabled: true, timeoutSeconds: DEADLINE_SECONDS, upstreams: [], routes }
    const { chat, dear, image, video, embedding, moderation, rerank, speech, transcription } = this.prices
    const models: Model[] = [
      { ...common, id: 'chat', modality: 'chat', pricing: chat, price: chat },
      { ...common, id: 'dear', modality: 'chat', pricing: dear, price: dear },
      { ...common, id: 'image', modality: 'image', ...IMAGE, ...image, price: image },
      { ...common, id: 'video', modality: 'video', ...VIDEO, ...video, price: video },
      { ...common, id: 'embedding', modality: 'embedding', pricing: embedding, price: embedding },
      { ...common, id: 'moderation', modality: 'moderation', ...moderation, price: moderation },
      { ...common, id: 'rerank', modality: 'rerank', pricing: rerank, price: rerank },
      { ...common, id: 'speech', modality: 'speech', pricing: speech, price: speech },
      { ...common, id: 'transcription', modality: 'transcription', ...transcription, price: transcription },
    ]
    const offer = { version, createdAt: 1, creditMicroUsd: null, models: new Map(models.map((one) => [one.id, one])) }
    const ofGroup = models.map((one) => ({ ...one, price: shareOf(one.price, GROUP.priceBasisPoints) }) as Model)
    const group = { offer: { ...offer, models: new Map(ofGroup.map((one) => [one.id, one])) } }
    const catalogue = {
      ...offer,
      groups: new Map([[GROUP.name, group]]),
      upstreams: [this.upstreamEntry],
      pools: new Map(),
      packs: [],
      topUp: null,
      refused: [],
    }
    this.versions.set(version, catalogue)
    return catalogue
  }

  /** Starts a web process. */
  async addWeb(): Promise<Web> {
    const process = new Process(`web-${++this.processes}`)
    const calls = callsOf(this.db, this.turns, process, limits, this)
    const queues = this.queuesOf(process)
    const address = `${this.name}-${process.name}`
    const replies = new Replies({
      subscriber: this.wire.subscriberOf(process),
      publisher: this.wire.publisherOf(process),
      prefix: config.REDIS_PREFIX,
      address,
      readAnswer: readAnswer({ db: this.db, calls, queues, address }),
      findEnded: (ids) => findEnded(this.db, ids),
    })
    await replies.start()
    const deps = {
      config,
      catalogue: { current: () => this.catalogue() },
      db: this.db,
      calls,
      replies,
      unstarted: new UnstartedCalls(this.db, log),
      joins: new Quota({ perAccount: 1_000_000, perProcess: 1_000_000 }),
      queues,
      relayed: new RelayedStreams(),
      log,
      load: { admit: () => {}, stop: () => {} },
      stopping: new AbortController().signal,
    }
    const web = { process, calls, replies, deps }
    this.webs.push(web)
    return web
  }

  /** Starts a worker process. */
  async addWorker(): Promise<Worker> {
    const process = new Process(`worker-${++this.processes}`)
    const calls = callsOf(this.db, this.turns, process, limits, this)
    const held = createHeldCalls(calls, log)
    const catalogue: CatalogueHolder = {
      current: () => this.catalogue(),
      at: async (version) => (version === null ? undefined : this.versions.get(version)) ?? this.catalogue(),
      version: () => this.catalogueVersion,
      refresh: async () => {},
      refreshLater: () => {},
      stop: () => {},
    }
    const adapter = this.upstream.adapterOf(process)
    const upstreams = createUpstreams({
      accountShare: 1,
      breaker: { failures: 1e9, coolDownMs: 1, stillWorksMs: Infinity },
      backoffMs: 0,
    })
    const publisher = createPublisher(this.wire.publisherOf(process), config.REDIS_PREFIX)
    const deps: WorkerDeps = {
      fetcher,
      config,
      log,
      db: this.db,
      calls,
      queues: this.queuesOf(process),
      catalogue,
      held,
      reasoners: new Reasoners(),
      usageRefused: () => {},
      // What one account may have of a process is not what is played here.
      places: { within: (_job, _token, work) => work() } satisfies WorkerDeps['places'],
      upstreams: {
        ...upstreams,
        adapterOf: () => adapter,
        adapterFor: (_route, modality) => adapter[modality]!,
      } satisfies WorkerDeps['upstreams'],
      results: {
        keep: ({ kind, name }) => this.turns.effect(process, 'keep', () => name(kind === 'image' ? 'png' : 'mp4')),
        remove: async () => {},
        sweep: async () => 0,
      } satisfies Results,
      publisher,
      relays: new ChunkRelays(publisher),
    } as unknown as WorkerDeps
    listenForCancels(this.wire.subscriberOf(process), config.REDIS_PREFIX, held.cancel)
    const processor = createCallProcessor(deps) as Processor<CallJob>
    const worker = { process, deps, processor, isStopping: false }
    this.workers.push(worker)
    return worker
  }

  private queuesOf(process: Process): WorkerDeps['queues'] {
    const redis = this.wire.publisherOf(process)
    return {
      ...this.dispatch.queuesOf(process),
      isLeftToReader: (id, replyTo) =>
        this.turns.effect(process, `leave ${id} to its reader`, () =>
          isLeftToReader(redis, config.REDIS_PREFIX, id, replyTo),
        ),
    }
  }

  /** Redis loses everything. */
  flush(): void {
    this.dispatch.flush()
    this.wire.flush()
  }

  /** Those that live. */
  liveWebs(): Web[] {
    return this.webs.filter(({ process }) => process.alive)
  }

  /** Those that live and were not asked to stop. */
  liveWorkers(): Worker[] {
    return this.workers.filter(({ process, isStopping }) => process.alive && !isStopping)
  }

  /** Has a worker hand back what it works on. */
  stopWorker(worker: Worker | undefined): void {
    if (!worker) return
    worker.isStopping = true
    worker.deps.held.requeueAll()
  }

  /** Gives a job to a worker. */
  deliver(id: CallId, worker: Worker): void {
    this.dispatch.deliver(id, worker.process, worker.processor)
  }

  /** Begins a run of the reconciler in a worker: it sees to calls, and then to files that were left behind. */
  reconcile({ deps, process }: Worker): void {
    reconcileCalls(deps)
      .then(() => this.turns.effect(process, 'sweep uploads', () => sweepUploads(this.db)))
      .catch((error: unknown) => this.dispatch.defects.push(error))
  }

  /** Lets so many seconds pass for the open calls of accounts: leases expire, and deadlines if that is wanted. */
  async pass(accounts: readonly AccountId[], seconds: number, deadlines: boolean): Promise<void> {
    this.dispatch.pass(seconds)
    await this.db.raw(
      `
      UPDATE calls SET lease_until = lease_until - make_interval(secs => ?),
        deadline_at = deadline_at - make_interval(secs => ?)
      WHERE account_id = ANY (?::uuid[]) AND status IN ('queued', 'running')`,
      [seconds, deadlines ? seconds : 0, [...accounts]],
    )
  }

  /** Ends every process. */
  async end(): Promise<void> {
    for (const { deps } of this.workers) deps.held.stop()
    for (const { replies } of this.webs) replies.stop()
    for (const { process } of [...this.webs, ...this.workers]) process.alive = false
    this.setOver(new Error('the simulation has ended'))
    await this.turns.rest()
  }
}
