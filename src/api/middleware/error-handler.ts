/**
 * The one place where an error becomes an answer, whose cause is never sent if it is a defect; and the gate that every
 * answer passes before its first byte.
 */
import { PassThrough, Readable } from 'node:stream'
import type { Context, Middleware } from 'koa'
import { ApiError, RETRY_SECONDS, gatewayError, shouldRetry } from '../../shared/platform/errors.ts'
import { isMonthMissing, isNotMigrated, isUnreachable } from '../../shared/platform/postgres/db.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import type { Log } from '../../shared/platform/process/log.ts'
import { isRedisUnavailable, isRedisRefusing } from '../../shared/platform/redis/redis.ts'
import type { SchemaGate } from '../../shared/platform/postgres/schema.ts'
import { traceFields } from '../../shared/platform/process/trace.ts'
import { envelopeFor, errorsOf, requestIdIn, statusIn } from './request-context.ts'
import { mayStillSend } from './json-body.ts'
import type { Envelope, RequestState } from './request-context.ts'
import type { ResponseMemory } from '../server/response-memory.ts'
import type { IncomingMessage } from 'node:http'

/** Whether an error means that Postgres or Redis cannot be used now, or not for this call. */
export function isServiceUnavailable(error: unknown): boolean {
  if (isUnreachable(error) || isMonthMissing(error)) return true
  return error instanceof Error && (isRedisUnavailable(error) || isRedisRefusing(error))
}

/** What a thrown thing means to the client. What is missing from a schema that was never seen whole is no defect. */
export function toApiError(error: unknown, schema: SchemaGate | undefined): ApiError {
  if (error instanceof ApiError) return error
  const isEarly = schema?.seen === false && isNotMigrated(error)
  if (isEarly || isServiceUnavailable(error)) return new ApiError('service_unavailable', { cause: error })
  return new ApiError('internal_error', { cause: error })
}

/** The log line of an error that its endpoint does not declare: the OpenAPI document does not have it. */
export const UNDECLARED = 'error not declared'

/**
 * Answers every error that is thrown below it, in the form of its request (docs/api/errors.md).
 * @param admit every other answer passes it: a refusal is an error as well
 */
export function errorHandler(log: Log, admit: Admit, schema?: SchemaGate): Middleware<RequestState> {
  return async (ctx, next) => {
    try {
      await next()
      admit(ctx as Context & { state: RequestState })
    } catch (thrown) {
      const error = toApiError(thrown, schema)
      ctx.state.errorCode = error.code
      if (error.code === 'internal_error') log.error({ ...traceFields(ctx.state), err: error.cause }, 'defect')
      else if (error.code === 'service_unavailable')
        log.warn({ ...traceFields(ctx.state), err: error.cause }, 'service unavailable')
      const { endpoint } = ctx.state
      if (endpoint && !endpoint.codes.has(error.code)) {
        log.error({ ...traceFields(ctx.state), route: endpoint.path, error: error.code }, UNDECLARED)
      }
      answerError(ctx, error)
    }
  }
}

function answerError(ctx: Context & { state: RequestState }, error: ApiError): void {
  const envelope = envelopeFor(ctx)
  ctx.status = statusIn(envelope, error.code)
  if (error.code === 'unauthorized') ctx.set('WWW-Authenticate', 'Bearer')
  ctx.set(error.headers)
  ctx.set('Cache-Control', 'no-store')
  const retryAfter =
    error.retryAfterSeconds ?? (error.status === 503 && error.code !== 'upstream_unavailable' ? RETRY_SECONDS : null)
  if (retryAfter !== null) ctx.set('Retry-After', String(retryAfter))
  if (envelope !== 'console') ctx.set('X-Should-Retry', String(shouldRetry(error.code)))
  const body = bodyIn(envelope, error, ctx.state)
  if (mayStillSend(ctx)) answerAndClose(ctx, JSON.stringify(body))
  else ctx.body = body
}

/** Answers at once, and ends the connection when its client has sent the rest. */
function answerAndClose(ctx: Context, text: string): void {
  const body = new PassThrough()
  body.write(text)
  ctx.body = body
  ctx.type = 'json'
  ctx.length = Buffer.byteLength(text)
  ctx.set('Connection', 'close')
  readAway(ctx.req)
    .then(() => body.end())
    .catch(reportDefect)
}

/** The body of an error in this form. */
function bodyIn(envelope: Envelope, error: ApiError, state: RequestState): object {
  const { code, message, param, shownAs, resetsAt, more } = error
  if (envelope === 'console') return { ok: false, error: code, message, ...more }
  const ofDialect = errorsOf(envelope)
  if (ofDialect) return ofDialect.body(error, requestIdIn(state))
  return { ok: false, error: { ...gatewayError(shownAs, message, param), ...(resetsAt !== undefined && { resetsAt }) } }
}

/** The most that is read of the rest of a body: in bytes, in ms, and in ms since its last byte. */
const MOST = { bytes: 128 * 1024 * 1024, ms: 10_000, idleMs: 2_000 }

/**
 * Reads the rest of a body that is refused before it has come, and drops it: a connection that ends while its client
 * still sends is reset, and most clients then never read the answer, but send all of it again. Resolves when the body
 * has ended, or at these limits.
 */
function readAway(req: IncomingMessage): Promise<void> {
  if (req.complete || req.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    let bytes = 0
    const onData = (chunk: Buffer): void => {
      bytes += chunk.length
      idle.refresh()
      if (bytes > MOST.bytes) end()
    }
    const end = (): void => {
      clearTimeout(idle)
      clearTimeout(whole)
      req.off('data', onData).off('end', end).off('close', end)
      resolve()
    }
    const idle = setTimeout(end, MOST.idleMs)
    const whole = setTimeout(end, MOST.ms)
    req.on('data', onData).on('end', end).on('close', end)
    req.resume()
  })
}

/** Shorter answers are not counted, in bytes. */
const UNCOUNTED_BYTES = 64 * 1024

/** What a stream that waits for its reader holds: a piece of it, the next one, and what the socket has. In bytes. */
const STREAM_BYTES = 256 * 1024

/** Headers of an answer that do not apply to the error in its place. */
const OF_ANSWER = ['Content-Disposition', 'Content-Range', 'ETag', 'Last-Modified']

/** Admits the answer of a request. @throws ApiError overloaded if too much is unread already */
type Admit = (ctx: Context & { state: RequestState }) => void

/**
 * The gate of a process. JSON becomes its text here, so that it is written once. A stream is counted by what writes it,
 * if that has taken its hold; else a holder's is counted as one that waits for its reader.
 */
export const responseGate =
  (memory: ResponseMemory): Admit =>
  (ctx) => {
    const { body } = ctx
    if (ctx.respond === false || ctx.method === 'HEAD' || body === undefined || body === null) return
    try {
      if (body instanceof Readable) {
        if (isOfHolder(ctx) && !memory.isCounted(ctx)) memory.hold(ctx).require(STREAM_BYTES)
        return
      }
      const sent = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
      const bytes = Buffer.byteLength(sent)
      const isCounted = bytes > UNCOUNTED_BYTES && !ctx.state.isAsset
      if (isCounted) memory.hold(ctx).require(bytes)
      // A socket copies what it cannot send of a text at once.
      if (typeof sent === 'string' && (isCounted || sent !== body)) ctx.body = isCounted ? Buffer.from(sent) : sent
    } catch (error) {
      if (body instanceof Readable) body.destroy()
      for (const name of OF_ANSWER) ctx.remove(name)
      throw error
    }
  }

const isOfHolder = ({ state: { principal, session } }: Context & { state: RequestState }): boolean =>
  principal !== undefined || session !== undefined
