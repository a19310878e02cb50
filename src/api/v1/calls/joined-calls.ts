/**
 * Retries never pay twice: a request with a known Idempotency-Key, one that an SDK numbers as a retry of a call whose
 * client disconnected, or one that equals such a call, joins that call instead of opening another.
 */
import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import { isBillingHeader } from '../../../shared/chat/messages/read-request.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import type { CallState } from '../../../shared/reports/call-records.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'
import { readState } from '../../../shared/reports/call-records.ts'
import type { Wait } from '../../../shared/replies/reply-channel.ts'
import type { Retry } from '../../../shared/calls/numbered-retries.ts'
import { claimCall, waitingProcesses } from '../../../shared/calls/numbered-retries.ts'
import type { WebDeps } from '../../deps.ts'
import { FormFile } from '../../forms/form-file.ts'
import { nameCall } from '../../middleware/request-context.ts'
import type { CallContext, PlacedCall } from './placed-call.ts'

/** 1 to 255 printable ASCII characters. */
const KEY = /^[\x20-\x7e]{1,255}$/

const RETRY_COUNT = 'x-stainless-retry-count'

/** Whether an SDK marks a request as a retry. */
export const isNumberedRetry = ({ req }: Pick<Context, 'req'>): boolean => Number(req.headers[RETRY_COUNT]) >= 1

/** What identifies a request for its retries. `isNew`: it asks for a call of its own (`X-New-Call: true`). */
export type Identity = { idempotencyKey: string | null; hash: string; isNumberedRetry: boolean; isNew: boolean }

/** Reads a request's identity. @throws ApiError invalid_request for a key that cannot be one. */
export function identityOf(ctx: Context, modality: string, body: Record<string, unknown>): Identity {
  const { 'idempotency-key': key, 'x-new-call': isNew } = ctx.req.headers
  if (key !== undefined && !KEY.test(String(key))) {
    throw new ApiError('invalid_request', {
      param: 'Idempotency-Key',
      message: 'Idempotency-Key must be 1 to 255 printable characters.',
    })
  }
  return {
    idempotencyKey: key === undefined ? null : String(key),
    hash: requestHash(modality, body),
    isNumberedRetry: isNumberedRetry(ctx),
    isNew: isNew === 'true',
  }
}

/**
 * Pauses between look-ups of a call whose client may be disconnecting, in ms: a retry can arrive before the first
 * request is known to be gone.
 */
const LEAVING_PAUSES_MS = [25, 50, 100, 200, 400, 800]

type RetryDeps = Pick<WebDeps, 'db' | 'calls' | 'replies' | 'joins' | 'webProcesses'>

/**
 * Joins the call that an SDK's numbered retry is a retry of, if its client disconnected unanswered; null if there is no
 * such call. Of several such calls each retry joins another one.
 * @throws like `joinCall`; the call then waits for the next retry.
 */
export async function joinRetried(
  ctx: CallContext,
  deps: RetryDeps,
  identity: Identity,
  onUpdate?: (update: CallUpdate) => void,
): Promise<PlacedCall | null> {
  if (!identity.isNumberedRetry || identity.isNew || identity.idempotencyKey !== null) return null
  const { accountId, userId, keyId } = ctx.state.principal
  const retry = { accountId, userId, keyId, requestHash: identity.hash, replyTo: deps.replies.address }
  const callId = await claimWithPauses(deps, retry)
  return callId && joinClaimed(ctx, deps, callId, identity, onUpdate)
}

/** Joins a call that was taken over for this request. @throws like `joinCall`; the call then waits for a retry. */
export async function joinClaimed(
  ctx: CallContext,
  deps: RetryDeps,
  callId: CallId,
  identity: Identity,
  onUpdate?: (update: CallUpdate) => void,
): Promise<PlacedCall> {
  try {
    return await joinCall(ctx, deps, callId, identity, onUpdate)
  } catch (error) {
    await deps.calls.markAbandoned(callId)
    throw error
  }
}

/**
 * Claims an abandoned call. Tries again a few times if equal calls were being waited for when the retry came: their
 * clients may be disconnecting, and a call may end before that is recorded.
 */
async function claimWithPauses({ db, webProcesses }: RetryDeps, retry: Retry): Promise<CallId | null> {
  let wereWaitedFor = false
  for (const pause of [...LEAVING_PAUSES_MS, null]) {
    const waiting = await waitingProcesses(db, retry)
    wereWaitedFor ||= waiting.length > 0
    const claimed = await claimCall(db, retry, await webProcesses.findDead(waiting))
    if (claimed || !wereWaitedFor || pause === null) return claimed
    await new Promise((resolve) => {
      setTimeout(resolve, pause)
    })
  }
  return null
}

/**
 * Joins a call: its answer comes when it ends, or at once when it has ended. `onUpdate` is called when a worker has
 * begun it, and not again: its progress and chunks go to the request that opened it.
 * @throws ApiError idempotency_conflict when it was another request, result_expired when its answer is gone,
 * rate_limited when too many wait already.
 */
export async function joinCall(
  ctx: CallContext,
  deps: Pick<WebDeps, 'db' | 'replies' | 'joins'>,
  callId: CallId,
  identity: Identity,
  onUpdate: (update: CallUpdate) => void = () => {},
): Promise<PlacedCall> {
  const state = await readState(deps.db, callId)
  if (!state || state.requestHash !== identity.hash)
    throw new ApiError('idempotency_conflict', { param: 'Idempotency-Key' })
  nameCall(ctx, callId)
  ctx.state.opened = true
  ctx.set('Idempotent-Replayed', 'true')
  if (state.state === 'expired' || state.state === 'passing' || (state.state === 'open' && state.isDeleted))
    throw new ApiError('result_expired')
  if (state.state === 'ended') {
    return {
      callId,
      joined: true,
      hasEnded: true,
      relayed: null,
      charged: null,
      status: 'running',
      wait: { answer: Promise.resolve(state.answer), cancel: () => {} },
    }
  }
  const hasBegun = (): void => onUpdate({ type: 'running' })
  if (state.status === 'running') hasBegun()
  const wait = await joinWithin(deps, state, hasBegun)
  return { callId, joined: true, hasEnded: false, status: state.status, relayed: null, charged: null, wait }
}

/** When a refused request may be sent again, in seconds. */
const JOIN_RETRY_SECONDS = 5

/** Waits for a call that another request opened. @throws ApiError rate_limited, overloaded if too many wait so. */
export async function joinWithin(
  { replies, joins }: Pick<WebDeps, 'replies' | 'joins'>,
  call: CallState & { state: 'open' },
  onBegun?: () => void,
): Promise<Wait> {
  const { callId, accountId, deadlineInMs } = call
  if (!joins.take(accountId, 1)) {
    const retryAfterSeconds = JOIN_RETRY_SECONDS
    if (joins.of(accountId) === 0) throw new ApiError('overloaded', { retryAfterSeconds })
    throw new ApiError('rate_limited', {
      message: 'Too many requests of this account are waiting for calls.',
      retryAfterSeconds,
    })
  }
  return await replies.join(callId, accountId, deadlineInMs, () => joins.give(accountId, 1), onBegun)
}

/**
 * SHA-256 of what is asked for, in hex: equal for two requests that differ only in the form of their answer, or in what
 * an agent reports to its vendor about itself.
 */
export function requestHash(modality: string, body: Record<string, unknown>): string {
  const { stream: _stream, stream_options: _options, client_metadata: _client, ...rest } = body
  const { system } = rest
  if (Array.isArray(system)) rest.system = system.filter((block) => !isBillingHeader(asFields(block)))
  const hash = createHash('sha256').update(`${modality}\n`)
  let text = ''
  writeCanonical(rest, (piece) => {
    text += piece
    if (text.length < HASHED_AT_ONCE) return
    hash.update(text)
    text = ''
  })
  return hash.update(text).digest('hex')
}

/** How much of a body is hashed at once, in UTF-16 units: the JSON of a large one is never written as a whole. */
const HASHED_AT_ONCE = 65_536

/** Writes JSON with its keys sorted, so that a client's key order does not make another request of it. */
function writeCanonical(value: unknown, write: (piece: string) => void): void {
  if (typeof value !== 'object' || value === null || value instanceof FormFile)
    return write(JSON.stringify(value ?? null))
  const isList = Array.isArray(value)
  let before = isList ? '[' : '{'
  for (const name of isList ? value.keys() : Object.keys(value).toSorted()) {
    write(isList ? before : `${before}${JSON.stringify(name)}:`)
    writeCanonical((value as Record<string | number, unknown>)[name], write)
    before = ','
  }
  const isEmpty = before !== ','
  write(`${isEmpty ? before : ''}${isList ? ']' : '}'}`)
}
