/**
 * Money as people write it, and what it buys.
 */
import { locale, t } from '../language/language.ts'
import type { Pack, TopUp } from '../api/billing.ts'
import { decimalText, digitsOf, stepOf } from '../../shared/terms/currencies.ts'
import { account } from '../state/account.ts'
import type { Priced } from './format.ts'
import { MILLION } from './format.ts'

const words = t.overview.worth

const formats = new Map<string, Intl.NumberFormat>()

function formatOf(currency: string): Intl.NumberFormat {
  const digits = digitsOf(currency)
  const options = { style: 'currency', currency, minimumFractionDigits: digits, maximumFractionDigits: digits } as const
  const found = formats.get(currency) ?? new Intl.NumberFormat(locale, options)
  formats.set(currency, found)
  return found
}

/** An amount of minor units with its currency, like €10.00. */
export const money = (minor: number, currency: string): string =>
  formatOf(currency).format(minor / 10 ** digitsOf(currency))

/** A whole number of minor units as the text of a field, without the currency: 10.00. */
export const majorText = decimalText

/** What was typed into a field, in minor units; null if it is not an amount that can be paid in this currency. */
export function minorOf(text: string, currency: string): number | null {
  const found = /^(\d{1,9})(?:[.,](\d{1,3}))?$/.exec(text.trim())
  const digits = digitsOf(currency)
  if (!found || (found[2] ?? '').length > digits) return null
  const minor = Number(`${found[1]}${(found[2] ?? '').padEnd(digits, '0')}`)
  return minor % stepOf(currency) === 0 ? minor : null
}

/** The credits that a free amount buys: rounded down, as the server counts them. */
export const creditsFor = (minor: number, { creditsPer, perMinor }: TopUp): number =>
  Number((BigInt(minor) * BigInt(creditsPer)) / BigInt(perMinor))

/** Why an amount cannot be bought, in a sentence; null if it can. */
export function amountFault(minor: number | null, { currency, minMinor, maxMinor }: TopUp): string | null {
  if (minor === null) return t.credits.buy.enter
  if (minor >= minMinor && minor <= maxMinor) return null
  return t.credits.buy.choose(money(minMinor, currency), money(maxMinor, currency))
}

/**
 * What credits are worth at the rate that they are sold at, like "about €4.20"; null if none are sold. Less than the
 * smallest coin is "less than €0.01".
 */
export function worth(credits: number): string | null {
  const rate = account.value?.buying?.rate
  if (!rate || credits <= 0) return null
  const minor = Math.round((credits * rate.perMinor) / rate.creditsPer)
  return minor === 0 ? words.lessThan(money(1, rate.currency)) : words.about(money(minor, rate.currency))
}

/** What a few credits are worth, to a hundredth of the smallest coin: "€0.001"; null if none are sold. */
function exactWorth(credits: number): string | null {
  const rate = account.value?.buying?.rate
  if (!rate) return null
  const { currency, perMinor, creditsPer } = rate
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    currency,
    minimumFractionDigits: digitsOf(currency),
    maximumFractionDigits: digitsOf(currency) + 2,
  })
  return format.format((credits * perMinor) / creditsPer / 10 ** digitsOf(currency))
}

/** The numbers of a price as it is shown (`priceText`), in credits: of tokens and characters those of a million. */
function shownCredits({ pricing, credits }: Priced): number[] {
  if (!pricing) return [credits]
  if ('perSearch' in pricing) return [pricing.perSearch]
  if ('perCharacter' in pricing) return [(pricing.perCharacter * MILLION) / (pricing.perCharacters ?? 1)]
  return [pricing.input, pricing.output ?? []].flat().map((price) => (price * MILLION) / pricing.perTokens)
}

/** What a price is worth, like "about €1.00 in · €3.00 out"; null if no credits are sold. */
export function priceWorth(priced: Priced): string | null {
  const [first, second] = shownCredits(priced).map(exactWorth)
  if (!first) return null
  return second ? words.price(first, second) : words.about(first)
}

/** What a pack gives altogether. */
export const creditsOf = ({ credits, bonus }: Pick<Pack, 'credits' | 'bonus'>): number => credits + bonus
