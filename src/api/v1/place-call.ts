/**
 * Places a call: charge, then enqueue, then wait. The one way in for all three modalities.
 */
import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import type { Model } from '../../shared/catalogue.ts'
import { ApiError, gatewayError } from '../../shared/errors.ts'
import type { CallId } from '../../shared/ids.ts'
import { publicId } from '../../shared/ids.ts'
import { DEADLINE_SECONDS } from '../../shared/calls/lifecycle.ts'
import type { OpenOutcome, OpenRequest } from '../../shared/calls/calls.ts'
import type { Tokens } from '../../shared/calls/pricing.ts'
import { costOf } from '../../shared/calls/pricing.ts'
import type { CallNews, Wait } from '../../shared/calls/replies.ts'
import type { ChatRequest, MediaRequest } from '../../shared/calls/requests.ts'
import type { WebDeps } from '../deps.ts'
import type { RequestState } from '../middleware/request-context.ts'

/** What a route makes of a valid body. `estimate` only for chat. */
export type CallOrder = { model: Model; request: ChatRequest | MediaRequest; estimate: Tokens | null; body: Record<string, unknown> }

/** A call that is on its way, and the wait for its answer. */
export type PlacedCall = { callId: CallId; wait: Wait; status: 'queued' | 'running' }

type PlaceDeps = Pick<WebDeps, 'config' | 'db' | 'calls' | 'queues' | 'replies' | 'log'>
type CallContext = Context & { state: RequestState }

/** A client that has this many calls open is told to wait this long. */
const OUTSTANDING_RETRY_SECONDS = 5

/**
 * Charges and enqueues a call.
 * @throws ApiError upstream_unavailable, insufficient_credits, rate_limited (too many open), account_suspended,
 * unauthorized (revoked a moment ago), service_unavailable (nothing stays charged).
 */
export async function placeCall(ctx: CallContext, deps: PlaceDeps, order: CallOrder, onNews?: (news: CallNews) => void): Promise<PlacedCall> {
  if (order.model.routes.length === 0) throw new ApiError('upstream_unavailable', { param: 'model' })
  const request = openRequest(ctx, deps, order)
  const outcome = await deps.calls.open(request)
  if (!outcome.opened) throw refusalOf(outcome)
  ctx.state.opened = true
  const wait = deps.replies.expect(request.id, request.accountId, request.deadlineSeconds * 1000, onNews)
  try {
    await enqueue(ctx, deps, order, request, outcome.outstanding)
  } catch (error) {
    wait.cancel()
    throw error
  }
  return { callId: request.id, wait, status: 'queued' }
}

function openRequest(ctx: CallContext, { config, replies }: PlaceDeps, { model, estimate, body }: CallOrder): OpenRequest {
  const { principal, callId, requestId } = ctx.state
  return {
    id: callId!, accountId: principal!.accountId, keyId: principal!.keyId, modality: model.modality, model: model.id,
    price: model.price, amount: costOf(model.price, estimate ?? { input: 0, output: 0 }), estimate,
    deadlineSeconds: model.timeoutSeconds ?? DEADLINE_SECONDS[model.modality], requestId, replyTo: replies.address,
    idempotency: null, requestHash: null,
  }
}

function refusalOf(outcome: Exclude<OpenOutcome, { opened: true }>): ApiError {
  if (!('refusal' in outcome)) return new ApiError('internal_error')
  switch (outcome.refusal) {
    case 'too_many_calls':
      return new ApiError('rate_limited', { message: 'Too many calls of this account are still running.', retryAfterSeconds: OUTSTANDING_RETRY_SECONDS })
    default:
      return new ApiError(outcome.refusal)
  }
}

/**
 * Puts the call into its queue. Where Redis takes no job the charge is given back, unless a worker has begun after all
 * (the job was taken, its acknowledgement lost): then the call goes on.
 */
async function enqueue(ctx: CallContext, deps: PlaceDeps, order: CallOrder, request: OpenRequest, outstanding: number): Promise<void> {
  const { requestId, traceparent } = ctx.state
  try {
    await deps.queues.enqueueCall(request.modality, {
      callId: request.id, request: order.request, requestId, traceparent, deadlineAt: Date.now() + request.deadlineSeconds * 1000,
    }, outstanding)
  } catch (error) {
    deps.log.warn({ requestId, call: publicId('call', request.id), err: error }, 'call not enqueued')
    const refunded = await deps.calls.refund(request.id, gatewayError('service_unavailable'), { from: 'queued' }, 2000)
    if (refunded) throw new ApiError('service_unavailable', { cause: error })
  }
}

/** SHA-256 of what is asked for, in hex: equal for two requests that differ only in the form of their answer. */
export function requestHash(modality: string, body: Record<string, unknown>): string {
  const { stream: _stream, stream_options: _options, ...rest } = body
  return createHash('sha256').update(`${modality}\n${canonical(rest)}`).digest('hex')
}

/** JSON with its keys sorted, so that a client's key order does not make another request of it. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) => {
    if (typeof field !== 'object' || field === null || Array.isArray(field)) return field
    return Object.fromEntries(Object.entries(field).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  })
}
