/**
 * GET /metrics of the web process, for Prometheus: its own requests and charges, and what all processes share (queues,
 * mails, the last audit of the books).
 */
import type { Redis } from 'ioredis'
import { Counter, Histogram } from 'prom-client'
import type { Registry } from 'prom-client'
import type { CallsObserver } from '../../shared/calls/statements.ts'
import type { Replies } from '../../shared/replies/reply-channel.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import type { CatalogueHolder } from '../../shared/catalogue/holder.ts'
import type { Config } from '../../shared/platform/config/config.ts'
import type { Db } from '../../shared/platform/postgres/db.ts'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import { createAudits, measureAudits } from '../../shared/metrics/audits.ts'
import { measureBacklog } from '../../shared/metrics/backlog.ts'
import { measureCalls } from '../../shared/metrics/call-metrics.ts'
import { only, showGauge, measureCatalogue, measurePayments, measurePool } from '../../shared/metrics/gauges.ts'
import type { PaymentsObserver } from '../../shared/payments/deps.ts'
import { createRegistry } from '../../shared/metrics/registry.ts'
import type { Watching } from '../../shared/metrics/registry.ts'
import type { Queues } from '../../shared/queues.ts'

/** From a probe's millisecond to a waiting video's hour, in seconds. */
const REQUEST_BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600]

/** The metrics of a web process. */
export type WebMetrics = {
  registry: Registry
  observer: CallsObserver
  payments: PaymentsObserver
  /** A request is over. `hasAnswer` is false if its client disconnected before an answer began. */
  request: (about: { method: string; route: string; status: number; ms: number }, hasAnswer: boolean) => void
  /** A call was refused before any charge. */
  refused: (modality: Modality, error: ErrorCode) => void
}

/** The metrics of a web process, before it has opened anything. */
export function createWebMetrics(config: Watching): WebMetrics {
  const registry = createRegistry(config)
  const registers = [registry]
  const requests = new Counter({
    name: 'tollgate_http_requests_total',
    help: 'Requests, by the pattern of their route; status "left": the client was gone before an answer began.',
    labelNames: ['method', 'route', 'status'],
    registers,
  })
  const durations = new Histogram({
    name: 'tollgate_http_request_seconds',
    help: 'How long requests took until their answer had gone.',
    labelNames: ['route'],
    buckets: REQUEST_BUCKETS,
    registers,
  })
  const refusals = new Counter({
    name: 'tollgate_calls_refused_total',
    help: 'Calls that were refused after their key was accepted, before any charge.',
    labelNames: ['modality', 'error'],
    registers,
  })
  return {
    registry,
    observer: measureCalls(registry).observer,
    payments: measurePayments(registry),
    request: ({ method, route, status, ms }, hasAnswer) => {
      requests.inc({ method, route, status: hasAnswer ? status : 'left' })
      durations.observe({ route }, ms / 1000)
    },
    refused: (modality, error) => refusals.inc({ modality, error }),
  }
}

/** What a web process has opened, as far as it is shown. */
type Services = {
  config: Pick<Config, 'REDIS_PREFIX'>
  db: Db
  redis: Redis
  queues: Queues
  replies: Pick<Replies, 'waiting'>
  catalogue: Pick<CatalogueHolder, 'version'>
}

/** Shows what the process has opened, and what all processes share. */
export function showServices(
  { registry }: WebMetrics,
  { config, db, redis, queues, replies, catalogue }: Services,
): void {
  measurePool(registry, db)
  measureCatalogue(registry, catalogue)
  measureBacklog(registry, { db, queues })
  measureAudits(registry, createAudits(redis, config.REDIS_PREFIX))
  showGauge(
    registry,
    { name: 'waiting_requests', help: 'Calls whose answer somebody waits for in this process.' },
    () => only(replies.waiting()),
  )
}
