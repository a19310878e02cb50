/**
 * What a call costs. Pure. All prices are whole credits; tokens are counts; seconds are decimals.
 * The rules in words: docs/money.md#prices and docs/money.md#pre-charge.
 *
 * Every kind of price defines exactly what is due, as a fraction; `wholeCredits` alone makes credits of that.
 */
import type { CameAs, Exact, MediaShape, RowShape } from './media-rows.ts'
import { dearestOf, shapeAsCame } from './media-rows.ts'

/**
 * Chat: for every `perTokens` tokens `output`, and `input` for uncached input, `cachedInput` for what it reads from a
 * cache and `cacheWrite` for what it writes to one (both `input` if absent); besides them `perCall`; and at least
 * `minimum` a call. Credits where it is a price, micro-dollars where it is a cost.
 */
export type ChatPrice = {
  input: number
  output: number
  cachedInput?: number
  cacheWrite?: number
  perCall?: number
  perTokens: number
  minimum: number
}

/** Embeddings: for every `perTokens` tokens of input `input`, and at least `minimum` a call. */
export type EmbeddingPrice = Pick<ChatPrice, 'input' | 'perTokens' | 'minimum'>

/** Rankings: credits a search (`searchesOf`). */
export type RerankPrice = { perSearch: number }

/** Moderations: credits a call. */
export type CallPrice = { credits: number }

/** What is paid by tokens. What has no price of output has no output. */
type TokenPrice = Omit<ChatPrice, 'output'> & { output?: number }

/** What a picture or a video of a shape costs: by the second, or as a whole. */
export type MediaPriceRow = RowShape &
  ({ perSecond: number; credits?: undefined } | { credits: number; perSecond?: undefined })

/** Media: a fixed number of credits a picture or a video, or rows of which the first that fits counts. */
export type MediaPrice = { credits: number } | { prices: MediaPriceRow[] }

/**
 * Speech: for every `perCharacters` characters (1 if absent) `perCharacter`, and at least `minimum` a call. Credits
 * where it is a price, micro-dollars where it is a cost.
 */
export type SpeechPrice = { perCharacter: number; perCharacters?: number; minimum?: number }

/** What a call is priced by, where that is not its tokens: its shape, or how many characters or searches it has. */
export type Measured = MediaShape & { units?: number }

/** How much of a price the accounts of a group pay, in ten-thousandths; all of it if absent. */
export type Share = { priceBasisPoints?: number }

/**
 * The price that is pinned on a call's row when it opens, with the share of its account's group: later changes of
 * catalogue and groups do not touch it.
 */
export type Price = (ChatPrice | EmbeddingPrice | MediaPrice | RerankPrice | CallPrice | SpeechPrice) & Share

/** The basis points of a whole price. */
export const WHOLE_PRICE = 10_000

/** The price of a group whose accounts pay this many ten-thousandths of it. */
export const shareOf = <P extends Price>(price: P, priceBasisPoints: number): P =>
  priceBasisPoints === WHOLE_PRICE ? price : { ...price, priceBasisPoints }

/**
 * Tokens of a chat, in disjoint counts: `input` that was not cached, `cached` that was read from a cache, `written` to
 * one; and `output`, with its reasoning, `reasoning` of it where that is known. `inputAgain`: input that is billed once
 * more at the price of `input`, next to what it is counted as.
 */
export type Tokens = {
  input: number
  output: number
  cached?: number
  written?: number
  inputAgain?: number
  reasoning?: number
}

/** All input tokens: uncached, read from a cache, written to one. */
export const allInput = ({ input, cached = 0, written = 0 }: Tokens): number => input + cached + written

/** The tokens of a minute that a call reserves, by its estimate; none if it is not paid by tokens. */
export const reservedTokens = (estimate: Tokens | null): number => (estimate ? estimate.input + estimate.output : 0)

/** The largest number of credits one call may move: far below 2^53, so that sums stay exact in JavaScript too. */
export const MAX_CALL_CREDITS = 1_000_000_000_000

/** A fraction, rounded up. */
const ceilOf = ([due, of]: Exact): bigint => (due + of - 1n) / of

/** What is exactly due of a price, as credits: the group's share of it, rounded up once, at most MAX_CALL_CREDITS. */
export function wholeCredits({ priceBasisPoints = WHOLE_PRICE }: Share, [due, of]: Exact): number {
  const credits = ceilOf([due * BigInt(priceBasisPoints), of * BigInt(WHOLE_PRICE)])
  return credits > BigInt(MAX_CALL_CREDITS) ? MAX_CALL_CREDITS : Number(credits)
}

/** `max(minimum, tokens × their prices / perTokens + perCall)`, rounded up: see `wholeCredits`. */
export const chatCost = (price: TokenPrice & Share, tokens: Tokens): number =>
  wholeCredits(price, dueForTokens(price, tokens))

function dueForTokens(price: TokenPrice, tokens: Tokens): Exact {
  const { input, output = 0, cachedInput = input, cacheWrite = input, perCall = 0, perTokens, minimum } = price
  const total =
    (BigInt(tokens.input) + BigInt(tokens.inputAgain ?? 0)) * BigInt(input) +
    BigInt(tokens.cached ?? 0) * BigInt(cachedInput) +
    BigInt(tokens.written ?? 0) * BigInt(cacheWrite) +
    BigInt(tokens.output) * BigInt(output)
  const per = BigInt(perTokens)
  const due = total + BigInt(perCall) * per
  const least = BigInt(minimum) * per
  return [due > least ? due : least, per]
}

/**
 * What a chat is settled at, in credits: the price of its tokens, and never more than twice what it was charged.
 * `end_calls` and a rule of the row hold the same bound.
 */
export const settledCost = (price: TokenPrice & Share, tokens: Tokens, charged: number): number =>
  Math.min(chatCost(price, tokens), 2 * charged)

/** What a chat is charged before its usage is known: all of its input at the dearest of the three input prices. */
export function chatCharge(price: ChatPrice & Share, estimate: Tokens): number {
  const dearest = Math.max(price.input, price.cachedInput ?? 0, price.cacheWrite ?? 0)
  return chatCost({ ...price, input: dearest }, estimate)
}

/**
 * What a video costs, or a number of pictures, in credits: the most that they can turn out to cost, where their size or
 * quality is left to the upstream. Null where no row of the price fits: then they must not be made.
 */
export function mediaCost(price: MediaPrice & Share, shape: MediaShape, pictures = 1): number | null {
  const found = dueForMedia(price, shape)
  return found && wholeCredits(price, [found.due[0] * BigInt(pictures), found.due[1]])
}

/** What a picture or a video is due, before the group's share, and whether by its seconds; null where no row fits. */
export function dueForMedia(price: MediaPrice, shape: MediaShape): { due: Exact; isBySecond: boolean } | null {
  if ('credits' in price) return { due: [BigInt(price.credits), 1n], isBySecond: false }
  const found = dearestOf(price.prices, shape, (row) => {
    if (row.perSecond === undefined) return [BigInt(row.credits), 1n]
    return shape.duration === undefined ? null : productOf(row.perSecond, shape.duration)
  })
  return found && { due: found.cost, isBySecond: found.row.perSecond !== undefined }
}

/**
 * What pictures are settled at, in credits: those that were delivered, at the price of what came, and never above what
 * was charged for them.
 */
export function settledPictures(
  price: MediaPrice & Share,
  shape: MediaShape,
  { came, pictures, charged }: { came: CameAs; pictures: number; charged: number },
): number {
  const cost = mediaCost(price, pricedAs(price, shape, came), pictures)
  return Math.min(cost ?? charged, charged)
}

/** The shape that pictures are settled at: as they came, unless that has no price. */
export function pricedAs(price: MediaPrice, shape: MediaShape, came: CameAs): MediaShape {
  const made = shapeAsCame(shape, came)
  return dueForMedia(price, made) ? made : shape
}

/**
 * What a picture or a video costs at its upstream, in micro-dollars: by the second, as a whole, or of pictures in rows,
 * of which the first that fits counts.
 */
export type MediaCost =
  | { perSecond: number; perCall?: undefined; rows?: undefined }
  | { perCall: number; perSecond?: undefined; rows?: undefined }
  | { rows: (RowShape & { perCall: number })[]; perSecond?: undefined; perCall?: undefined }

/** What one picture or one video of this shape costs at its upstream, in micro-dollars, rounded up; null: unknown. */
export function mediaMicroUsd({ perSecond, perCall, rows }: MediaCost, shape: MediaShape): number | null {
  if (perCall !== undefined) return perCall
  const { duration } = shape
  const due = rows
    ? (dearestOf(rows, shape, (row) => [BigInt(row.perCall), 1n])?.cost ?? null)
    : perSecond === undefined || duration === undefined
      ? null
      : productOf(perSecond, duration)
  return due && Number(ceilOf(due))
}

/** What this many searches cost: credits of a price, micro-dollars of a cost. */
export const searchCost = (price: RerankPrice & Share, searches: number): number =>
  wholeCredits(price, [BigInt(price.perSearch) * BigInt(searches), 1n])

/** What a moderation costs, in credits. */
export const callCost = (price: CallPrice & Share): number => wholeCredits(price, [BigInt(price.credits), 1n])

/** What this many characters cost as speech: `max(minimum, characters × perCharacter / perCharacters)`, rounded up. */
export function speechCost(price: SpeechPrice & Share, characters: number): number {
  const { perCharacter, perCharacters = 1, minimum = 0 } = price
  const per = BigInt(perCharacters)
  const due = BigInt(characters) * BigInt(perCharacter)
  const least = BigInt(minimum) * per
  return wholeCredits(price, [due > least ? due : least, per])
}

/** `ceil(factor × decimal)`: see `productOf`. */
export const ceilOfProduct = (factor: number, decimal: number): bigint => ceilOf(productOf(factor, decimal))

/**
 * `factor × decimal`, exactly: of the decimal that the number is written as. Floating point would make 111 of
 * 100 × 1.1, rounded up.
 * @param factor a whole number
 * @param decimal finite, not negative
 */
function productOf(factor: number, decimal: number): Exact {
  const [mantissa = '', exponent = '0'] = String(decimal).split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const scale = fraction.length - Number(exponent)
  const product = BigInt(factor) * BigInt(whole + fraction)
  return scale <= 0 ? [product * 10n ** BigInt(-scale), 1n] : [product, 10n ** BigInt(scale)]
}

/** Output tokens assumed where neither a request nor its model names them. */
export const DEFAULT_MAX_TOKENS = 1024

/** UTF-8 bytes that count as a token if the model states nothing else. */
export const BYTES_PER_TOKEN = 3

/**
 * What vendors put before the tools of a request, at most, in tokens: Anthropic's page on pricing of tool use. Counted
 * in the dialects whose clients bring many of them.
 */
export const TOOLS_TOKENS = 1500

/** Input tokens of an image part if the model states nothing else. */
const IMAGE_TOKENS = 1500

/**
 * What a model states about how its requests are counted: its largest `max_tokens`, the one that is taken where a
 * request names none (1024 if absent), the bytes of a token (1 to 3), and the input tokens of a message part by its
 * kind.
 */
export type CountingRules = {
  maxOutputTokens?: number
  defaultOutputTokens?: number
  bytesPerToken?: number
  partTokens?: Readonly<Record<string, number>>
}

/**
 * The input tokens that a request is estimated at.
 * @param bytes those that count as text
 * @param fixed the tokens of what does not count by its bytes
 */
export const estimatedInput = (
  bytes: number,
  fixed: number,
  { bytesPerToken = BYTES_PER_TOKEN }: CountingRules,
): number => Math.ceil(bytes / bytesPerToken) + fixed

/** The most input tokens that a request can have of which `estimatedInput` is this: a token a byte of its text. */
export const mostInput = (
  estimated: number,
  fixed: number,
  { bytesPerToken = BYTES_PER_TOKEN }: CountingRules,
): number => Math.ceil((estimated - fixed) * bytesPerToken) + fixed

/**
 * The input tokens that a part of this kind counts for next to its bytes; null for a kind that the model does not
 * price, which is refused. `image` and `video` are the kinds of `image_url` and `video_url`.
 */
export function tokensOfPart(type: unknown, partTokens: CountingRules['partTokens'] = {}): number | null {
  if (typeof type !== 'string' || type === 'image') return null
  const kind = type.replace(/_url$/, '')
  const tokens = [type, kind].find((name) => Object.hasOwn(partTokens, name))
  if (tokens !== undefined) return partTokens[tokens]!
  if (type === 'text') return 0
  return type === 'image_url' ? IMAGE_TOKENS : null
}

/** The `max_tokens` that the upstream is sent: the client's or the model's default, at most the model's own. */
export function outputLimit(
  maxTokens: number | null | undefined,
  { defaultOutputTokens = DEFAULT_MAX_TOKENS, maxOutputTokens = Infinity }: CountingRules,
): number {
  return Math.min(maxTokens ?? defaultOutputTokens, maxOutputTokens)
}

/**
 * What a call may come to: in credits, and in tokens. Infinity where there is no bound. `share`: credits that a lowered
 * limit may take; more, up to `credits`, only for the least output tokens.
 */
export type CallBounds = { credits: number; share: number; tokens: number }

/**
 * The most output tokens per choice within the bounds of a call, if a request has no limit of its own.
 * @param estimate of the request with all of `limit`, for `choices` choices
 * @param least a limit is not lowered below this many tokens: an answer that is cut there is of little use
 * @returns null if the bounds allow less than `least`, or than a limit that is lower itself
 */
export function limitWithin(
  { credits, share, tokens }: CallBounds,
  price: ChatPrice & Share,
  { limit, choices, estimate, least }: { limit: number; choices: number; estimate: Tokens; least: number },
): number | null {
  const costOf = (output: number): number =>
    chatCharge(price, { ...estimate, output: estimate.output - (limit - output) * choices })
  const beyond = Math.max(0, estimate.input + estimate.output - tokens)
  const highest = limit - Math.ceil(beyond / choices)
  let paid = Math.min(least, limit)
  if (highest < paid || costOf(paid) > credits) return null
  for (let most = highest; paid < most;) {
    const middle = Math.ceil((paid + most) / 2)
    if (costOf(middle) <= share) paid = middle
    else most = middle - 1
  }
  return paid
}
