/**
 * How a placed call is answered: when it ends, after a time, or at once (docs/api/calls.md#waiting).
 */
import { PassThrough } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Context } from 'koa'
import { ApiError, gatewayError } from '../../../shared/platform/errors.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { reportDefect } from '../../../shared/platform/process/defects.ts'
import { failpoint } from '../../../shared/platform/process/failpoints.ts'
import type { Answer, LongAnswer } from '../../../shared/calls/stored-answers.ts'
import { traceFields } from '../../../shared/platform/process/trace.ts'
import type { WebDeps } from '../../deps.ts'
import { onFinished } from '../../server/on-finished.ts'
import type { Hold } from '../../server/response-memory.ts'
import type { BodyDeps, SendAnswer } from './answer-body.ts'
import { bodyOf, sendAnswer } from './answer-body.ts'
import type { CallContext, PlacedCall } from './placed-call.ts'
import { preferencesOf } from './call-headers.ts'

/** What answering a call needs. */
export type AnswerDeps = Pick<WebDeps, 'config' | 'db' | 'calls' | 'queues' | 'replies' | 'stopping' | 'log'> & BodyDeps

/** A long answer is kept alive by a byte this often, in ms: routers cut a connection that is silent for 30 to 60 s. */
export const HEARTBEAT_MS = 15_000

/** What ends a wait: the call's end, the client's patience, the client itself, or this process. */
type WaitOutcome =
  | { is: 'answered'; answer: Answer | LongAnswer }
  | { is: 'late' }
  | { is: 'disconnected' }
  | { is: 'stopping' }

/** How long the client waits, in ms, and what it gets then. */
type Patience = { ms: number; afterwards: 'accepted' | 'heartbeat'; preference: string | null }

/**
 * Waits for a placed call and answers in the form that the client prefers. A client that disconnects does not end its
 * call.
 * @param how `isStored`: whether the answer can be fetched later; else its client has to wait in any case.
 * `send` sends what is no JSON, before which no sign of life may come.
 */
export async function answerWhenDone(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  { isStored = true, send }: { isStored?: boolean; send?: SendAnswer } = {},
): Promise<void> {
  const patience = patienceOf(ctx, deps.config, isStored, send === undefined)
  const outcome = await waitOutcome(ctx, placed, patience, deps.stopping)
  switch (outcome.is) {
    case 'answered':
      failpoint('call.answering', placed.callId)
      joinableIfLeft(ctx, deps, placed.callId)
      return deliver(ctx, deps, placed, outcome.answer, send)
    case 'disconnected':
      return handleDisconnect(ctx, deps, placed)
    case 'late':
      if (patience!.afterwards === 'heartbeat') return keepAlive(ctx, deps, placed)
      joinableIfLeft(ctx, deps, placed.callId)
      return answerAccepted(ctx, placed, patience!.preference)
    case 'stopping':
      return answerStopping(ctx, deps, placed, isStored)
  }
}

/**
 * Answers a request that this process cannot wait for any longer, because it stops: 202, or where the clients of its
 * API take that for an answer, 503, whose retry joins the call.
 * @throws ApiError service_unavailable
 */
export async function answerStopping(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  isStored = true,
): Promise<void> {
  if (isStored && knowsAccepted(ctx)) return answerAccepted(ctx, placed, null)
  placed.wait.cancel()
  await recordAbandoned(ctx, deps, placed.callId)
  throw new ApiError('service_unavailable', { message: 'The service is restarting. A retry gets the answer.' })
}

/** Clients of other APIs take a 202 that they have not asked for as a malformed answer. */
const knowsAccepted = ({ state }: CallContext): boolean => state.endpoint?.envelope === 'gateway'

/** Sends the answer. Where it cannot be sent now, its retry is to join the call, not to pay for another. */
export async function deliver(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  answer: Answer | LongAnswer,
  send: SendAnswer = sendAnswer,
): Promise<void> {
  try {
    await send(ctx, deps, answer)
  } catch (error) {
    await recordAbandoned(ctx, deps, placed.callId)
    throw error
  }
}

/** 202: the call continues, with the address of its answer. */
export function answerAccepted(
  ctx: Context,
  placed: Pick<PlacedCall, 'callId' | 'status'> & { wait?: PlacedCall['wait'] },
  preference: string | null,
): void {
  placed.wait?.cancel()
  const body = acceptedBody(placed)
  ctx.status = 202
  ctx.set('Location', `/v1/calls/${body.id}`)
  ctx.set('Cache-Control', 'no-store')
  if (preference !== null) ctx.set('Preference-Applied', preference)
  ctx.body = body
}

/** The body of a 202. */
export const acceptedBody = ({ callId, status }: Pick<PlacedCall, 'callId' | 'status'>) => ({
  ok: true,
  id: publicId('call', callId),
  status,
})

function patienceOf(
  ctx: CallContext,
  config: AnswerDeps['config'],
  isStored: boolean,
  mayBeat: boolean,
): Patience | null {
  const own = isStored ? preferenceOf(ctx) : null
  if (own) return own
  if (config.LONG_CALL_REPLY === 'wait') return null
  const afterwards = isStored && knowsAccepted(ctx) ? config.LONG_CALL_REPLY : 'heartbeat'
  if (afterwards === 'heartbeat' && !mayBeat) return null
  return { ms: config.LONG_CALL_AFTER_SECONDS * 1000, afterwards, preference: null }
}

/**
 * The preferences of RFC 7240 that we honour; unknown ones are ignored, as the RFC asks. Together, `wait` is how long
 * `respond-async` may be put off (its section 4.3).
 */
function preferenceOf({ req }: Pick<Context, 'req'>): Patience | null {
  const preferences = preferencesOf(req.headers)
  for (const preference of preferences) {
    const wait = /^wait\s*=\s*"?(\d{1,6})"?$/.exec(preference)
    if (wait) return { ms: Number(wait[1]) * 1000, afterwards: 'accepted', preference: `wait=${Number(wait[1])}` }
  }
  return preferences.includes('respond-async') ? { ms: 0, afterwards: 'accepted', preference: 'respond-async' } : null
}

/** Whether the client asked not to wait at all. */
export const prefersAsync = (ctx: Context): boolean => preferenceOf(ctx)?.ms === 0

/** Runs `then` when the client's connection closes before its answer was complete. */
function onDisconnect(ctx: Context, then: () => void): void {
  onFinished(ctx, () => {
    if (!ctx.res.writableFinished) then()
  })
}

/** A client may disconnect before it has read all of its answer: its retry is to join the call. */
export function joinableIfLeft(ctx: CallContext, deps: Pick<AnswerDeps, 'calls' | 'log'>, callId: CallId): void {
  onDisconnect(ctx, () => {
    recordAbandoned(ctx, deps, callId).catch(reportDefect)
  })
}

/** Resolves when the client's connection closes before its answer was complete. */
export const whenDisconnected = (ctx: Context): Promise<void> => new Promise((resolve) => onDisconnect(ctx, resolve))

/** What comes first. One promise and no race: every call waits here. */
function waitOutcome(
  ctx: Context,
  placed: PlacedCall,
  patience: Patience | null,
  stopping: AbortSignal,
): Promise<WaitOutcome> {
  // An answer that is already there is sent even to a client that did not want to wait.
  if (patience?.ms === 0 && !placed.hasEnded) return Promise.resolve({ is: 'late' })
  return new Promise((resolve) => {
    const end = (outcome: WaitOutcome): void => {
      clearTimeout(timer)
      forget()
      resolve(outcome)
    }
    const timer = patience ? setTimeout(end, patience.ms, { is: 'late' }) : undefined
    const forget = onStop(stopping, () => end({ is: 'stopping' }))
    onDisconnect(ctx, () => end({ is: 'disconnected' }))
    placed.wait.answer.then((answer) => end({ is: 'answered', answer }), reportDefect)
  })
}

/**
 * What `work` answers, or null when this process stops before it. The signal lives as long as the process: what stayed
 * on it would keep its request, answer and all, for as long.
 */
export async function unlessStopped<T>(stopping: AbortSignal, work: () => Promise<T>): Promise<T | null> {
  let forget = (): void => {}
  const stopped = new Promise<null>((resolve) => {
    forget = onStop(stopping, () => resolve(null))
  })
  try {
    return await Promise.race([work(), stopped])
  } finally {
    forget()
  }
}

/** Runs `then` when this process stops, in a later turn where it has. @returns what forgets it. */
function onStop(stopping: AbortSignal, then: () => void): () => void {
  if (stopping.aborted) setImmediate(then)
  const stops = stopsOf(stopping)
  stops.add(then)
  return () => stops.delete(then)
}

/** What is called when a process stops: one listener on each signal, which goes through all of them to remove one. */
const stopsBySignal = new WeakMap<AbortSignal, Set<() => void>>()

function stopsOf(signal: AbortSignal): Set<() => void> {
  const known = stopsBySignal.get(signal)
  if (known) return known
  const stops = new Set<() => void>()
  stopsBySignal.set(signal, stops)
  signal.addEventListener('abort', () => stops.forEach((stop) => stop()), { once: true })
  return stops
}

/** Stops waiting for a disconnected client, and records that it got no answer, so that its retry can join the call. */
export async function handleDisconnect(ctx: CallContext, deps: AnswerDeps, placed: PlacedCall): Promise<void> {
  stopWaiting(ctx, placed)
  await recordAbandoned(ctx, deps, placed.callId)
}

/**
 * Stops waiting for a disconnected client. Only a stream that has delivered something is still waited for: this
 * process settles it should its worker be lost.
 */
export function stopWaiting(ctx: CallContext, placed: PlacedCall): void {
  if (!placed.relayed?.leave()) placed.wait.cancel()
  ctx.respond = false
}

async function recordAbandoned(
  ctx: CallContext,
  { calls, log }: Pick<AnswerDeps, 'calls' | 'log'>,
  callId: CallId,
): Promise<void> {
  await calls
    .markAbandoned(callId)
    .catch((error: unknown) => log.warn({ ...traceFields(ctx.state), err: error }, 'abandoned call not recorded'))
}

/**
 * Begins a 200 and keeps it alive by spaces, which JSON allows before a value; a late failure has `ok: false` in it.
 */
function keepAlive(ctx: CallContext, deps: AnswerDeps, placed: PlacedCall): void {
  const hold = deps.responseMemory.hold(ctx)
  const body = new PassThrough()
  ctx.status = 200
  ctx.type = 'application/json'
  ctx.set('Cache-Control', 'no-store')
  ctx.set('X-Accel-Buffering', 'no')
  ctx.body = body
  body.write(' ')
  const beat = setInterval(() => body.write(' '), HEARTBEAT_MS)
  endWhenDone(ctx, deps, placed, async (answer) => {
    clearInterval(beat)
    if (answer) await endWith(ctx, deps, placed, { body, hold }, answer)
    else if (deps.stopping.aborted) await breakOff(ctx, deps, placed, body)
    else await handleDisconnect(ctx, deps, placed)
  })
}

/**
 * Ends an answer that has begun, when its call has ended (`answer`), or its client disconnects or this process
 * stops (null). The handler does not wait for it: where it fails, the connection is broken, and a retry joins the call.
 */
export function endWhenDone(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  end: (answer: Answer | LongAnswer | null) => Promise<void>,
): void {
  const disconnected = whenDisconnected(ctx)
  unlessStopped(deps.stopping, () => Promise.race([placed.wait.answer, disconnected.then(() => null)]))
    .then(end)
    .catch((error: unknown) => {
      deps.log.error({ ...traceFields(ctx.state), err: error }, 'answer not ended')
      ctx.res.destroy()
      return recordAbandoned(ctx, deps, placed.callId)
    })
    .catch(reportDefect)
}

/**
 * Ends a body that has begun where this process stops before the call does: an error that names where the answer will
 * be, and a connection that breaks before the end of the body, so that no client takes it for the answer. A retry,
 * which some SDKs make by themselves, joins the call.
 */
async function breakOff(ctx: CallContext, deps: AnswerDeps, placed: PlacedCall, body: PassThrough): Promise<void> {
  placed.wait.cancel()
  await recordAbandoned(ctx, deps, placed.callId)
  const where = `/v1/calls/${publicId('call', placed.callId)}`
  const message = `The gateway restarts and the call goes on: send the request again to join it, or read GET ${where}.`
  body.write(JSON.stringify({ ok: false, error: gatewayError('service_unavailable', message) }), () => {
    setImmediate(() => ctx.req.socket.destroySoon())
  })
}

/**
 * The end of a body that has begun. If it cannot be read, the connection is broken, so that a client does not take half
 * a body for a whole one.
 */
async function endWith(
  ctx: CallContext,
  deps: AnswerDeps,
  placed: PlacedCall,
  { body, hold }: { body: PassThrough; hold: Hold },
  answer: Answer | LongAnswer,
): Promise<void> {
  try {
    const rest = await bodyOf(deps, hold, answer)
    if (typeof rest === 'string') body.end(rest)
    else await pipeline(rest, body)
  } catch {
    body.destroy()
    await recordAbandoned(ctx, deps, placed.callId)
  }
}
