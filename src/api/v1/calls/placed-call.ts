/**
 * A placed call, and its updates before its answer.
 */
import type { Context } from 'koa'
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import type { Wait } from '../../../shared/replies/reply-channel.ts'
import type { Relayed } from './relayed-stream.ts'
import type { RequestState } from '../../middleware/request-context.ts'
import type { CallUpdate } from '../../../shared/replies/channels.ts'

/**
 * A placed call and the wait for its answer. `status` follows the worker's updates. `joined`: another request had
 * opened it; `hasEnded`: before it was joined, so that its answer is there. `relayed`: what has come of its stream;
 * null if this request does not get its chunks.
 */
export type PlacedCall = {
  callId: CallId
  wait: Wait
  status: 'queued' | 'running'
  joined: boolean
  hasEnded: boolean
  relayed: Relayed | null
  /** What this request has charged, and what that left; null if another request had opened the call. */
  charged: { credits: number; balance: number } | null
}

/** The context of a request that places a call. */
export type CallContext = Context & { state: RequestState & { principal: Principal; callId: CallId } }

/** Updates of the worker that come before the stream has begun, and then as they come. */
export type UpdateListener = {
  onUpdate: (update: CallUpdate) => void
  /** Resolves with the first frames of a chat. */
  framesBegin: Promise<'frames'>
  attach: (listener: (update: CallUpdate) => void) => void
}

/** Buffers updates until there is a listener: the worker may be faster than the start of the answer. */
export function bufferUpdates(): UpdateListener {
  const early: CallUpdate[] = []
  let listener: ((update: CallUpdate) => void) | null = null
  let begin = (_frames: 'frames'): void => {}
  const framesBegin = new Promise<'frames'>((resolve) => {
    begin = resolve
  })
  return {
    onUpdate: (update) => {
      if (listener) return listener(update)
      early.push(update)
      if (update.type === 'chunks') begin('frames')
    },
    framesBegin,
    attach: (next) => {
      listener = next
      early.splice(0).forEach(next)
    },
  }
}
