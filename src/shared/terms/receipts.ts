/**
 * The receipt of a call: what it was charged for, line by line, computed from its row. Pure.
 *
 * The lines add up to the credits that the call has taken, exactly: quantities at the prices of its version, the
 * minimum, the group's share, the bound of what was held, rounding up, and what could not be collected.
 */
import type { Modality } from './kinds.ts'
import type { CallStatus } from './lifecycle.ts'
import { hasEnded } from './lifecycle.ts'
import type { Exact, MediaShape } from './media-rows.ts'
import type { CallPrice, ChatPrice, EmbeddingPrice, MediaPrice, Price, RerankPrice, Share } from './pricing.ts'
import type { SpeechPrice, Tokens } from './pricing.ts'
import { WHOLE_PRICE, dueForMedia } from './pricing.ts'

/** What the line of a receipt is about. */
export const RECEIPT_WHATS = [
  'input',
  'cachedInput',
  'cacheWrite',
  'inputAgain',
  'output',
  'image',
  'video',
  'moderation',
  'rerank',
  'speech',
  'transcription',
  'call',
  'perCall',
  'minimum',
  'group',
  'limit',
  'rounding',
  'uncollected',
  'held',
  'refund',
] as const

/** What quantities are counted in. `share`: the part of the price that a group pays. */
export const RECEIPT_UNITS = ['token', 'picture', 'video', 'second', 'character', 'search', 'call', 'share'] as const

type What = (typeof RECEIPT_WHATS)[number]
type Unit = (typeof RECEIPT_UNITS)[number]

/** A line of a receipt: quantity and signed credits are decimals, exact to 40 digits behind the point. */
export type ReceiptLine = { what: What; quantity: string; unit: Unit; credits: string }

/** What a receipt is computed from: columns of the call's row. Amounts in credits. */
export type ReceiptFacts = {
  modality: Modality
  status: CallStatus
  /** Null only for a refusal. */
  price: Price | null
  held: number
  /** Taken so far; and what its price asked for beyond the balance. */
  credits: number
  uncollected: number
  /** Null while they are unknown. */
  tokens: Tokens | null
  /** Pictures that were delivered. */
  pictures: number | null
  /** Characters or searches. */
  units: number | null
  shape: MediaShape
}

/** Digits behind the point that a line has at most: a price for a divisor of a power of ten needs fewer. */
const DIGITS = 40
const ONE = 10n ** BigInt(DIGITS)

/** A line before its credits are text: in units of 10^-40 credits. */
type Line = { what: What; quantity: string; unit: Unit; amount: bigint }

const line = (what: What, quantity: number | string, unit: Unit, [due, of]: Exact): Line => ({
  what,
  quantity: String(quantity),
  unit,
  amount: (due * ONE) / of,
})

const whole = (credits: number): Exact => [BigInt(credits), 1n]

const sumOf = (lines: readonly Line[]): bigint => lines.reduce((sum, { amount }) => sum + amount, 0n)

/** The receipt of a call; none of a refusal. While it runs it has one line, of what it holds. */
export function receiptOf(facts: ReceiptFacts): ReceiptLine[] {
  const { status, price, held } = facts
  if (price === null) return []
  const taken = line('held', 1, 'call', whole(held))
  if (!hasEnded(status)) return [shown(taken)]
  if (status === 'failed') return [shown(taken), shown(line('refund', 1, 'call', whole(-held)))]
  return settled(price, facts).map(shown)
}

/** The lines of a call that succeeded: a row from before its measures were stored has one line of all of it. */
function settled(price: Price, facts: ReceiptFacts): Line[] {
  const { credits, uncollected } = facts
  const cost = credits + uncollected
  const used = quantitiesOf(price, facts)
  const lines = used ?? [line('call', 1, 'call', whole(cost))]
  if (used) {
    withMinimum(price, lines)
    withShare(price, lines)
    withWholeCredits(cost, lines)
  }
  if (uncollected > 0) lines.push(line('uncollected', 1, 'call', whole(-uncollected)))
  return lines
}

/** What the price of each kind has one of. */
const PRICED_BY: Record<Modality, readonly string[]> = {
  chat: ['perTokens'],
  embedding: ['perTokens'],
  image: ['credits', 'prices'],
  video: ['credits', 'prices'],
  transcription: ['credits', 'prices'],
  moderation: ['credits'],
  rerank: ['perSearch'],
  speech: ['perCharacter'],
}

/** What was used, each at its own price; null where the row does not have it. */
function quantitiesOf(price: Price, facts: ReceiptFacts): Line[] | null {
  const { modality, tokens, pictures, units } = facts
  if (!PRICED_BY[modality].some((name) => name in price)) return null
  switch (modality) {
    case 'chat':
    case 'embedding':
      return tokens && linesOfTokens(price as ChatPrice | EmbeddingPrice, tokens)
    case 'image':
      return pictures === null ? null : linesOfMedia(price as MediaPrice, facts.shape, modality, pictures)
    case 'video':
    case 'transcription':
      return linesOfMedia(price as MediaPrice, facts.shape, modality, 1)
    case 'moderation':
      return [line('moderation', 1, 'call', whole((price as CallPrice).credits))]
    case 'rerank': {
      if (units === null) return null
      return [line('rerank', units, 'search', [BigInt((price as RerankPrice).perSearch) * BigInt(units), 1n])]
    }
    case 'speech': {
      const { perCharacter, perCharacters = 1 } = price as SpeechPrice
      const due = BigInt(perCharacter) * BigInt(units ?? 0)
      return units === null ? null : [line('speech', units, 'character', [due, BigInt(perCharacters)])]
    }
  }
}

function linesOfTokens(price: Partial<ChatPrice> & EmbeddingPrice, tokens: Tokens): Line[] {
  const { input, output = 0, cachedInput = input, cacheWrite = input, perCall = 0, perTokens } = price
  const counts: [What, number | undefined, number][] = [
    ['input', tokens.input, input],
    ['cachedInput', tokens.cached, cachedInput],
    ['cacheWrite', tokens.written, cacheWrite],
    ['inputAgain', tokens.inputAgain, input],
    ['output', tokens.output, output],
  ]
  const lines = counts.flatMap(([what, count, rate]) =>
    count ? [line(what, count, 'token', [BigInt(count) * BigInt(rate), BigInt(perTokens)])] : [],
  )
  if (perCall > 0) lines.push(line('perCall', 1, 'call', whole(perCall)))
  return lines
}

/** Pictures, a video, or a transcription. */
function linesOfMedia(
  price: MediaPrice,
  shape: MediaShape,
  what: 'image' | 'video' | 'transcription',
  pictures: number,
): Line[] | null {
  const found = dueForMedia(price, shape)
  if (!found) return null
  const { due, isBySecond } = found
  if (isBySecond) return [line(what, shape.duration!, 'second', due)]
  const unit = what === 'image' ? 'picture' : what === 'video' ? 'video' : 'call'
  return [line(what, pictures, unit, [due[0] * BigInt(pictures), due[1]])]
}

function withMinimum(price: Price, lines: Line[]): void {
  const { minimum = 0 } = price as { minimum?: number }
  const missing = BigInt(minimum) * ONE - sumOf(lines)
  if (missing > 0n) lines.push({ what: 'minimum', quantity: '1', unit: 'call', amount: missing })
}

function withShare({ priceBasisPoints = WHOLE_PRICE }: Share, lines: Line[]): void {
  if (priceBasisPoints === WHOLE_PRICE) return
  const saved = BigInt(priceBasisPoints - WHOLE_PRICE)
  const amount = (sumOf(lines) * saved) / BigInt(WHOLE_PRICE)
  lines.push({ what: 'group', quantity: String(priceBasisPoints / WHOLE_PRICE), unit: 'share', amount })
}

/** Rounds up, and adds what the bound of the charge takes off: nothing costs more than was held (chats: twice that). */
function withWholeCredits(cost: number, lines: Line[]): void {
  const exact = sumOf(lines)
  const rounding = (ONE - (exact % ONE)) % ONE
  if (rounding > 0n) lines.push({ what: 'rounding', quantity: '1', unit: 'call', amount: rounding })
  const beyond = BigInt(cost) * ONE - exact - rounding
  if (beyond !== 0n) lines.push({ what: 'limit', quantity: '1', unit: 'call', amount: beyond })
}

/** A line with its credits as a decimal, without zeros at its end. */
function shown({ amount, ...rest }: Line): ReceiptLine {
  const digits = String(amount < 0n ? -amount : amount).padStart(DIGITS + 1, '0')
  const fraction = digits.slice(-DIGITS).replace(/0+$/, '')
  const credits = `${amount < 0n ? '-' : ''}${digits.slice(0, -DIGITS)}${fraction && `.${fraction}`}`
  return { ...rest, credits }
}
