/**
 * What a worker tells of a call before its answer.
 */
import type { CallNews } from '../../shared/calls/channels.ts'

/** News of the worker that come before the stream has begun, and then as they come. */
export type NewsListener = { onNews: (news: CallNews) => void; attach: (listener: (news: CallNews) => void) => void }

/** Keeps news until somebody listens: the worker may be faster than the answer's beginning. */
export function bufferNews(): NewsListener {
  const early: CallNews[] = []
  let listener: ((news: CallNews) => void) | null = null
  return {
    onNews: (news) => (listener ? listener(news) : early.push(news)),
    attach: (next) => {
      listener = next
      early.splice(0).forEach(next)
    },
  }
}
