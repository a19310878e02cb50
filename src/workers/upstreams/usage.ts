/**
 * The one place that reads what upstreams report of their tokens, wherever and under whichever names they do. What of
 * it is believed is decided in trusted-usage.ts. Pure.
 */
import { ceilOfProduct } from '../../shared/terms/pricing.ts'
import type { UpstreamUsage } from './adapter.ts'
import { asFields, asList, isFields } from '../../shared/platform/fields.ts'
import type { Fields } from '../../shared/platform/fields.ts'

type Count = 'input' | 'output' | 'total' | 'cached' | 'written' | 'repeated' | 'reasoning'

/**
 * Each count under all names that providers give it, in lower case with underscores: `promptTokens` is read as
 * `prompt_tokens`. Where several are there, the largest counts: servers that copy each other's names leave the other
 * one at zero. Sources: the API references of OpenAI, Anthropic, DeepSeek, Moonshot, OpenRouter, xAI, Mistral,
 * DashScope, Gemini, Bedrock and Ollama, and the code of LiteLLM, LangChain and new-api.
 */
const NAMES: Readonly<Record<Count, readonly string[]>> = {
  input: [
    'prompt_tokens',
    'input_tokens',
    'prompt_token_count',
    'input_token_count',
    'prompt_eval_count',
    'total_input_tokens',
  ],
  output: [
    'completion_tokens',
    'output_tokens',
    'completion_token_count',
    'output_token_count',
    'candidates_token_count',
    'generated_tokens',
    'eval_count',
    'total_output_tokens',
  ],
  total: ['total_tokens', 'total_token_count'],
  cached: [
    'cached_tokens',
    'cache_read_input_tokens',
    'prompt_cache_hit_tokens',
    'cache_read_tokens',
    'cache_read_input_token_count',
    'cache_read',
    'cache_hit_tokens',
    'cached_read_tokens',
    'cached_input_tokens',
    'cached_prompt_tokens',
    'cached_prompt_text_tokens',
    'cached_content_token_count',
    'input_cached_tokens',
    'prompt_cached_tokens',
    'num_cached_tokens',
  ],
  written: [
    'cache_write_tokens',
    'cache_creation_input_tokens',
    'cache_creation_tokens',
    'cache_creation',
    'cache_write',
    'cache_write_input_tokens',
    'cache_write_input_token_count',
    'cached_creation_tokens',
    'cached_write_tokens',
  ],
  repeated: ['ephemeral_1h_input_tokens', 'claude_cache_creation_1_h_tokens'],
  reasoning: ['reasoning_tokens', 'thinking_tokens', 'thoughts_token_count', 'reasoning_token_count'],
}

/** Fields that the details of a usage have too; only its top level has the sums. */
const IN_DETAILS: ReadonlySet<Count> = new Set(['cached', 'written', 'repeated', 'reasoning'])

/** The objects of a usage that hold further counts. */
const isDetail = (name: string): boolean => name.includes('details') || name === 'cache_creation'

/** Whether a value is a count of tokens: a whole number that is not negative. Neither a text nor a fraction is one. */
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

const snakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The count that a name means. */
const COUNTS: ReadonlyMap<string, Count> = new Map(
  (Object.keys(NAMES) as Count[]).flatMap((count) => NAMES[count].map((name) => [name, count] as const)),
)

/** Adds the counts among fields, and among those of their details; the largest of each. */
function addCounts(counts: Record<Count, number>, fields: Fields, isDetails = false): void {
  for (const name in fields) {
    const value = fields[name]
    const known = snakeCase(name)
    const count = COUNTS.get(known)
    if (isCount(value)) {
      if (count && (!isDetails || IN_DETAILS.has(count))) counts[count] = Math.max(counts[count], value)
    } else if (!isDetails && isFields(value) && isDetail(known)) addCounts(counts, value, true)
  }
}

/**
 * A usage object in any provider's names; null where it reports nothing. Zero is "not reported": no request has an
 * empty prompt.
 * @param cachesApart whether what a cache had a part in is not in the input, as in Anthropic's API
 */
function reported(usage: unknown, cachesApart: boolean): UpstreamUsage | null {
  if (!isFields(usage)) return null
  const counts = { input: 0, output: 0, cached: 0, written: 0, repeated: 0, total: 0, reasoning: 0 }
  addCounts(counts, usage)
  // Some report the sum and the output alone.
  if (counts.input === 0 && counts.output > 0) counts.input = Math.max(0, counts.total - counts.output)
  const { input, output, cached, written } = counts
  if (input + output === 0 && !(cachesApart && cached + written > 0)) return null
  const costMicroUsd = reportedCost(usage)
  return { ...counts, cachesApart, ...(costMicroUsd !== null && { costMicroUsd }) }
}

/** The usage of OpenAI's kind: what a cache had a part in is a part of the prompt. Null where it reports nothing. */
export const openaiUsage = (usage: unknown): UpstreamUsage | null => reported(usage, false)

/** The usage of Anthropic's kind: what a cache had a part in is not in the input. Null where it reports nothing. */
export const anthropicUsage = (usage: unknown): UpstreamUsage | null => reported(usage, true)

/**
 * The input that an answer without an output reports, in tokens: under any name, as a sum, as a text of digits, at the
 * top of the answer, or as Cohere does. Null where it reports none.
 */
export function inputUsage(answer: Fields): UpstreamUsage | null {
  const { usage, usage_metadata: metadata, usageMetadata, meta } = answer
  const { billed_units: billed, tokens } = asFields(meta)
  for (const place of [usage, metadata, usageMetadata, billed, tokens, answer]) {
    const counts = { input: 0, output: 0, cached: 0, written: 0, repeated: 0, total: 0, reasoning: 0 }
    const numbers = Object.entries(asFields(place)).map(([name, value]) => [name, digits(value)])
    addCounts(counts, Object.fromEntries(numbers) as Fields)
    const input = counts.input || counts.total
    if (input > 0) return { input, output: 0 }
  }
  return null
}

const digits = (value: unknown): unknown =>
  typeof value === 'string' && /^\d{1,15}$/.test(value) ? Number(value) : value

/** Two reports of one answer: they are cumulative, so the larger of each count is used. */
export function largerUsage(one: UpstreamUsage | null, other: UpstreamUsage): UpstreamUsage {
  if (!one) return other
  const larger = (count: Count): number => Math.max(one[count] ?? 0, other[count] ?? 0)
  const costs = [one.costMicroUsd, other.costMicroUsd].filter((cost) => cost !== undefined)
  return {
    input: larger('input'),
    output: larger('output'),
    total: larger('total'),
    reasoning: larger('reasoning'),
    cached: larger('cached'),
    written: larger('written'),
    repeated: larger('repeated'),
    cachesApart: other.cachesApart === true,
    ...(costs.length > 0 && { costMicroUsd: Math.max(...costs) }),
  }
}

/** The names of a usage object. */
const isUsage = (name: string): boolean => name === 'usage' || name === 'usage_metadata' || name === 'usageMetadata'

/** How deep a usage may be below the top of an answer: `x_groq.usage`, `response.metadata.usage`. */
const MAX_DEPTH = 2

/**
 * Takes the usages out of an answer or a chunk, wherever its provider puts them: at the top, in an object of its own,
 * in a choice, its message or its delta. Never out of the words: a model could write one there.
 * @returns what is reported, null where nothing is; and the rest, which may go to a customer
 */
export function takeUsage(answer: Fields): { usage: UpstreamUsage | null; rest: Fields } {
  // Most chunks have none, and are passed on without a copy.
  if (!hasUsage(answer, MAX_DEPTH) && !asList(answer.choices).some(choiceHasUsage)) return { usage: null, rest: answer }
  const found: unknown[] = []
  const { choices, ...head } = answer
  const rest = without(head, MAX_DEPTH, found)
  if (Array.isArray(choices))
    rest.choices = choices.map((choice) => (isFields(choice) ? ofChoice(choice, found) : choice))
  else if (choices !== undefined) rest.choices = choices
  const usage = found.map(openaiUsage).reduce((sum, one) => (one ? largerUsage(sum, one) : sum), null)
  return { usage, rest }
}

function hasUsage(fields: unknown, depth: number): boolean {
  if (!isFields(fields)) return false
  for (const name in fields) if (isUsage(name) || (depth > 0 && hasUsage(fields[name], depth - 1))) return true
  return false
}

const choiceHasUsage = (choice: unknown): boolean =>
  isFields(choice) && (hasUsage(choice, 0) || hasUsage(choice.message, 0) || hasUsage(choice.delta, 0))

function ofChoice(choice: Fields, found: unknown[]): Fields {
  const rest = without(choice, 0, found)
  for (const name of ['message', 'delta']) if (isFields(rest[name])) rest[name] = without(rest[name], 0, found)
  return rest
}

/** The fields without their usages, which are added to `found`. */
function without(fields: Fields, depth: number, found: unknown[]): Fields {
  const rest: Fields = {}
  for (const [name, value] of Object.entries(fields)) {
    if (isUsage(name)) found.push(value)
    else rest[name] = depth > 0 && isFields(value) ? without(value, depth - 1, found) : value
  }
  return rest
}

/** Dollars beyond which no answer cost anything. */
const MAX_DOLLARS = 1_000_000

/**
 * The cost that OpenRouter, and gateways like it, report in dollars, as whole micro-dollars, rounded up, or
 * null. With a key of one's own at the vendor, the vendor's bill comes on top of the gateway's fee.
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
