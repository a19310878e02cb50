/**
 * Places a call: charge, then enqueue, then wait. The one way in for all modalities.
 */
import { fundsOf } from '../../../shared/identity/summary.ts'
import { mostTokens } from '../../../shared/identity/account-limits.ts'
import type { Model } from '../../../shared/catalogue/catalogue.ts'
import { ApiError, gatewayError } from '../../../shared/platform/errors.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import { bytesAsJson } from '../../../shared/platform/json-bytes.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { WORKER_LOST } from '../../../shared/calls/chat-settlement.ts'
import { KINDS } from '../../../shared/terms/kinds.ts'
import { QUEUED_LEASE_SECONDS } from '../../../shared/terms/lifecycle.ts'
import { lastAsked } from '../../../shared/calls/listed-models.ts'
import type { Ended, OpenOutcome, OpenRequest } from '../../../shared/calls/types.ts'
import { putUpload } from '../../../shared/requests/uploads.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import { speaks } from '../../../shared/chat/protocols.ts'
import { writtenRequest } from '../../../shared/chat/written-request.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { CallJob } from '../../../shared/queues.ts'
import { traceFields } from '../../../shared/platform/process/trace.ts'
import { ofQueue } from '../../../shared/platform/telemetry/telemetry.ts'
import type { WebDeps } from '../../deps.ts'
import { tokenHeaders, limitsOf } from '../../endpoint/allowances.ts'
import type { FormFile } from '../../forms/form-file.ts'
import { prefersAsync } from './answer-call.ts'
import type { CallOrder } from './call-order.ts'
import { withinFunds, isAboveLimit, withinLimit } from './call-order.ts'
import { measuredOf } from './measured.ts'
import { maxCreditsOf, priceGuard, callbackUrlOf, prepareCallback } from './call-headers.ts'
import type { Identity } from './joined-calls.ts'
import { identityOf, joinCall, joinClaimed, joinRetried } from './joined-calls.ts'
import type { CallContext, PlacedCall } from './placed-call.ts'
import { withoutCacheKey } from './sessions.ts'
import { refusalOf } from './unopened-calls.ts'
import type { Relayed } from './relayed-stream.ts'
import { RelayedSound } from '../audio/relayed-sound.ts'

type PlaceDeps = Pick<
  WebDeps,
  | 'config'
  | 'catalogue'
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

/** @throws ApiError upstream_unavailable if no upstream serves the model. */
export function requireUpstream({ routes }: Pick<Model, 'routes'>): void {
  if (routes.length === 0) throw new ApiError('upstream_unavailable', { param: 'model' })
}

/**
 * Charges and enqueues a call, or joins the one that this request is a retry of.
 * @param onUpdate gets the worker's updates while a call of this request's own runs; of one that it joins, its start.
 * @throws GroupChanged; ApiError upstream_unavailable, invalid_request (more tokens than a minute has),
 * price_above_limit, price_changed, a spent budget, insufficient_credits, credits_in_use, rate_limited (too many open,
 * no tokens left of the minute), account_suspended, unauthorized, ip_not_allowed, model_not_allowed (all four: changed
 * a moment ago), idempotency_conflict, overloaded, service_unavailable (nothing stays charged).
 */
export async function placeCall(
  ctx: CallContext,
  deps: PlaceDeps,
  asked: CallOrder,
  onUpdate?: (update: CallUpdate) => void,
): Promise<PlacedCall> {
  const identity = identityOf(ctx, asked.sort ?? asked.dialect ?? asked.model.modality, asked.body)
  requireUpstream(asked.model)
  maxCreditsOf(ctx)
  await prepareCallback(ctx.req.headers, deps, ctx.state.principal.accountId)
  const retried = identity.isNumberedRetry && (await joinRetried(ctx, deps, identity, onUpdate))
  if (retried) return retried
  deps.load.admit(asked.model.modality)
  const { order, request, outcome } = await open(ctx, deps, asked, identity)
  if ('claimed' in outcome) return joinClaimed(ctx, deps, outcome.claimed, identity, onUpdate)
  if ('existing' in outcome) return joinCall(ctx, deps, outcome.existing, identity, onUpdate)
  ctx.set(tokenHeaders(outcome.tokens))
  if (!outcome.opened) throw await refusalOf(deps, request, order, outcome)
  ctx.state.opened = true
  if ('max_tokens' in order.request) ctx.set('X-Max-Output-Tokens', String(order.request.max_tokens))
  const placed = expectAnswer(
    deps,
    { request, relayed: relayedOf(deps, order), models: order.models },
    outcome.balance,
    onUpdate,
  )
  // Before the job is enqueued, so that both are sent in one write and no follower sees the end of the call first.
  deps.replies.publishEvent(request.accountId, { callId: request.id, status: 'queued', balance: outcome.balance })
  try {
    await enqueue(ctx, deps, forWorker(order), request, outcome.outstanding)
  } catch (error) {
    placed.wait.cancel()
    throw error
  }
  return placed
}

/** How often the output of a call is lowered to what is left, while other calls spend it. */
const LOWERINGS = 3

/** Opens a call, with a lowered limit of output where all of it cannot be paid and the limit may be lowered. */
async function open(
  ctx: CallContext,
  deps: PlaceDeps,
  asked: CallOrder,
  identity: Identity,
): Promise<{ order: CallOrder; request: OpenRequest; outcome: OpenOutcome }> {
  const { tokens } = ctx.state.principal
  const least = deps.config.MIN_OUTPUT_TOKENS
  const whole = withinLimit(asked, tokens, least)
  let order = whole
  for (let lowerings = 0; ; lowerings++) {
    const guarded = isAboveLimit(order, tokens) ? 'tokens_above_limit' : priceGuard(ctx, order)
    const request = openRequest(ctx, deps, order, identity, guarded)
    const outcome = await deps.calls.open(request)
    if (!('refusal' in outcome) || !SHORT.has(outcome.refusal)) return { order, request, outcome }
    const funds = await fundsOf(deps.db, request)
    const next = funds && lowerings < LOWERINGS && withinFunds(whole, funds, { tokens: mostTokens(tokens), least })
    if (!next || next.charge === order.charge) return { order, request, outcome }
    order = next
  }
}

const SHORT: ReadonlySet<string> = new Set([
  'insufficient_credits',
  'key_budget_exceeded',
  'member_budget_exceeded',
  'credits_in_use',
  'key_budget_in_use',
  'member_budget_in_use',
])

/** A call that was opened: what is sent on of it, and its list of models. */
type Opened = { request: OpenRequest; relayed: Relayed | null; models: CallOrder['models'] }

/** Waits for a call that was opened, and is yet to be enqueued. */
function expectAnswer(
  deps: PlaceDeps,
  { request, relayed, models }: Opened,
  balance: number,
  onUpdate: (update: CallUpdate) => void = () => {},
): PlacedCall {
  const pass = (update: CallUpdate): void => {
    deps.unstarted.release(request.id)
    placed.status = 'running'
    if (!relayed || update.type !== 'chunks' || relayed.take(update)) onUpdate(update)
  }
  const over = (): void => {
    deps.unstarted.release(request.id)
    relayed?.release()
  }
  const endDelivered =
    relayed && ((overdue: boolean) => endRelayed(deps, relayed, { request, models }, { overdue, onUpdate }))
  const wait = deps.replies.expect(request.id, request.deadlineSeconds * 1000, pass, over, endDelivered)
  const charged = { credits: request.amount, balance }
  const placed: PlacedCall = {
    callId: request.id,
    wait,
    status: 'queued',
    joined: false,
    hasEnded: false,
    relayed,
    charged,
  }
  return placed
}

/**
 * Ends a stream whose worker was lost: settled on the words that were sent on, with a last chunk like that of one that
 * we cut; refunded if there were none. One that is only overdue is refunded by others.
 */
async function endRelayed(
  { calls, db, log }: PlaceDeps,
  relayed: Relayed,
  { request, models }: Omit<Opened, 'relayed'>,
  { overdue, onUpdate }: { overdue: boolean; onUpdate: (update: CallUpdate) => void },
): Promise<Ended | null> {
  const { id, modality, requestId } = request
  const answering = models && (await lastAsked(db, id, models))
  const settlement = relayed.settlement({ ...request, ...answering })
  if (!settlement) return overdue ? null : await calls.refund(id, WORKER_LOST)
  const ended = await calls.settle(id, modality, settlement)
  if (!ended) return null
  log.warn({ call: publicId('call', id), requestId, tokens: settlement.tokens }, 'stream settled without its worker')
  onUpdate(relayed.lastChunks())
  return ended
}

function openRequest(
  ctx: CallContext,
  { config, replies, catalogue }: PlaceDeps,
  { model, request, text, files, dialect, estimate, charge, leaves, deadlineSeconds }: CallOrder,
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
    group: principal.group,
    maxOutstanding: limitsOf({ catalogue, config }, principal).maxOutstanding,
    amount: charge,
    leaves,
    guarded,
    estimate,
    measured: measuredOf(model, request),
    deadlineSeconds: model.timeoutSeconds ?? deadlineSeconds ?? KINDS[model.modality].deadlineSeconds,
    requestId,
    replyTo: replies.address,
    idempotency:
      identity.idempotencyKey === null ? null : { key: identity.idempotencyKey, seconds: config.RESULT_TTL_SECONDS },
    requestHash: identity.hash,
    joinsLeft: !identity.isNew && identity.idempotencyKey === null,
    // As the job carries it, and its files: what waits until the call has ended.
    requestBytes: Math.max(bytesAsJson(request), text?.length ?? 0) + bytesOf(files),
    secretVersion: principal.secretVersion,
    address: principal.address === '' ? null : principal.address,
    isAsync: prefersAsync(ctx) || ('background' in request && request.background === true),
    callbackUrl: callbackUrlOf(ctx.req.headers),
  }
}

const forWorker = (order: CallOrder): CallOrder =>
  order.model.modality === 'chat' ? { ...order, request: withoutCacheKey(order.request as ChatRequest) } : order

/** The text of a chat, if an upstream of its model speaks its dialect. */
function writtenFor({ model, request, text, body, dialect }: CallOrder): Pick<CallJob, 'text'> {
  if (text === undefined || dialect === undefined || !speaks(model.routes, dialect)) return {}
  return { text: writtenRequest({ text, fields: body }, request as ChatRequest, dialect) }
}

const bytesOf = (files: CallOrder['files'] = []): number => files.reduce((sum, { bytes }) => sum + bytes, 0)

/** Puts the files of a call where its worker finds them. Its lease is renewed meanwhile: nobody takes it for lost. */
async function storeFiles({ db, calls }: PlaceDeps, id: CallId, files: readonly FormFile[]): Promise<void> {
  const lease = setInterval(() => {
    calls.renew([{ id, attempt: 0 }], QUEUED_LEASE_SECONDS).catch(() => {})
  }, HOLD_MS)
  try {
    for (const file of files) await putUpload(db, id, file.place, file.chunks())
  } finally {
    clearInterval(lease)
  }
}

/** A third of the lease of a call that waits, in ms. */
const HOLD_MS = (QUEUED_LEASE_SECONDS * 1000) / 3

/** What keeps count of what is sent on while the call runs; null if it is answered at its end. */
function relayedOf({ relayed }: PlaceDeps, { model, request, dialect }: CallOrder): Relayed | null {
  if (model.modality === 'speech') return new RelayedSound()
  return isStreamed(request) ? relayed.begin(dialect) : null
}

const isStreamed = (request: CallOrder['request']): boolean => 'stream' in request && request.stream === true

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
    ...writtenFor(order),
    ...(order.session && { session: order.session }),
    ...(order.models && { models: order.models }),
    ...(order.dialect && { dialect: order.dialect, betas: order.betas ?? [] }),
    catalogueVersion: request.catalogueVersion,
    requestId,
    traceparent: span?.traceparent ?? ctx.state.traceparent,
    deadlineAt: Date.now() + request.deadlineSeconds * 1000,
    ...(order.files?.length && { files: order.files.map((file) => file.reference()) }),
  }
  const put = () => deps.queues.enqueueCall(request.modality, job, outstanding)
  try {
    if (order.files?.length) await storeFiles(deps, request.id, order.files)
    deps.unstarted.hold(request.id, put)
    await put()
    span?.end()
  } catch (error) {
    span?.end({ failure: 'service_unavailable' })
    deps.log.warn({ ...traceFields(ctx.state), call: publicId('call', request.id), err: error }, 'call not enqueued')
    const refunded = await deps.calls.refund(request.id, gatewayError('service_unavailable'), { attempt: 0 }, 2000)
    if (!refunded) return
    throw new ApiError('service_unavailable', { cause: error })
  }
}
