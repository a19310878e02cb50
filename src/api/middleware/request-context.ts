/**
 * What begins each request: its id, its one log line, and the form of its answers.
 */
import { randomUUID } from 'node:crypto'
import type { Dialect } from '../../shared/chat/dialect.ts'
import { dialectOf } from '../../shared/chat/dialect.ts'
import { isText } from '../../shared/platform/fields.ts'
import type { IncomingMessage } from 'node:http'
import type { Context, ParameterizedContext } from 'koa'
import type { z } from 'zod'
import type { LiveSession } from '../../shared/identity/sessions.ts'
import type { WebDeps } from '../deps.ts'
import type { CallId, KeyId, AccountId } from '../../shared/platform/ids.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { ErrorCode } from '../../shared/platform/errors.ts'
import { statusOf } from '../../shared/platform/errors.ts'
import type { SpanEnd } from '../../shared/platform/telemetry/telemetry.ts'
import type { Trace } from '../../shared/platform/process/trace.ts'
import { parseTraceparent } from '../../shared/platform/process/trace.ts'
import type { ErrorForm } from '../../shared/chat/definition.ts'
import { onFinished } from '../server/on-finished.ts'

/**
 * The form of errors: our own, which OpenAI's SDKs read; that of another dialect, whose clients act upon it; or the
 * console's shorter one.
 */
export type Envelope = 'gateway' | 'console' | Exclude<Dialect, 'chat'>

/** Below these paths even what does not exist is answered in the gateway's form. */
export const GATEWAY_PATHS = /^\/v1(?:beta)?(\/|$)|^\/media\//

/** The other forms in which an endpoint answers, to requests that ask for one: its query there, for the document. */
export type Forms = Partial<Record<keyof typeof ASKED_BY, { query?: z.ZodObject }>>

/** The part of an endpoint's declaration that concerns all its answers. */
export type Served = {
  path: string
  envelope?: Envelope
  forms?: Forms
  codes: ReadonlySet<ErrorCode>
  maxBodyBytes: number
}

/** What middleware and handlers know of the request they serve. */
export type RequestState = Trace & {
  /** `performance.now()` at acceptance. */
  acceptedAt: number
  /** The endpoint that serves the request. */
  endpoint?: Served
  /** The form of errors where no endpoint serves it; the console's if absent. */
  envelope?: Envelope
  principal?: { keyId: KeyId; accountId: AccountId }
  /** The principal is what was read of the key within the last second; a refusal needs a look-up first. */
  isRecentCaller?: boolean
  /** Who is logged in, on console paths. */
  session?: LiveSession
  callId?: CallId
  /** The call was charged: what happens from here on is its own record, not a refusal's. */
  opened?: boolean
  /** The body is an asset's, whose bytes all of its readers share. */
  isAsset?: boolean
  /** The answer's error code, for the log. */
  errorCode?: ErrorCode
}

/** A client's own X-Request-Id is used if it is a sane one. */
const SANE_ID = /^[\w.:+/=@-]{1,128}$/

/** The id of a request: its client's own X-Request-Id if it is a sane one, or a new one. */
export function requestIdOf({ headers: { 'x-request-id': given } }: Pick<IncomingMessage, 'headers'>): string {
  return typeof given === 'string' && SANE_ID.test(given) ? given : randomUUID()
}

/**
 * Gives every request an id, answers it as X-Request-Id, and logs and counts it when the answer was sent or cut off.
 */
export function requestContext({
  log,
  metrics,
  telemetry,
}: Pick<WebDeps, 'log' | 'metrics' | 'telemetry'>): (ctx: Context & { state: RequestState }) => void {
  return (ctx) => {
    const { traceparent } = ctx.req.headers
    const state: RequestState = {
      requestId: requestIdOf(ctx.req),
      acceptedAt: performance.now(),
      traceparent: typeof traceparent === 'string' ? parseTraceparent(traceparent) : undefined,
    }
    ctx.state = state
    const span = telemetry && !PROBES.has(ctx.path) ? telemetry.begin('server', ctx.method, state.traceparent) : null
    if (span) state.traceparent = span.traceparent
    ctx.res.setHeader('X-Request-Id', state.requestId)
    onFinished(ctx, () => {
      const facts = factsOf(ctx)
      metrics.request(facts, ctx.res.headersSent)
      log.info(logFields(ctx, facts), 'request')
      span?.end(spanEnd(ctx, facts))
    })
  }
}

/** Polled every few seconds by machines: spans of these are of no use. */
const PROBES: ReadonlySet<string> = new Set(['/healthz', '/readyz', '/metrics'])

/** What is logged of every request. */
const factsOf = (ctx: ParameterizedContext<RequestState>) => ({
  method: ctx.method,
  // The route's pattern, never the address: it may hold what must not be logged.
  route: ctx.state.endpoint?.path ?? (ctx as { _matchedRoute?: string | RegExp })._matchedRoute?.toString() ?? '(none)',
  status: ctx.res.statusCode,
  ms: performance.now() - ctx.state.acceptedAt,
})

/** In the words of OpenTelemetry's conventions for HTTP: only what we ourselves failed to do is a failure. */
const spanEnd = (
  { state, res }: ParameterizedContext<RequestState>,
  { method, route, status }: ReturnType<typeof factsOf>,
): SpanEnd => ({
  name: `${method} ${route}`,
  attributes: {
    'http.request.method': method,
    'http.route': route,
    'http.response.status_code': res.headersSent ? status : undefined,
    'tollgate.request.id': state.requestId,
    'tollgate.account': accountOf(state),
    'tollgate.call': state.callId && publicId('call', state.callId),
    'tollgate.error': state.errorCode,
    'tollgate.client_left': res.writableFinished ? undefined : true,
  },
  failure: res.headersSent && status >= 500 ? String(status) : undefined,
})

/** A field without a value is left out of the line. */
const logFields = (
  { state, res }: ParameterizedContext<RequestState>,
  { method, route, status, ms }: ReturnType<typeof factsOf>,
) => ({
  requestId: state.requestId,
  traceparent: state.traceparent,
  method,
  route,
  status,
  ms: Math.round(ms),
  account: accountOf(state),
  key: state.principal && publicId('key', state.principal.keyId),
  call: state.callId && publicId('call', state.callId),
  error: state.errorCode,
  clientLeft: res.writableFinished ? undefined : true,
})

function accountOf({ principal, session }: RequestState): string | undefined {
  const accountId = (principal ?? session)?.accountId
  return accountId && publicId('account', accountId)
}

type Request = Pick<ParameterizedContext<RequestState>, 'state' | 'get' | 'query'>

/** The keys of a request where Google's clients send them: in a header, or in the query. */
export const googleKeysIn = (ctx: Pick<Request, 'get' | 'query'>): string[] =>
  [ctx.get('x-goog-api-key'), ...[ctx.query.key].flat()].filter((key) => isText(key))

/** What asks for another form of an endpoint's answer than its own. */
const ASKED_BY = {
  gemini: (ctx: Request) => googleKeysIn(ctx).length > 0,
  messages: (ctx: Request) => ctx.get('anthropic-version') !== '',
}

/** The form of errors of a request: its endpoint's, or another one that the client asks for and can have. */
export function envelopeFor(ctx: Request): Envelope {
  const { endpoint, envelope = 'console' } = ctx.state
  if (!endpoint) return envelope
  const forms = Object.keys(endpoint.forms ?? {}) as (keyof typeof ASKED_BY)[]
  return forms.find((form) => ASKED_BY[form](ctx)) ?? endpoint.envelope ?? 'console'
}

/** Records which endpoint serves a request, and sets the id of its answer in the header that its clients read. */
export function beginAt(ctx: ParameterizedContext<RequestState>, endpoint: Served): void {
  ctx.state.endpoint = endpoint
  setRequestId(ctx)
}

/** Names the call that a request places or joins, in its headers and, if it fails, in its body. */
export function nameCall(ctx: ParameterizedContext<RequestState>, callId: CallId): void {
  ctx.state.callId = callId
  ctx.set('X-Call-Id', publicId('call', callId))
  setRequestId(ctx)
}

/** Takes the name of a call back, of which there is no record. */
export function forgetCall(ctx: ParameterizedContext<RequestState>): void {
  delete ctx.state.callId
  ctx.remove('X-Call-Id')
  setRequestId(ctx)
}

/** What clients of a dialect know a request by: its call, if there is one. */
export const requestIdIn = ({ callId, requestId }: RequestState): string =>
  callId ? publicId('call', callId) : requestId

function setRequestId(ctx: ParameterizedContext<RequestState>): void {
  const header = errorsOf(envelopeFor(ctx))?.requestIdHeader
  if (header) ctx.set(header, requestIdIn(ctx.state))
}

/** The errors of a dialect that has a form of its own; null of the gateway's and the console's forms. */
export const errorsOf = (envelope: Envelope): ErrorForm | null =>
  envelope === 'gateway' || envelope === 'console' ? null : dialectOf(envelope).errors

/** The HTTP status of a code in this form. */
export const statusIn = (envelope: Envelope, code: ErrorCode): number =>
  (errorsOf(envelope)?.statusOf ?? statusOf)(code)
