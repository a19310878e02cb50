/**
 * Updates of a call before its answer.
 */
import type { CallUpdate } from '../../../shared/replies/channels.ts'

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
