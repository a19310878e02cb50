/**
 * A placed call.
 */
import type { Context } from 'koa'
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import type { Wait } from '../../../shared/replies/reply-channel.ts'
import type { Relayed } from './relayed-stream.ts'
import type { RequestState } from '../../middleware/request-context.ts'

/**
 * A placed call and the wait for its answer. `status` follows the worker's updates. `joined`: another request had
 * opened it; `hasEnded`: before it was joined, so that its answer is there. `relayed`: what has come of its stream;
 * null where this request does not get its chunks.
 */
export type PlacedCall = {
  callId: CallId
  wait: Wait
  status: 'queued' | 'running'
  joined: boolean
  hasEnded: boolean
  relayed: Relayed | null
  /** What this request has charged, and what that left; null where another request had opened the call. */
  charged: { credits: number; balance: number } | null
}

/** The context of a request that places a call. */
export type CallContext = Context & { state: RequestState & { principal: Principal; callId: CallId } }
