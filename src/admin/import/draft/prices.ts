/** Prices and costs of a draft in the form of the catalogue: whole numbers, never below what they were. */
import { MAX_PICTURES } from '../../../shared/requests/media-options.ts'
import { MAX_CALL_CREDITS } from '../../../shared/terms/pricing.ts'
import type { Exact } from '../exact.ts'
import { ZERO, ceilingOf, isWhole, times, wholeNumber } from '../exact.ts'
import type { DraftModality, DraftModel, DraftPrice } from './draft.ts'

/** The numbers of tokens that rates may be stated for, the usual one first. */
const PER_TOKENS = [1_000_000, 10_000_000, 100_000_000, 1_000_000_000, 1000, 1]

/** The largest rate of a catalogue. */
const MAX_RATE = 1_000_000_000n

/** What became of a price. `isRounded`: a rate is no whole number for any number of tokens, and was rounded up. */
export type Written = { fields: Record<string, unknown>; isRounded: boolean }

/** Rates for the number of tokens that makes them whole, else rounded up for the most possible; null if too large. */
function ratesOf(rates: Record<string, Exact | null>): Written | null {
  const stated = Object.entries(rates).filter((rate): rate is [string, Exact] => rate[1] !== null)
  const at = (tokens: number): [string, Exact][] =>
    stated.map(([name, rate]) => [name, times(rate, wholeNumber(BigInt(tokens)))])
  const fitting = PER_TOKENS.filter((tokens) => at(tokens).every(([, rate]) => ceilingOf(rate) <= MAX_RATE))
  const exact = fitting.find((tokens) => at(tokens).every(([, rate]) => isWhole(rate)))
  const perTokens = exact ?? fitting.toSorted((one, other) => other - one)[0]
  if (perTokens === undefined) return null
  const whole = Object.fromEntries(at(perTokens).map(([name, rate]) => [name, Number(ceilingOf(rate))]))
  return { fields: { ...whole, perTokens }, isRounded: exact === undefined }
}

/** An amount of whole units; null if no call may cost so much. */
function amountOf(amount: Exact, most: number): { value: number; isRounded: boolean } | null {
  const value = ceilingOf(amount)
  return value > BigInt(most) ? null : { value: Number(value), isRounded: !isWhole(amount) }
}

/** The `pricing` of a chat or an embedding, or its `cost`, whose minimum is 0; null if it is too large. */
function tokenPrice(modality: 'chat' | 'embedding', price: DraftPrice, minimum: number): Written | null {
  if (price.for === 'call') {
    const call = modality === 'chat' ? amountOf(price.amount, MAX_CALL_CREDITS) : null
    const fields = { input: 0, output: 0, perCall: call?.value, perTokens: 1_000_000, minimum: 0 }
    return call && { fields, isRounded: call.isRounded }
  }
  const { input, output, cachedInput, cacheWrite } = price
  const ofChat = { output: output ?? input, cachedInput, cacheWrite }
  const rates = ratesOf({ input, ...(modality === 'chat' && ofChat) })
  return rates && { ...rates, fields: { ...rates.fields, minimum } }
}

const isFree = (price: DraftPrice): boolean =>
  (price.for === 'call' ? [price.amount] : [price.input, price.output, price.cachedInput, price.cacheWrite]).every(
    (one) => (one ?? ZERO).above === 0n,
  )

/** The fields of a model that state its price; null if the catalogue has no form for it. */
export function writtenPrice({ modality, price }: Pick<DraftModel, 'modality' | 'price'>): Written | null {
  const free = isFree(price) ? { free: true } : {}
  if (modality === 'image') {
    const credits = price.for === 'call' ? amountOf(price.amount, Math.floor(MAX_CALL_CREDITS / MAX_PICTURES)) : null
    return credits && { fields: { credits: credits.value, ...free }, isRounded: credits.isRounded }
  }
  const pricing = tokenPrice(modality, price, isFree(price) ? 0 : 1)
  return pricing && { fields: { pricing: pricing.fields, ...free }, isRounded: pricing.isRounded }
}

/** The `cost` of a route; null if the catalogue has no form for it. */
export function writtenCost(modality: DraftModality, cost: DraftPrice): Record<string, unknown> | null {
  if (modality !== 'image') return tokenPrice(modality, cost, 0)?.fields ?? null
  const perCall = cost.for === 'call' ? amountOf(cost.amount, MAX_CALL_CREDITS) : null
  return perCall && { perCall: perCall.value }
}
