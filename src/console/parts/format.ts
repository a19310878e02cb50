/**
 * Numbers, times and words as people read them.
 */
import type { Texts } from '../language/english.ts'
import { locale, t } from '../language/language.ts'
import type { CallRecord, ModelEntry } from '../api/endpoints.ts'

/** Made when it is first used: a formatter takes the browser milliseconds, and no page needs them all. */
function lazily<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => (made ??= make())
}

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const

const DAY = { day: 'numeric', month: 'short' } as const

/** Prices of a group have up to four decimals. */
const plain = lazily(() => new Intl.NumberFormat(locale, { maximumFractionDigits: 4 }))
const percent = lazily(
  () => new Intl.NumberFormat(locale, { style: 'percent', minimumFractionDigits: 1, maximumFractionDigits: 1 }),
)
const wholePercent = lazily(() => new Intl.NumberFormat(locale, { style: 'percent' }))
const ago = lazily(() => new Intl.RelativeTimeFormat(locale, { style: 'short', numeric: 'auto' }))
/** Hours to minutes: 3:14 PM, but 03:14 of 24 hours, so that times are aligned. */
const toMinute = lazily(() => {
  const { hour12 } = new Intl.DateTimeFormat(locale, { hour: 'numeric' }).resolvedOptions()
  return { hour: hour12 ? 'numeric' : '2-digit', minute: '2-digit' } as const
})
const timeOfDay = lazily(() => new Intl.DateTimeFormat(locale, toMinute()))
const moment = lazily(() => new Intl.DateTimeFormat(locale, { ...DAY, ...toMinute() }))
const momentWithYear = lazily(() => new Intl.DateTimeFormat(locale, { ...DAY, year: 'numeric', ...toMinute() }))
const exactMoment = lazily(() => new Intl.DateTimeFormat(locale, { ...DAY, year: 'numeric', ...CLOCK }))
const EXACT_CLOCK = { ...CLOCK, fractionalSecondDigits: 3 } as const
const clock = lazily(() => new Intl.DateTimeFormat(locale, EXACT_CLOCK))
const datedMoment = lazily(() => new Intl.DateTimeFormat(locale, { ...DAY, ...EXACT_CLOCK }))
const dayOfYear = lazily(() => new Intl.DateTimeFormat(locale, { ...DAY, year: 'numeric', timeZone: 'UTC' }))
const dayOfMonth = lazily(() => new Intl.DateTimeFormat(locale, { ...DAY, timeZone: 'UTC' }))

export const number = (value: number): string => plain().format(value)

const money = lazily(
  () => new Intl.NumberFormat(locale, { style: 'currency', currency: 'USD', maximumFractionDigits: 4 }),
)

/** Micro-dollars as dollars. */
export const dollars = (microUsd: number): string => money().format(microUsd / 1_000_000)

/** With its sign, also a plus. */
export const signed = (value: number): string => (value > 0 ? `+${number(value)}` : number(value).replace('-', '−'))

/** A number and what it counts: "1 call", "2,000 calls". */
export const counted = (value: number, noun: keyof Texts['words']['nouns']): string =>
  `${number(value)} ${t.words.nouns[noun][value === 1 ? 0 : 1]}`

export const credits = (value: number): string => t.words.credits(number(value), value === 1)

/** A share in percent, with one decimal so that a column of them is even; none and all have none. */
export const share = (part: number, all: number): string =>
  part === 0 || part === all ? wholePercent().format(part === 0 ? 0 : 1) : percent().format(all === 0 ? 0 : part / all)

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

/** Local time in words: "2 min. ago", "3:14 PM" of today, "Nov 3, 3:14 PM"; with its year in another year. */
export function localTime(iso: string, now = Date.now()): string {
  const date = new Date(iso)
  const today = new Date(now)
  const age = now - date.getTime()
  if (Math.abs(age) < MINUTE_MS) return t.words.justNow
  if (age > 0 && age < HOUR_MS) return ago().format(-Math.floor(age / MINUTE_MS), 'minute')
  if (date.toDateString() === today.toDateString()) return timeOfDay().format(date)
  return (date.getFullYear() === today.getFullYear() ? moment() : momentWithYear()).format(date)
}

/** Local time to the second, with its date. */
export const exactTime = (iso: string): string => exactMoment().format(new Date(iso))

export const localClock = (iso: string): string => clock().format(new Date(iso))

/** The same with its date. */
export const datedClock = (iso: string): string => datedMoment().format(new Date(iso))

/** For hovers: the same moment for everybody. */
export const utcTime = (iso: string): string => `${iso.slice(0, 10)} ${iso.slice(11, 23)} UTC`

/** A day in UTC, as the usage counts them. */
export const dayText = (day: string): string => dayOfMonth().format(new Date(`${day}T00:00:00Z`))

const monthOfYear = lazily(() => new Intl.DateTimeFormat(locale, { month: 'short', year: 'numeric', timeZone: 'UTC' }))

/** A bar of a chart: a month or a day in UTC, as the server counts them, or an hour in local time. */
export function barText(bar: string): string {
  if (bar.length === 7) return monthOfYear().format(new Date(`${bar}-01T00:00:00Z`))
  return bar.length === 10 ? dayText(bar) : moment().format(new Date(bar))
}

/** When something expires, in UTC everywhere: a day that was chosen as such must not show as the day before it. */
export const expiryText = (iso: string): string => {
  const time = iso.slice(11, 16)
  return `${dayOfYear().format(new Date(iso))}${time === '00:00' ? '' : `, ${time}`} UTC`
}

export function duration(ms: number): string {
  if (ms < 1000) return `${number(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  return t.words.minutes(Math.floor(ms / 60_000), Math.round((ms % 60_000) / 1000))
}

/** What prices of tokens are shown for, whatever number the catalogue states. */
export const MILLION = 1_000_000

/** A price, of a model or of a call: `credits` is the least of it. */
export type Priced = Pick<ModelEntry, 'modality' | 'pricing' | 'prices' | 'credits'>

/** The price that a call was charged by, as that of its model was then; null of a refusal. */
export function pricedAs({ modality, price }: Pick<CallRecord, 'modality' | 'price'>): Priced | null {
  if (!price) return null
  if ('credits' in price) return { modality, credits: price.credits }
  if (!('prices' in price)) return { modality, pricing: price, credits: 0 }
  const { prices } = price
  return {
    modality,
    prices,
    credits: Math.min(...prices.map((row) => ('perSecond' in row ? row.perSecond : row.credits))),
  }
}

/** A price in a line. */
export function priceText({ modality, pricing, prices, credits: least }: Priced): string {
  const words = t.words.price
  if (pricing && 'perSearch' in pricing) return words.search(credits(pricing.perSearch))
  if (pricing && 'perCharacter' in pricing) {
    const { perCharacter, perCharacters = 1 } = pricing
    return words.characters(credits((perCharacter * MILLION) / perCharacters))
  }
  if (pricing) {
    const { input, cachedInput, output, perTokens, perCall } = pricing
    const ofMillion = (price: number): string => credits((price * MILLION) / perTokens)
    const cached = cachedInput === undefined ? '' : words.cached(ofMillion(cachedInput))
    const made = output === undefined ? '' : words.output(ofMillion(output))
    const each = perCall ? words.call(credits(perCall)) : ''
    return words.tokens(ofMillion(input), `${cached}${made}`, each)
  }
  if (modality === 'transcription') return words.second(credits(least))
  const each = words.each(credits(least), modality)
  return prices ? words.from(each) : each
}

/** The kinds of call, to narrow a list to. */
export const MODALITY_CHOICES: readonly (readonly [string, string])[] = [
  ['', t.words.anyKind],
  ...Object.entries(t.words.kinds),
]

/** Call ids are long: their end is enough to distinguish them. */
export const shortId = (id: string): string => `…${id.slice(-8)}`
