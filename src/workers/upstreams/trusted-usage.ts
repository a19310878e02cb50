/** The one place that decides what of a reported usage is believed (docs/upstreams/answers.md#usage). Pure. */
import { ownCount } from '../../shared/calls/chat-settlement.ts'
import type { Tokens } from '../../shared/terms/pricing.ts'
import type { UpstreamUsage } from './adapter.ts'

/** Input in disjoint counts, as it was reported. */
type Input = Required<Pick<Tokens, 'input' | 'cached' | 'written'>>

/**
 * The three disjoint counts of input. Parts that are larger than their prompt are counted in addition to it if the
 * total covers them all; else they are not believed.
 */
function inputOf({ input, output, cached = 0, written = 0, total = 0, cachesApart }: UpstreamUsage): Input {
  if (cachesApart) return { input, cached, written }
  const parts = cached + written
  if (parts <= input) return { input: input - parts, cached, written }
  return input > 0 && total >= input + parts + output ? { input, cached, written } : { input, cached: 0, written: 0 }
}

/**
 * The output, with its reasoning, which some count in the total alone. What a total has beyond prompt and completion is
 * the reasoning that is reported, where that is exactly it; else first what a cache had a part in, and reasoning the
 * rest.
 */
function outputOf({
  input,
  output,
  cached = 0,
  written = 0,
  total = 0,
  reasoning,
  cachesApart,
}: UpstreamUsage): number {
  if (cachesApart || input === 0) return output
  const beyond = total - input - output
  if (beyond === reasoning) return output + beyond
  return output + Math.max(0, beyond - cached - written)
}

/** Whether some of the output was reasoning. */
export const hasReasoned = (usage: UpstreamUsage): boolean =>
  (usage.reasoning ?? 0) > 0 || outputOf(usage) > usage.output

/** What a chat can have used, by what was sent. All counts are tokens. */
export type UsageBounds = {
  /** What the call was charged for: its input, and `max_tokens` × `n`. */
  estimate: Tokens
  /** The most input that there can be: a token a byte, and the parts that have a price of their own. */
  mostInput: number
}

/** What is known of a chat besides what its upstream reports. */
export type Observed = {
  bounds: UsageBounds
  /** Our own count of the words that were received, in tokens; 0 where there were none. */
  counted: number
  /** Whether words were received after the report: its output is then too small. */
  isStale?: boolean
}

/** The tokens that a chat is settled on, and which reported counts were refused because they cannot be true. */
export type TrustedUsage = { tokens: Tokens; refused: ('input' | 'output')[] }

/**
 * What of a report is believed:
 *
 * | reported | settled on |
 * |---|---|
 * | nothing, or 0 input | the input that was charged for |
 * | input beyond a token a byte of what was sent, and its priced parts | the same, and it is refused |
 * | nothing, or 0 output | our own count of the words |
 * | output beyond twice `max_tokens` × `n` | the same, and it is refused |
 * | output, and words came after that | the larger of both |
 * | anything else | the report |
 */
export function trustedUsage(
  usage: UpstreamUsage | null,
  { bounds, counted, isStale = false }: Observed,
): TrustedUsage {
  const { estimate } = bounds
  const own = ownCount(counted, estimate)
  if (!usage) return { tokens: own, refused: [] }
  const input = inputOf(usage)
  const all = input.input + input.cached + input.written
  const output = outputOf(usage)
  const refused: TrustedUsage['refused'] = []
  if (all > bounds.mostInput) refused.push('input')
  if (output > 2 * estimate.output) refused.push('output')
  const isInput = all > 0 && !refused.includes('input')
  const isOutput = output > 0 && !refused.includes('output')
  const repeated = Math.min(usage.repeated ?? 0, input.written)
  const { reasoning = 0 } = usage
  return {
    tokens: {
      ...(isInput ? { ...input, ...(repeated > 0 && { inputAgain: repeated }) } : { input: own.input }),
      output: isOutput ? Math.max(output, isStale ? own.output : 0) : own.output,
      ...(isOutput && { reasoning: Math.min(reasoning || output - usage.output, output) }),
    },
    refused,
  }
}
