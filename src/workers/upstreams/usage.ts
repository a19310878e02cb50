/**
 * Token counts as upstreams report them. They decide what a call costs, so nothing is believed that cannot be.
 */
import type { UpstreamUsage } from './adapter.ts'
import { asFields } from './fields.ts'
import type { Fields } from './fields.ts'

/** The largest count that is believed: beyond every model's context. */
const MAX_TOKENS = 10_000_000

/** The counts that an answer names at its top. The rest of its `usage` is kept where it counts tokens. */
const TOP = new Set(['prompt_tokens', 'completion_tokens', 'total_tokens', 'input_tokens', 'output_tokens'])

/** Whether a value is a count of tokens that can be true: an integer from 0 to 10,000,000. */
export const isCount = (value: unknown): value is number =>
  Number.isInteger(value) && (value as number) >= 0 && (value as number) <= MAX_TOKENS

/** The usage of these counts; null where one of them is missing or cannot be true. */
export function checkedUsage(input: unknown, output: unknown, details: Fields): UpstreamUsage | null {
  return isCount(input) && isCount(output) ? { input, output, details } : null
}

/**
 * The usage in OpenAI's `usage` object. Some servers count reasoning outside the completion, in the total alone: it is
 * output all the same. Of the other fields only those are kept that count tokens: `cost` and the like
 * are between the operator and the upstream.
 */
export function openaiUsage(usage: unknown): UpstreamUsage | null {
  const fields = asFields(usage)
  const details = Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => name.includes('tokens') && !TOP.has(name) && value !== null && value !== undefined,
    ),
  )
  const input = fields.prompt_tokens ?? fields.input_tokens
  const output = fields.completion_tokens ?? fields.output_tokens
  const total = fields.total_tokens
  const beyond = isCount(total) && isCount(input) ? total - input : 0
  return checkedUsage(input, isCount(output) ? Math.max(output, beyond) : output, details)
}
