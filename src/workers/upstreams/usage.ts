/**
 * Token counts as upstreams report them. They decide what a call costs, so nothing is believed that cannot be.
 */
import { ceilOfProduct } from '../../shared/calls/pricing.ts'
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

/** What an upstream says of its input, before anything of it is believed. `cached` and `written` are beside `input`. */
type ReportedCounts = { input: unknown; cached: unknown; written: unknown; output: unknown }

/** The usage of these counts; null where one of them is missing or cannot be true. */
export function checkedUsage(
  { input, cached, written, output }: ReportedCounts,
  details: Fields,
): UpstreamUsage | null {
  if (!isCount(input) || !isCount(cached) || !isCount(written) || !isCount(output)) return null
  const thoughts = asFields(details.completion_tokens_details).reasoning_tokens ?? details.reasoning_tokens
  const reasoned = isCount(thoughts) && thoughts > 0
  return { input, cached, written, output, ...(reasoned && { reasoned }), details }
}

/**
 * The usage in OpenAI's `usage` object. Some servers count reasoning outside the completion, in the total alone: it is
 * output all the same. What was read from a cache or written to one is a part of the prompt; parts that are larger than
 * the whole are not believed. Of the other fields only those are kept that count tokens: `cost` and the like
 * are between the operator and the upstream.
 */
export function openaiUsage(usage: unknown): UpstreamUsage | null {
  const fields = asFields(usage)
  const details = Object.fromEntries(
    Object.entries(fields).filter(
      ([name, value]) => name.includes('tokens') && !TOP.has(name) && value !== null && value !== undefined,
    ),
  )
  const prompt = fields.prompt_tokens ?? fields.input_tokens
  const output = fields.completion_tokens ?? fields.output_tokens
  const total = fields.total_tokens
  const beyond = isCount(total) && isCount(prompt) ? total - prompt : 0
  const { cached, written } = cachedParts(fields, prompt)
  const counted = checkedUsage(
    {
      input: isCount(prompt) ? prompt - cached - written : prompt,
      cached,
      written,
      output: isCount(output) ? Math.max(output, beyond) : output,
    },
    details,
  )
  if (!counted) return null
  const costMicroUsd = reportedCost(fields)
  return {
    ...counted,
    ...(isCount(output) && beyond > output && { reasoned: true }),
    ...(costMicroUsd !== null && { costMicroUsd }),
  }
}

/** The parts of a prompt that a cache had a part in: under OpenAI's names, or DeepSeek's. */
function cachedParts(fields: Fields, prompt: unknown): { cached: number; written: number } {
  const parts = asFields(fields.prompt_tokens_details ?? fields.input_tokens_details)
  const read = parts.cached_tokens ?? fields.prompt_cache_hit_tokens
  const cached = isCount(read) ? read : 0
  const written = isCount(parts.cache_write_tokens) ? parts.cache_write_tokens : 0
  return isCount(prompt) && cached + written <= prompt ? { cached, written } : { cached: 0, written: 0 }
}

/** Dollars beyond which no answer cost anything. */
const MAX_DOLLARS = 1_000_000

/**
 * The cost that OpenRouter, and gateways like it, report in dollars, as whole micro-dollars, rounded up; null where
 * there is none. With a key of one's own at the vendor, the vendor's bill comes on top of the gateway's fee.
 */
export function reportedCost(usage: unknown): number | null {
  const { cost, is_byok: isByok, cost_details: details } = asFields(usage)
  const fee = microUsd(cost)
  if (fee === null || isByok !== true) return fee
  const bill = microUsd(asFields(details).upstream_inference_cost)
  return bill === null ? null : fee + bill
}

const microUsd = (dollars: unknown): number | null =>
  typeof dollars === 'number' && dollars >= 0 && dollars <= MAX_DOLLARS
    ? Number(ceilOfProduct(1_000_000, dollars))
    : null
