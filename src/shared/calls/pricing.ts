/**
 * What a call costs. Pure. All prices are whole credits; tokens are counts.
 * Source: contract sections 3 and 5.2.
 */

/** Chat: credits for every `perTokens` input and output tokens, and at least `minimum` a call. */
export type ChatPrice = { input: number; output: number; perTokens: number; minimum: number }

/** Media: a fixed number of credits a call. */
export type MediaPrice = { credits: number }

/** The price that is pinned on a call's row when it opens: later changes of the catalogue do not touch it. */
export type Price = ChatPrice | MediaPrice

export type Tokens = { input: number; output: number }

/** The largest number of credits one call may move: far below 2^53, so that sums stay exact in JavaScript too. */
export const MAX_CALL_CREDITS = 1_000_000_000_000

/** `max(minimum, ceil((input × price + output × price) / perTokens))`, exact in BigInt, at most MAX_CALL_CREDITS. */
export function chatCost(price: ChatPrice, tokens: Tokens): number {
  const total = BigInt(tokens.input) * BigInt(price.input) + BigInt(tokens.output) * BigInt(price.output)
  const per = BigInt(price.perTokens)
  const credits = (total + per - 1n) / per
  const limited = credits > BigInt(MAX_CALL_CREDITS) ? MAX_CALL_CREDITS : Number(credits)
  return Math.max(price.minimum, limited)
}

/** What a call costs at these tokens; media ignore them. */
export function costOf(price: Price, tokens: Tokens): number {
  return 'credits' in price ? price.credits : chatCost(price, tokens)
}

/** Output tokens assumed where a request names none (specification "Limits"). */
export const DEFAULT_MAX_TOKENS = 1024

/** Tokens that one image part of a message counts for in the estimate. */
const IMAGE_PART_TOKENS = 1000

/** The parts of a chat request that decide its pre-charge. */
export type EstimatedRequest = {
  messages: readonly unknown[]
  tools?: unknown
  max_tokens?: number
  n?: number
}

/**
 * The tokens a chat call is pre-charged for: `ceil(UTF-8 bytes / 3)` of the messages and tools, data URIs left out, plus
 * 1,000 for each image part; and the most output that the upstream is allowed. Bytes, never a tokenizer: every
 * tokenizer is quadratic on text that a client may choose (design section 7).
 */
export function estimateTokens(request: EstimatedRequest, maxOutputTokens: number | undefined): Tokens {
  const messages = measure(request.messages)
  const tools = request.tools === undefined ? { bytes: 0 } : measure(request.tools)
  const perChoice = outputLimit(request.max_tokens, maxOutputTokens)
  return {
    input: Math.ceil((messages.bytes + tools.bytes) / 3) + messages.images * IMAGE_PART_TOKENS,
    output: perChoice * (request.n ?? 1),
  }
}

/** Where a data URI may stand in a message part. A text that merely begins with `data:` is counted like any other. */
const DATA_URI_FIELDS = new Set(['url', 'image_url', 'data', 'file_data'])

function measure(value: unknown): { bytes: number; images: number } {
  const text = JSON.stringify(value)
  // The plain text is measured as it is: a replacer costs ten times as much, and few requests carry images.
  if (!text.includes('"image_url"') && !text.includes('"data:')) return { bytes: Buffer.byteLength(text), images: 0 }
  let images = 0
  const bare = JSON.stringify(value, (key, field: unknown) => {
    if (key === 'type' && field === 'image_url') images++
    return typeof field === 'string' && DATA_URI_FIELDS.has(key) && /^data:/i.test(field) ? '' : field
  })
  return { bytes: Buffer.byteLength(bare), images }
}

/** The `max_tokens` that the upstream is sent: the client's or 1024, never more than the model allows. */
export function outputLimit(maxTokens: number | undefined, maxOutputTokens: number | undefined): number {
  return Math.min(maxTokens ?? DEFAULT_MAX_TOKENS, maxOutputTokens ?? Number.MAX_SAFE_INTEGER)
}

/** The gateway's own count of what a chat answered, where the upstream reports no usage: as the estimate counts. */
export const countOutput = (choices: readonly unknown[]): number => Math.ceil(measure(choices).bytes / 3)
