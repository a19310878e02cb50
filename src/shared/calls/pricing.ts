/**
 * What a call costs. Pure. All prices are whole credits; tokens are counts.
 * The rules in words: docs/money.md#prices and docs/money.md#pre-charge.
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

/** Output tokens assumed where a request names none. */
export const DEFAULT_MAX_TOKENS = 1024

/** UTF-8 bytes that count as a token where the model says nothing else. */
const BYTES_PER_TOKEN = 3

/** Input tokens of an image part where the model says nothing else. */
const IMAGE_TOKENS = 1500

/**
 * What a model says of how its requests are counted: its largest `max_tokens`, the bytes of a token (1 to 3), and the
 * input tokens of a message part by its kind.
 */
export type CountingRules = {
  maxOutputTokens?: number
  bytesPerToken?: number
  partTokens?: Readonly<Record<string, number>>
}

/** The fields of a valid chat body that decide its pre-charge, beside its length. */
export type CountedChat = {
  messages: readonly { content?: unknown }[]
  max_tokens?: number | null
  max_completion_tokens?: number | null
  n?: number | null
  prediction?: unknown
}

/**
 * The tokens a chat call is pre-charged for. Input: the UTF-8 bytes of the whole body as JSON, less the `data:` URIs of
 * its image parts, by `bytesPerToken`, plus what each part counts for. Output: the most that the upstream is allowed,
 * and the prediction, of which upstreams bill as output what the answer does not use. Bytes, never a tokenizer: every
 * tokenizer is quadratic on text that a client may choose.
 */
export function estimateTokens(body: CountedChat, rules: CountingRules): Tokens {
  let bytes = Buffer.byteLength(JSON.stringify(body))
  let tokens = 0
  for (const part of body.messages.flatMap(partsOf)) {
    tokens += tokensOfPart(part.type, rules.partTokens) ?? 0
    if (part.type === 'image_url') bytes -= bytesOfDataUri(part.image_url)
  }
  const perChoice = outputLimit(body.max_tokens ?? body.max_completion_tokens, rules.maxOutputTokens)
  const tokensOfBytes = (count: number): number => Math.ceil(count / (rules.bytesPerToken ?? BYTES_PER_TOKEN))
  const predicted = body.prediction ? tokensOfBytes(Buffer.byteLength(JSON.stringify(body.prediction))) : 0
  return { input: tokensOfBytes(bytes) + tokens, output: (perChoice + predicted) * (body.n ?? 1) }
}

const partsOf = ({ content }: { content?: unknown }): Record<string, unknown>[] =>
  Array.isArray(content) ? content : []

/**
 * The input tokens that a part of this kind counts for beside its bytes; null for a kind that the model does not price,
 * which is refused. `image` and `video` are the kinds of `image_url` and `video_url`.
 */
export function tokensOfPart(type: unknown, partTokens: CountingRules['partTokens'] = {}): number | null {
  if (typeof type !== 'string' || type === 'image') return null
  const kind = type.replace(/_url$/, '')
  const tokens = [type, kind].find((name) => Object.hasOwn(partTokens, name))
  if (tokens !== undefined) return partTokens[tokens]!
  if (type === 'text') return 0
  return type === 'image_url' ? IMAGE_TOKENS : null
}

/** The bytes of an image that stands in its part as a `data:` URI; 0 for an address. */
function bytesOfDataUri(image: unknown): number {
  const url = typeof image === 'object' && image !== null ? (image as { url?: unknown }).url : image
  return typeof url === 'string' && /^data:/i.test(url) ? Buffer.byteLength(JSON.stringify(url)) - 2 : 0
}

/** The `max_tokens` that the upstream is sent: the client's or 1024, never more than the model allows. */
export function outputLimit(maxTokens: number | null | undefined, maxOutputTokens: number | undefined): number {
  return Math.min(maxTokens ?? DEFAULT_MAX_TOKENS, maxOutputTokens ?? Number.MAX_SAFE_INTEGER)
}
