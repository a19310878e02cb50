/**
 * Places a call: charge, then enqueue, then wait. The one way in for all modalities.
 */
import { fundsOf, payable } from '../../../shared/accounts/summary.ts'
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import { ApiError, gatewayError } from '../../../shared/platform/errors.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { WORKER_LOST } from '../../../shared/calls/chat-settlement.ts'
import { DEADLINE_SECONDS, QUEUED_LEASE_SECONDS } from '../../../shared/calls/lifecycle.ts'
import type { Ended, OpenOutcome, OpenRequest } from '../../../shared/calls/types.ts'
import { putUpload } from '../../../shared/requests/uploads.ts'
import type { Tokens } from '../../../shared/requests/pricing.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import type { CallJob, ChatRow } from '../../../shared/queues.ts'
import { traceFields } from '../../../shared/platform/process/trace.ts'
import { ofQueue } from '../../../shared/platform/telemetry/telemetry.ts'
import type { WebDeps } from '../../deps.ts'
import type { FormFile } from '../../forms/form-file.ts'
import { prefersAsync } from './answer-call.ts'
import { callbackUrlOf, prepareCallback } from './callback-url.ts'
import type { CallOrder } from './call-order.ts'
import { lowered } from './call-order.ts'
import { maxCreditsOf, priceGuard } from './price-guards.ts'
import type { Identity } from './joined-calls.ts'
import { identityOf, joinCall, joinClaimed, joinRetried } from './joined-calls.ts'
import type { CallContext, PlacedCall } from './placed-call.ts'
import { refusalOf } from './unopened-calls.ts'
import type { RelayedStream } from './relayed-stream.ts'

type PlaceDeps = Pick<
  WebDeps,
  | 'config'
  | 'db'
  | 'calls'
  | 'queues'
  | 'replies'
  | 'relayed'
  | 'joins'
  | 'webProcesses'
  | 'unstarted'
  | 'load'
  | 'log'
  | 'telemetry'
>

/** @throws ApiError upstream_unavailable where no upstream serves the model. */
export function requireUpstream({ routes }: Pick<Model, 'routes'>): void {
  if (routes.length === 0) throw new ApiError('upstream_unavailable', { param: 'model' })
}

/**
 * Charges and enqueues a call, or joins the one that this request is a retry of.
 * @param onUpdate gets the worker's updates while a call of this request's own runs; of one that it joins, its start.
 * @throws ApiError upstream_unavailable, price_above_limit, price_changed, key_budget_exceeded, insufficient_credits,
 * rate_limited (too many open), account_suspended, unauthorized, ip_not_allowed, model_not_allowed (all four: changed a
 * moment ago), idempotency_conflict, overloaded, service_unavailable (nothing stays charged).
 */
export async function placeCall(
  ctx: CallContext,
  deps: PlaceDeps,
  asked: CallOrder,
  onUpdate?: (update: CallUpdate) => void,
): Promise<PlacedCall> {
  const identity = identityOf(ctx, asked.dialect ?? asked.model.modality, asked.body)
  requireUpstream(asked.model)
  maxCreditsOf(ctx)
  await prepareCallback(ctx.req.headers, deps, ctx.state.principal.accountId)
  const retried = identity.isNumberedRetry && (await joinRetried(ctx, deps, identity, onUpdate))
  if (retried) return retried
  deps.load.admit(asked.model.modality)
  const { order, request, outcome } = await open(ctx, deps, asked, identity)
  if ('claimed' in outcome) return joinClaimed(ctx, deps, outcome.claimed, identity, onUpdate)
  if ('existing' in outcome) return joinCall(ctx, deps, outcome.existing, identity, onUpdate)
  if (!outcome.opened) throw await refusalOf(deps, request, order, outcome.refusal)
  ctx.state.opened = true
  if ('max_tokens' in order.request) ctx.set('X-Max-Output-Tokens', String(order.request.max_tokens))
  const placed = expectAnswer(deps, request, isStreamed(order.request), onUpdate)
  // Before the job is enqueued, so that both are sent in one write and no follower sees the end of the call first.
  deps.replies.publishEvent(request.accountId, { callId: request.id, status: 'queued', balance: outcome.balance })
  try {
    await enqueue(ctx, deps, order, request, outcome.outstanding)
  } catch (error) {
    placed.wait.cancel()
    throw error
  }
  return placed
}

/** How often the output of a call is lowered to what is left, while other calls spend it. */
const LOWERINGS = 3

/** Opens a call; one that leaves its output to the model with less of it, where all of it cannot be paid. */
async function open(
  ctx: CallContext,
  deps: PlaceDeps,
  asked: CallOrder,
  identity: Identity,
): Promise<{ order: CallOrder; request: OpenRequest; outcome: OpenOutcome }> {
  let order = asked
  for (let lowerings = 0; ; lowerings++) {
    const request = openRequest(ctx, deps, order, identity, priceGuard(ctx, order))
    const outcome = await deps.calls.open(request)
    if (!('refusal' in outcome) || !isShort(outcome.refusal)) return { order, request, outcome }
    const funds = await fundsOf(deps.db, request)
    const credits = funds && payable(funds)
    const less = credits !== null && lowerings < LOWERINGS && order.lowerTo?.(credits, deps.config.MIN_OUTPUT_TOKENS)
    if (!less) return { order, request, outcome }
    order = lowered(order, less)
  }
}

const isShort = (refusal: string): boolean => refusal === 'insufficient_credits' || refusal === 'key_budget_exceeded'

/** Waits for a call that was opened, and is yet to be enqueued. */
function expectAnswer(
  deps: PlaceDeps,
  request: OpenRequest,
  streamed: boolean,
  onUpdate: (update: CallUpdate) => void = () => {},
): PlacedCall {
  const relayed = streamed ? deps.relayed.begin(request.dialect) : null
  const pass = (update: CallUpdate): void => {
    deps.unstarted.release(request.id)
    placed.status = 'running'
    if (!relayed || update.type !== 'chunks' || relayed.take(update)) onUpdate(update)
  }
  const over = (): void => {
    deps.unstarted.release(request.id)
    relayed?.release()
  }
  const endDelivered = relayed && ((overdue: boolean) => endRelayed(deps, relayed, request, { overdue, onUpdate }))
  const wait = deps.replies.expect(request.id, request.deadlineSeconds * 1000, pass, over, endDelivered)
  const placed: PlacedCall = { callId: request.id, wait, status: 'queued', joined: false, hasEnded: false, relayed }
  return placed
}

/**
 * Ends a stream whose worker was lost: settled on the words that were sent on, with a last chunk like that of one that
 * we cut; refunded where there were none. One that is only overdue is refunded by others.
 */
async function endRelayed(
  { calls, log }: PlaceDeps,
  relayed: RelayedStream,
  request: OpenRequest,
  { overdue, onUpdate }: { overdue: boolean; onUpdate: (update: CallUpdate) => void },
): Promise<Ended | null> {
  const { id, modality, requestId } = request
  const settlement = relayed.settlement(request)
  if (!settlement) return overdue ? null : await calls.refund(id, WORKER_LOST, { from: 'running' })
  const ended = await calls.settle(id, modality, settlement)
  if (!ended) return null
  log.warn({ call: publicId('call', id), requestId, tokens: settlement.tokens }, 'stream settled without its worker')
  onUpdate(relayed.lastChunks())
  return ended
}

function openRequest(
  ctx: CallContext,
  { config, replies }: PlaceDeps,
  { model, request, files, dialect, estimate, charge, deadlineSeconds }: CallOrder,
  identity: Identity,
  guarded: OpenRequest['guarded'],
): OpenRequest {
  const { principal, callId, requestId } = ctx.state
  return {
    id: callId,
    accountId: principal.accountId,
    keyId: principal.keyId,
    modality: model.modality,
    dialect,
    model: model.id,
    catalogueVersion: model.version,
    price: model.price,
    amount: charge,
    guarded,
    estimate,
    deadlineSeconds: model.timeoutSeconds ?? deadlineSeconds ?? DEADLINE_SECONDS[model.modality],
    requestId,
    replyTo: replies.address,
    idempotency:
      identity.idempotencyKey === null ? null : { key: identity.idempotencyKey, seconds: config.RESULT_TTL_SECONDS },
    requestHash: identity.hash,
    joinsLeft: !identity.isNew && identity.idempotencyKey === null,
    // As the job carries it, and its files: what waits until the call has ended.
    requestBytes: Buffer.byteLength(JSON.stringify(request)) + bytesOf(files),
    secretVersion: principal.secretVersion,
    address: principal.address === '' ? null : principal.address,
    isAsync: prefersAsync(ctx) || ('background' in request && request.background === true),
    callbackUrl: callbackUrlOf(ctx.req.headers),
  }
}

const bytesOf = (files: CallOrder['files'] = []): number => files.reduce((sum, { bytes }) => sum + bytes, 0)

/** Puts the files of a call where its worker finds them. The call is held meanwhile: nobody else takes it for lost. */
async function keepFiles({ db, calls }: PlaceDeps, id: CallId, files: readonly FormFile[]): Promise<void> {
  const lease = setInterval(() => {
    calls.renew([id], QUEUED_LEASE_SECONDS).catch(() => {})
  }, HOLD_MS)
  try {
    for (const file of files) await putUpload(db, id, file.place, file.chunks())
  } finally {
    clearInterval(lease)
  }
}

/** A third of the lease of a call that waits, in ms. */
const HOLD_MS = (QUEUED_LEASE_SECONDS * 1000) / 3

const isStreamed = (request: CallOrder['request']): boolean => 'stream' in request && request.stream === true

/** What a worker would read of the row of a chat. */
const rowOf = ({ model, replyTo, amount }: OpenRequest, estimate: Tokens): ChatRow => ({
  model,
  replyTo,
  charged: amount,
  estimate,
})

/**
 * Enqueues the call, after its files were put where its worker finds them. If Redis takes no job, the charge is
 * refunded, unless a worker has begun the call after all (the job was taken, its acknowledgement lost): then the call
 * goes on.
 */
async function enqueue(
  ctx: CallContext,
  deps: PlaceDeps,
  order: CallOrder,
  request: OpenRequest,
  outstanding: number,
): Promise<void> {
  const { requestId } = ctx.state
  const span = deps.telemetry?.begin('producer', `send ${request.modality}`, ctx.state.traceparent, {
    ...ofQueue(request.modality),
    'messaging.operation.type': 'send',
  })
  const job: CallJob = {
    callId: request.id,
    accountId: request.accountId,
    request: order.request,
    ...(order.dialect && { dialect: order.dialect, betas: order.betas ?? [] }),
    catalogueVersion: request.catalogueVersion,
    requestId,
    traceparent: span?.traceparent ?? ctx.state.traceparent,
    deadlineAt: Date.now() + request.deadlineSeconds * 1000,
    ...(order.files?.length && { files: order.files.map((file) => file.reference()) }),
    ...(request.modality === 'chat' && request.estimate && { row: rowOf(request, request.estimate) }),
  }
  const put = (again: boolean) =>
    deps.queues.enqueueCall(request.modality, again ? { ...job, again } : job, outstanding)
  try {
    if (order.files?.length) await keepFiles(deps, request.id, order.files)
    deps.unstarted.hold(request.id, () => put(true))
    await put(false)
    span?.end()
  } catch (error) {
    span?.end({ failure: 'service_unavailable' })
    deps.log.warn({ ...traceFields(ctx.state), call: publicId('call', request.id), err: error }, 'call not enqueued')
    const refunded = await deps.calls.refund(request.id, gatewayError('service_unavailable'), { from: 'queued' }, 2000)
    if (!refunded) return
    throw new ApiError('service_unavailable', { cause: error })
  }
}
