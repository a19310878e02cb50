/**
 * The metrics of a worker process. The verbs of calls are measured in `src/shared/metrics`; here are the upstreams
 * and the reply channel.
 */
import { Counter, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { CallsObserver } from '../shared/calls/statements.ts'
import type { Publisher } from '../shared/replies/publisher.ts'
import type { CatalogueHolder } from '../shared/catalogue/holder.ts'
import type { Db } from '../shared/platform/postgres/db.ts'
import { measureCalls } from '../shared/metrics/call-metrics.ts'
import type { CallMetrics } from '../shared/metrics/call-metrics.ts'
import { only, showGauge, measureCatalogue, measurePayments, measurePool } from '../shared/metrics/gauges.ts'
import type { PaymentsObserver } from '../shared/payments/deps.ts'
import { createRegistry } from '../shared/metrics/registry.ts'
import type { Watching } from '../shared/metrics/registry.ts'
import type { HeldCalls } from './calls/held-calls.ts'
import type { WorkerDeps } from './deps.ts'
import { UpstreamError } from './upstreams/adapter.ts'
import { STANDINGS } from '../shared/operators/key-states.ts'
import type { KeyListener } from './upstreams/pools.ts'
import type { Upstreams, Work } from './upstreams/registry.ts'

/** From a cached answer to a slow image, in seconds. */
const TRY_BUCKETS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]

const CIRCUIT_STATES = ['closed', 'half_open', 'open'] as const

/** The metrics of a worker process. */
export type WorkerMetrics = {
  registry: Registry
  observer: CallsObserver
  payments: PaymentsObserver
  /** Counts a reported usage that cannot be true. */
  usageRefused: WorkerDeps['usageRefused']
  /** Counts a request with a key of an upstream. */
  keyAsked: KeyListener['asked']
  /** The same upstreams, with every try counted and timed. */
  measureUpstreams: (upstreams: Upstreams) => Upstreams
  /** The same publisher, with its replies timed. */
  measureReplies: (publisher: Publisher) => Publisher
}

/** The metrics of a worker process, before it has opened anything. */
export function createWorkerMetrics(config: Watching): WorkerMetrics {
  const registry = createRegistry(config)
  const { observer, stage } = measureCalls(registry)
  return {
    registry,
    observer,
    payments: measurePayments(registry),
    usageRefused: countRefused(registry),
    keyAsked: countKeyRequests(registry),
    measureUpstreams: (upstreams) => measureUpstreams(registry, upstreams),
    measureReplies: (publisher) => measureReplies(stage, publisher),
  }
}

type Shown = { db: Db; held: HeldCalls; catalogue: CatalogueHolder; upstreams: Pick<Upstreams, 'pools'> }

/** Shows what the process has opened and holds. */
export function showWork({ registry }: WorkerMetrics, { db, held, catalogue, upstreams }: Shown): void {
  showKeys(registry, catalogue, upstreams.pools)
  measurePool(registry, db)
  measureCatalogue(registry, catalogue)
  showGauge(registry, { name: 'held_calls', help: 'Calls that this worker works on.' }, () => only(held.size()))
}

function countKeyRequests(registry: Registry): KeyListener['asked'] {
  const requests = new Counter({
    name: 'tollgate_upstream_key_requests_total',
    help: 'Requests for a chat, a picture or a task by the key that they were sent with, and how they ended.',
    labelNames: ['upstream', 'key', 'outcome'],
    registers: [registry],
  })
  return ({ upstream, key }, outcome) => requests.inc({ upstream, key, outcome })
}

function showKeys(registry: Registry, { version, current }: CatalogueHolder, pools: Upstreams['pools']): void {
  showGauge(
    registry,
    {
      name: 'upstream_key_state',
      help: `The state of a key, as this worker sees it: ${STANDINGS.map((one, at) => `${at} ${one}`).join(', ')}.`,
      labelNames: ['upstream', 'key'],
    },
    () =>
      (version() === null ? [] : current().upstreams).flatMap(({ name: upstream, keys }) =>
        keys.map(({ name: key }) => ({
          labels: { upstream, key },
          value: STANDINGS.indexOf(pools.standingOf({ upstream, key })),
        })),
      ),
  )
}

function countRefused(registry: Registry): WorkerMetrics['usageRefused'] {
  const refusals = new Counter({
    name: 'tollgate_usage_not_believed_total',
    help: 'Token counts that an upstream reported and that cannot be true: our own count took their place.',
    labelNames: ['upstream', 'count'],
    registers: [registry],
  })
  return (upstream, count) => refusals.inc({ upstream, count })
}

function measureUpstreams(registry: Registry, upstreams: Upstreams): Upstreams {
  const registers = [registry]
  const tries = new Counter({
    name: 'tollgate_upstream_tries_total',
    help: 'Requests for a chat, a picture or a task, by how they ended ("ok" or the kind of the failure).',
    labelNames: ['upstream', 'outcome'],
    registers,
  })
  const durations = new Histogram({
    name: 'tollgate_upstream_try_seconds',
    help: 'How long such a request took.',
    labelNames: ['upstream'],
    buckets: TRY_BUCKETS,
    registers,
  })
  const firstTokens = new Histogram({
    name: 'tollgate_time_to_first_token_seconds',
    help: 'How long after its request the first chunk of a streamed chat came from the upstream.',
    labelNames: ['upstream'],
    buckets: TRY_BUCKETS,
    registers,
  })
  const measured =
    <T>(work: Work<T>): Work<T> =>
    async (route, begun) => {
      const upstream = route.upstream.name
      const startedAt = performance.now()
      let outcome = 'ok'
      try {
        return await work(route, () => {
          firstTokens.observe({ upstream }, (performance.now() - startedAt) / 1000)
          begun()
        })
      } catch (error) {
        outcome = error instanceof UpstreamError ? error.kind : 'defect'
        throw error
      } finally {
        tries.inc({ upstream, outcome })
        durations.observe({ upstream }, (performance.now() - startedAt) / 1000)
      }
    }
  showHealth(registry, upstreams)
  return { ...upstreams, tryRoutes: (model, caller, work) => upstreams.tryRoutes(model, caller, measured(work)) }
}

function showHealth(registry: Registry, { health }: Pick<Upstreams, 'health'>): void {
  showGauge(
    registry,
    {
      name: 'upstream_circuit',
      help: "The state of an upstream's circuit, as this worker sees it: 1 for the one it is in.",
      labelNames: ['upstream', 'state'],
    },
    () =>
      health().flatMap(({ upstream, state: current }) =>
        CIRCUIT_STATES.map((state) => ({ labels: { upstream, state }, value: state === current ? 1 : 0 })),
      ),
  )
  showGauge(
    registry,
    {
      name: 'upstream_requests',
      help: 'Requests to an upstream: in progress, and waiting for its concurrency to let them.',
      labelNames: ['upstream', 'state'],
    },
    () =>
      health().flatMap(({ upstream, inFlight, waiting }) => [
        { labels: { upstream, state: 'in_flight' }, value: inFlight },
        { labels: { upstream, state: 'waiting' }, value: waiting },
      ]),
  )
}

function measureReplies(stage: CallMetrics['stage'], publisher: Publisher): Publisher {
  return {
    ...publisher,
    ended: async (ended) => {
      const startedAt = performance.now()
      await publisher.ended(ended)
      stage('reply', '', performance.now() - startedAt)
    },
  }
}
