/**
 * What a chat is settled on, decided from how it ended: the one place that decides what a cut answer costs. Pure.
 *
 * What was delivered is paid; what the upstream failed to do is refunded in full.
 */
import type { GatewayError } from '../platform/errors.ts'
import { gatewayError } from '../platform/errors.ts'
import type { Tokens } from '../terms/pricing.ts'

/**
 * How a chat ended:
 * - `finished`: the upstream reported that its answer is complete.
 * - `deadline`: the call's own deadline came first.
 * - `too_long`: the answer reached MAX_ANSWER_BYTES.
 * - `client_left`: the client of its stream has disconnected.
 * - `shutdown`: this worker must stop now.
 * - `worker_lost`: the worker of a stream is gone, and its web process counts what it sent on.
 * - `upstream_failed`: everything else.
 */
export type ChatEnd =
  | 'finished'
  | 'deadline'
  | 'too_long'
  | 'client_left'
  | 'shutdown'
  | 'worker_lost'
  | 'upstream_failed'

/** Everything that the decision depends on. All counts are tokens. */
export type ChatEvidence = {
  end: ChatEnd
  /** Whether the request was sent to the upstream. */
  sent: boolean
  /** Whether its chunks went to the client as they came. */
  isRelayed: boolean
  /** Our own count of the words that were received; 0 if there were none. */
  counted: number
  /** What it is settled on if it is paid: the upstream's report as far as it is believed, else our own count. */
  tokens: Tokens
}

/**
 * - `paid`: settled on these tokens; `finish` is the finish_reason of what the upstream did not finish.
 * - `refunded`: every credit goes back.
 * - `requeued`: another worker goes on with the call.
 */
export type ChatVerdict =
  | { is: 'paid'; tokens: Tokens; finish: 'stop' | 'length' | 'cancelled' }
  | { is: 'refunded' }
  | { is: 'requeued' }

/** The end of a stream whose worker was lost before it had delivered any words. */
export const WORKER_LOST: GatewayError = gatewayError(
  'upstream_failed',
  'The worker was lost while it streamed. The credits charged for this call were refunded.',
)

const REFUNDED: ChatVerdict = { is: 'refunded' }

/** What becomes of the charge of a chat. */
export function settleChat({ end, sent, isRelayed, counted, tokens }: ChatEvidence): ChatVerdict {
  switch (end) {
    case 'finished':
      return { is: 'paid', tokens, finish: 'stop' }
    case 'deadline':
    case 'too_long':
    case 'worker_lost':
      return counted > 0 ? { is: 'paid', tokens, finish: 'length' } : REFUNDED
    case 'client_left':
      // The upstream has the whole prompt from here on, whether or not anything came back.
      return sent ? { is: 'paid', tokens, finish: 'cancelled' } : REFUNDED
    case 'shutdown':
      // A stream cannot be continued with a second answer; a request that waits for the whole answer can get one.
      return isRelayed && counted > 0 ? { is: 'paid', tokens, finish: 'length' } : { is: 'requeued' }
    case 'upstream_failed':
      return REFUNDED
  }
}

/**
 * The gateway's own count of a chat: its input as it was charged for, and its words, at most twice the output that its
 * upstream was allowed.
 */
export const ownCount = (words: number, { input, output }: Tokens): Tokens => ({
  input,
  output: Math.min(words, 2 * output),
})
