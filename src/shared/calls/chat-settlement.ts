/**
 * What a chat is settled on, decided from how it ended: the one place that says what a cut answer costs. Pure.
 *
 * What was delivered is paid; what the upstream failed to do is refunded in full.
 */
import type { GatewayError } from '../errors.ts'
import { gatewayError } from '../errors.ts'
import { allInput } from './pricing.ts'
import type { Tokens } from './pricing.ts'

/**
 * How a chat ended:
 * - `finished`: the upstream said that its answer is complete.
 * - `deadline`: the call's own deadline came first.
 * - `too_long`: the answer reached MAX_ANSWER_BYTES.
 * - `client_left`: the client of its stream has gone.
 * - `shutdown`: this worker has no time left.
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
  /** Whether the request had left for the upstream. */
  sent: boolean
  /** Whether its chunks went to the client as they came. */
  isRelayed: boolean
  /** Our own count of the words that were received; 0 where there was none. */
  counted: number
  /** What the upstream has reported, if anything. */
  reported: Tokens | null
  /** Whether words were received after that report: its output is then too small. */
  isReportStale: boolean
  /** The input that the call was charged for. */
  estimatedInput: number
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
export function settleChat(evidence: ChatEvidence): ChatVerdict {
  const { end, sent, isRelayed, counted } = evidence
  switch (end) {
    case 'finished':
      return { is: 'paid', tokens: tokensOf(evidence), finish: 'stop' }
    case 'deadline':
    case 'too_long':
    case 'worker_lost':
      return counted > 0 ? { is: 'paid', tokens: cutTokens(evidence), finish: 'length' } : REFUNDED
    case 'client_left':
      // The upstream has the whole prompt from here on, whether or not anything came back.
      return sent ? { is: 'paid', tokens: cutTokens(evidence), finish: 'cancelled' } : REFUNDED
    case 'shutdown':
      // A stream cannot be continued with a second answer; a request that waits for the whole answer can get one.
      return isRelayed && counted > 0
        ? { is: 'paid', tokens: cutTokens(evidence), finish: 'length' }
        : { is: 'requeued' }
    case 'upstream_failed':
      return REFUNDED
  }
}

/**
 * What the upstream reports, else our own count of both sides. A report that words came behind does not count those.
 */
function tokensOf({ reported, isReportStale, counted, estimatedInput }: ChatEvidence): Tokens {
  if (!reported) return { input: estimatedInput, output: counted }
  return isReportStale ? { ...reported, output: Math.max(reported.output, counted) } : reported
}

/** For an answer that was cut: an early report may not include the input yet. */
function cutTokens(evidence: ChatEvidence): Tokens {
  const tokens = tokensOf(evidence)
  return allInput(tokens) > 0 ? tokens : { input: evidence.estimatedInput, output: tokens.output }
}
