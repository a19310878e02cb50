/**
 * Retries never pay twice: a request with a known Idempotency-Key, or one that an SDK numbers as a retry of a call
 * whose requester went away, joins that call instead of opening another (contract section 5.3).
 */
import { createHash } from 'node:crypto'
import type { Context } from 'koa'
import { ApiError } from '../../shared/errors.ts'
import type { CallId } from '../../shared/ids.ts'
import { publicId } from '../../shared/ids.ts'
import { findRetried, readState } from '../../shared/calls/records.ts'
import type { WebDeps } from '../deps.ts'
import type { CallContext, PlacedCall } from './placed-call.ts'

/** 1 to 255 printable ASCII characters. */
const KEY = /^[\x20-\x7e]{1,255}$/

/** What identifies a request for its retries. `hash` only where a retry could come. */
export type Identity = { idempotencyKey: string | null; hash: string | null; isNumberedRetry: boolean }

/** Reads a request's identity. @throws ApiError invalid_request for a key that cannot be one. */
export function identityOf(ctx: Context, modality: string, body: Record<string, unknown>): Identity {
  const key = ctx.get('idempotency-key')
  if (ctx.req.headers['idempotency-key'] !== undefined && !KEY.test(key)) {
    throw new ApiError('invalid_request', { param: 'Idempotency-Key', message: 'Idempotency-Key has 1 to 255 printable characters.' })
  }
  const retryCount = ctx.get('x-stainless-retry-count')
  const mayBeRetried = key !== '' || retryCount !== ''
  return {
    idempotencyKey: key === '' ? null : key,
    hash: mayBeRetried ? requestHash(modality, body) : null,
    isNumberedRetry: Number(retryCount) >= 1,
  }
}

/** The call that an SDK's numbered retry is a retry of, if its requester went away unanswered. One retry at a time gets it. */
export async function findRetriedCall(ctx: CallContext, { db, calls, replies }: Pick<WebDeps, 'db' | 'calls' | 'replies'>, identity: Identity): Promise<CallId | null> {
  if (!identity.isNumberedRetry || identity.hash === null || identity.idempotencyKey !== null) return null
  const retried = await findRetried(db, ctx.state.principal!, identity.hash)
  if (!retried || (!retried.requesterLeft && await replies.isListening(retried.replyTo))) return null
  return await calls.requesterBack(retried, replies.address) ? retried.id : null
}

/**
 * Joins a call: its answer comes when it ends, or at once when it has ended.
 * @throws ApiError idempotency_conflict when it was another request, result_expired when its answer is gone.
 */
export async function joinCall(ctx: CallContext, deps: Pick<WebDeps, 'db' | 'replies'>, callId: CallId, identity: Identity): Promise<PlacedCall> {
  const state = await readState(deps.db, callId)
  if (!state || state.requestHash !== identity.hash) throw new ApiError('idempotency_conflict', { param: 'Idempotency-Key' })
  if (state.state === 'expired') throw new ApiError('result_expired')
  ctx.state.callId = callId
  ctx.state.opened = true
  ctx.set('X-Call-Id', publicId('call', callId))
  ctx.set('Idempotent-Replayed', 'true')
  if (state.state === 'ended') {
    return { callId, joined: true, hasEnded: true, status: 'running', wait: { answer: Promise.resolve(state.answer), cancel: () => {} } }
  }
  const wait = await deps.replies.join(callId, state.accountId, state.deadlineInMs)
  return { callId, joined: true, hasEnded: false, status: state.status, wait }
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
