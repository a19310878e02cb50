/**
 * What the web process is made of. Handlers take the narrow part they use.
 */
import type { Redis } from 'ioredis'
import type { KeyLookup } from '../shared/identity/key-lookup.ts'
import type { Config } from '../shared/platform/config/config.ts'
import type { CatalogueHolder } from '../shared/catalogue/holder.ts'
import type { Db } from '../shared/platform/postgres/db.ts'
import type { Log } from '../shared/platform/process/log.ts'
import type { Queues } from '../shared/queues.ts'
import type { SchemaGate } from '../shared/platform/postgres/schema.ts'
import type { Calls } from '../shared/calls/calls.ts'
import type { LongAnswers } from '../shared/replies/long-answers.ts'
import type { RecordRefusal } from '../shared/calls/refusal-records.ts'
import type { Replies } from '../shared/replies/reply-channel.ts'
import type { WebProcesses } from '../shared/replies/web-processes.ts'
import type { Guesses } from '../shared/identity/login.ts'
import type { Mailer } from '../shared/mail/mailer.ts'
import type { ProviderClients } from '../shared/sign-in/provider-client.ts'
import type { PaymentDeps } from '../shared/payments/deps.ts'
import type { Telemetry } from '../shared/platform/telemetry/telemetry.ts'
import type { MediaReader } from '../shared/media/reader.ts'
import type { BodyMemory } from './server/body-memory.ts'
import type { LargeBodies, LargeRefusals } from './endpoint/large-body-queue.ts'
import type { Measuring } from './v1/audio/measuring.ts'
import type { Limits } from './endpoint/rate-limits.ts'
import type { Load } from './server/shedding.ts'
import type { WebMetrics } from './ops/metrics.ts'
import type { ResponseMemory } from './server/response-memory.ts'
import type { Quota } from './endpoint/quota.ts'
import type { FairQueue } from '../shared/platform/fair-queue.ts'
import type { RelayedStreams } from './v1/calls/relayed-stream.ts'
import type { UnstartedCalls } from './v1/calls/unstarted-calls.ts'

/** What the routes of a web process need. */
export type WebDeps = {
  config: Config
  log: Log
  db: Db
  /** Fails fast while Redis is unreachable. */
  redis: Redis
  queues: Queues
  calls: Calls
  recordRefusal: RecordRefusal
  keys: KeyLookup
  replies: Replies
  webProcesses: WebProcesses
  /** Requests that Redis may still lose. */
  unstarted: UnstartedCalls
  /** Answers that are read from their rows piece by piece. */
  longAnswers: LongAnswers
  /** Bytes of bodies that have not come whole yet. */
  bodyMemory: BodyMemory
  /** Bytes of forms whose calls are not placed yet: their files lie on the disk. */
  uploadSpace: BodyMemory
  /** Forms that have a temporary file. */
  openForms: Quota
  /** Bodies that wait to be parsed. */
  largeBodies: LargeBodies
  /** Large bodies that were refused. */
  largeRefusals: LargeRefusals
  /** Files of sound that wait to be measured. */
  measuring: Measuring
  /** Bytes of answers that their clients have not taken yet. */
  responseMemory: ResponseMemory
  /** What has been sent on of chat streams. */
  relayed: RelayedStreams
  /** Requests that wait for a call which another request opened. */
  joins: Quota
  /** Of the requests of people in the console. */
  consoleQueue: FairQueue
  catalogue: CatalogueHolder
  limits: Limits
  /** At the passwords of addresses. */
  guesses: Guesses
  load: Load
  metrics: WebMetrics
  /** null without an endpoint. */
  telemetry: Telemetry | null
  /** For test mails alone: all others go through the outbox. */
  mailer: Mailer
  media: MediaReader
  /** At which people can sign in. */
  providers: ProviderClients
  /** null without PAYMENTS. */
  payments: PaymentDeps | null
  /** Whether the database has been migrated far enough. */
  schema: SchemaGate
  /** Aborts when the process is asked to stop: it still serves, but reports that it is not ready. */
  terminating: AbortSignal
  /** Aborts when the process takes no more connections: answers from now on close theirs. */
  draining: AbortSignal
  /** Aborts when a stopping process must answer what still waits. */
  stopping: AbortSignal
}
