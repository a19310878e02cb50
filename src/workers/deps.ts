/** What the worker process is made of. */
import type { ConfigWith } from '../shared/platform/config/config.ts'
import type { CatalogueHolder } from '../shared/catalogue/holder.ts'
import type { Db } from '../shared/platform/postgres/db.ts'
import type { Log } from '../shared/platform/process/log.ts'
import type { Queues } from '../shared/queues.ts'
import type { QUEUES } from '../shared/terms/kinds.ts'
import type { Calls } from '../shared/calls/calls.ts'
import type { Mailer } from '../shared/mail/mailer.ts'
import type { Publisher } from '../shared/replies/publisher.ts'
import type { PaymentDeps } from '../shared/payments/deps.ts'
import type { Audits } from '../shared/metrics/audits.ts'
import type { Telemetry } from '../shared/platform/telemetry/telemetry.ts'
import type { Fetcher } from './fetching/fetcher.ts'
import type { AnswerBudget } from './calls/answer-room.ts'
import type { ChunkRelays } from './calls/chunk-relay.ts'
import type { HeldCalls } from './calls/held-calls.ts'
import type { Reasoners } from './calls/reasoning.ts'
import type { JobPlaces } from './queue-places.ts'
import type { Pins } from './calls/pins.ts'
import type { Results } from './calls/results.ts'
import type { Upstreams } from './upstreams/registry.ts'

/** The configuration of a worker. */
export type WorkerConfig = ConfigWith<typeof QUEUES>

/** What the processors of a worker need. */
export type WorkerDeps = {
  config: WorkerConfig
  log: Log
  db: Db
  calls: Calls
  queues: Queues
  publisher: Publisher
  relays: ChunkRelays
  catalogue: CatalogueHolder
  held: HeldCalls
  /** Models that have reported reasoning. */
  reasoners: Reasoners
  /** Counts a reported usage that cannot be true. */
  usageRefused: (upstream: string, count: 'input' | 'output') => void
  places: JobPlaces
  fetcher: Fetcher
  /** For the answers of upstreams that are held. */
  answers: AnswerBudget
  upstreams: Upstreams
  pins: Pins
  results: Results
  mailer: Mailer
  audits: Audits
  /** null without an endpoint. */
  telemetry: Telemetry | null
  /** null without PAYMENTS. */
  payments: PaymentDeps | null
}
