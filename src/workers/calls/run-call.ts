/** One run of a call's job and its outcome, which the call processor turns into a verb. */
import type { CallTry, SessionUse, Tried } from '../../shared/calls/tries.ts'
import type { Written } from '../../shared/chat/written-request.ts'
import type { BegunCall, Settlement } from '../../shared/calls/types.ts'
import { dialectOf } from '../../shared/chat/dialect.ts'
import type { Route } from '../../shared/catalogue/catalogue.ts'
import type { GatewayError } from '../../shared/platform/errors.ts'
import { RETRY_SECONDS, SUCCESS, gatewayError } from '../../shared/platform/errors.ts'
import { failpoint } from '../../shared/platform/process/failpoints.ts'
import { publicId } from '../../shared/platform/ids.ts'
import { readUpload } from '../../shared/requests/uploads.ts'
import type { CallJob } from '../../shared/queues.ts'
import { traceFields } from '../../shared/platform/process/trace.ts'
import { KINDS } from '../../shared/terms/kinds.ts'
import type { SpanAttributes, Telemetry } from '../../shared/platform/telemetry/telemetry.ts'
import type { WorkerDeps } from '../deps.ts'
import { FetchFailed } from '../fetching/failure.ts'
import { MediaRefused } from '../storage/refused.ts'
import type { CustomersFault } from '../upstreams/adapter.ts'
import { NOT_ACCEPTED, NoKey, UpstreamError } from '../upstreams/adapter.ts'
import { storedWords } from '../upstreams/quoted-words.ts'
import type { AnswerRoom } from './answer-room.ts'
import type { HeldCall } from './held-calls.ts'
import { expectedMicroUsd, failureMicroUsd } from './costs.ts'
import type { Spending } from './costs.ts'
import type { UpstreamFile } from '../upstreams/multipart.ts'
import type { UsageBounds } from '../upstreams/trusted-usage.ts'

/** What a runner gets. */
export type Run = {
  call: BegunCall
  job: CallJob
  /** Its request as it was written, where that is known. */
  written: Written | undefined
  /** By which others in this process end it. */
  held: HeldCall
  /** Ends the work, with a reason of `held-calls.ts`: deadline, shutdown, or a disconnected client of a stream. */
  signal: AbortSignal
  /** Whether an upstream may have the request: what was certainly not sent can be handed to another worker. */
  maybeSent: boolean
  /** The upstream of its last try, and the key of it; null if none was tried. */
  upstream: string | null
  key: string | null
  /** Its tries so far, oldest first. */
  tries: CallTry[]
  /** How its session was served; absent without one, and until its answer begins. */
  session?: SessionUse
  /** Whether an answer has begun that its reader gets as it comes. */
  hasBegun: boolean
  /** What its upstream can have used. */
  bounds: UsageBounds
  /** What its tries have cost so far. */
  spent: Spending
  /** What it holds of its upstreams' answers. */
  room: AnswerRoom
  /** The trace context of what it does now. */
  traceparent: string | undefined
  telemetry: Telemetry | null
}

/** The fields of a log line about a run's call. */
export const aboutRun = ({ call, job }: Pick<Run, 'call' | 'job'>) => ({
  call: publicId('call', call.id),
  ...traceFields(job),
  attempt: call.attempt,
})

/** On whose behalf its upstreams are asked, and what it is expected to cost at each. */
export const callerOf = ({ call, signal, job }: Run) => ({
  account: call.accountId,
  signal,
  costOf: (route: Route) => expectedMicroUsd(route, call.estimate, job.request),
})

/**
 * Whether a call can be handed back as one that this run has not sent. If an earlier run may have sent it, only a call
 * that may be resent is.
 */
export const isUnsent = ({ call, maybeSent }: Run): boolean =>
  !maybeSent && !call.upstreamRef && (!call.resumed || !KINDS[call.modality].isSentOnce)

/** The files of the form that a call came as, for its upstreams; absent if it was none. */
export const filesOf = ({ db }: Pick<WorkerDeps, 'db'>, { call, job }: Run): UpstreamFile[] | undefined =>
  job.files?.map((file) => ({ ...file, open: () => readUpload(db, call.id, file) }))

/** What every upstream of a run is asked with. The answer to a cancellation is of no use, and takes no room. */
export const contextOf = (
  route: Route,
  { call, signal, traceparent, room }: Pick<Run, 'call' | 'signal' | 'traceparent'> & Partial<Pick<Run, 'room'>>,
) => ({ route, signal, callId: publicId('call', call.id), traceparent, ...(room && { room }) })

/** How the work on a call ended. */
export type Outcome =
  | { is: 'settled'; settlement: Settlement }
  | ({ is: 'failed'; error: GatewayError; costMicroUsd?: number | null; upstream?: string | null } & Tried)
  /** A submitted task runs on: poll it again after `againAfterMs`, without holding a place meanwhile. */
  | { is: 'pending'; againAfterMs: number }
  /** The call ended, or another attempt took it, while this one worked. */
  | { is: 'lost' }

/** The settlement of a call at its charge, with nothing stored, but for what `more` has. */
export const settlementOf = ({ call, spent, upstream }: Run, more: Partial<Settlement> = {}): Settlement => ({
  cost: call.charged,
  tokens: null,
  costMicroUsd: spent.total,
  upstream,
  resultUrl: null,
  output: '',
  ...more,
})

/**
 * Sends something to a route's upstream on behalf of a run. From then on the upstream may have the request, unless the
 * failure proves that it has not.
 * @param attributesOf the attributes of its span that describe the answer
 */
export async function sendTo<T>(
  run: Run,
  route: Route,
  send: () => Promise<T>,
  attributesOf?: (answer: T) => SpanAttributes,
): Promise<T> {
  run.maybeSent = true
  run.upstream = route.upstream.name
  run.key = route.upstream.key
  const sentAt = Date.now()
  failpoint('upstream.sending', run.call.id)
  try {
    const answer = await inSpan(run, route, KINDS[run.call.modality].operation, send, attributesOf)
    failpoint('upstream.answered', run.call.id)
    run.tries.push(tryOf(run, route, sentAt, null))
    return answer
  } catch (error) {
    run.tries.push(tryOf(run, route, sentAt, error))
    run.room.release()
    run.spent.add(failureMicroUsd(route, error, run.bounds))
    if (error instanceof UpstreamError && NOT_ACCEPTED.has(error.kind)) run.maybeSent = false
    throw error
  }
}

/** A try as it is stored. */
const tryOf = ({ job }: Run, route: Route, sentAt: number, error: unknown): CallTry => ({
  upstream: route.upstream.name,
  key: route.upstream.key,
  status: error === null ? SUCCESS : error instanceof UpstreamError ? error.status : null,
  error: error === null ? null : storedWords(error, route, job.request),
  ms: Date.now() - sentAt,
  at: new Date(sentAt).toISOString(),
})

/** Asks an upstream something, as a span with the attributes of OpenTelemetry's conventions for generative AI. */
export function inSpan<T>(
  run: Run,
  route: Route,
  operation: string,
  ask: () => Promise<T>,
  attributesOf?: (answer: T) => SpanAttributes,
): Promise<T> {
  return run.telemetry ? askInSpan(run.telemetry, run, route, operation, ask, attributesOf) : ask()
}

async function askInSpan<T>(
  telemetry: Telemetry,
  run: Run,
  { upstream, model }: Route,
  operation: string,
  ask: () => Promise<T>,
  attributesOf: ((answer: T) => SpanAttributes) | undefined,
): Promise<T> {
  const outside = run.traceparent
  const { hostname, port } = new URL(upstream.baseUrl)
  const span = telemetry.begin('client', `${operation} ${model}`, outside, {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': upstream.protocol,
    'gen_ai.request.model': model,
    'server.address': hostname,
    'server.port': port === '' ? undefined : Number(port),
    'tollgate.upstream': upstream.name,
  })
  run.traceparent = span.traceparent
  try {
    const answer = await ask()
    span.end({ attributes: attributesOf?.(answer) ?? {} })
    return answer
  } catch (error) {
    const isFailure = error instanceof UpstreamError
    span.end({
      attributes: { 'http.response.status_code': (isFailure && error.status) || undefined },
      failure: isFailure ? error.kind : 'internal_error',
    })
    throw error
  } finally {
    run.traceparent = outside
  }
}

/** Whether a failure is about the file that an upstream has made. */
const isAboutFile = (error: unknown): boolean =>
  error instanceof UpstreamError && (error.cause instanceof FetchFailed || error.cause instanceof MediaRefused)

const FAULTS: Record<CustomersFault, string> = {
  context_length_exceeded: 'The prompt is too long for this model: shorten the messages, or ask for fewer tokens.',
  content_policy: 'The content of this request is not served: the provider of this model refused it.',
}

/**
 * The public end of a call that failed at its upstream. Where the customer can fix it: in the upstream's words, if it
 * speaks the dialect of the call, else in our own. Only chats get the error that they are too long.
 */
export function failedAt(
  error: UpstreamError,
  { call: { modality }, job: { dialect } }: Pick<Run, 'call' | 'job'>,
): Outcome {
  const { fault, quoted } = error
  if (quoted !== null) return { is: 'failed', error: gatewayError(fault ?? 'upstream_refused', quoted) }
  if (fault !== null && (fault !== 'context_length_exceeded' || modality === 'chat'))
    return { is: 'failed', error: gatewayError(fault, `${FAULTS[fault]} ${REFUNDED}`) }
  const sentence = describeFailure(error)
  if (error instanceof NoKey) return unavailable(error, sentence)
  return dialectOf(dialect).reportsFailures
    ? (mayPass(error, sentence) ?? upstreamFailure(sentence))
    : upstreamFailure(sentence)
}

/** The end of a call that no key of an upstream takes now. */
function unavailable({ readyInMs }: NoKey, sentence: string): Outcome {
  const retryAfterSeconds = Math.max(1, Math.ceil((readyInMs ?? RETRY_SECONDS * 1000) / 1000))
  const error = gatewayError('upstream_unavailable', `${sentence} ${REFUNDED}`)
  return { is: 'failed', error: { ...error, retryAfterSeconds } }
}

/** The end of a call for which its upstream had no room; null of any other. */
function mayPass({ kind, retryAfterMs }: UpstreamError, sentence: string): Outcome | null {
  const code = kind === 'rate_limited' ? 'upstream_rate_limited' : kind === 'overloaded' ? 'upstream_overloaded' : null
  if (code === null) return null
  const retryAfterSeconds = Math.max(RETRY_SECONDS, Math.ceil((retryAfterMs ?? 0) / 1000))
  return { is: 'failed', error: { ...gatewayError(code, `${sentence} ${REFUNDED}`), retryAfterSeconds } }
}

const REFUNDED = 'The credits charged for this call were refunded.'

/** The public end of a call that its upstream failed, in words of our own: an upstream's may quote anything. */
export function upstreamFailure(sentence: string): Outcome {
  return { is: 'failed', error: gatewayError('upstream_failed', `${sentence} ${REFUNDED}`) }
}

/** The public sentence about an upstream's failure. */
function describeFailure(error: UpstreamError): string {
  if (error instanceof NoKey && error.cause === undefined) return 'No upstream of this model takes requests now.'
  // Messages about files are public by their class.
  if (isAboutFile(error)) return error.message
  const status = error.status === null ? '' : ` (HTTP ${error.status})`
  switch (error.kind) {
    case 'not_sent':
      return 'The upstream could not be reached.'
    case 'rate_limited':
      return `The upstream is rate-limiting us${status}.`
    case 'overloaded':
      return `The upstream is overloaded${status}.`
    case 'not_served':
    case 'rejected':
      return `The upstream refused the request${status}.`
    case 'unknown':
    case 'late':
    case 'aborted':
      return `The upstream failed${status}.`
  }
}
