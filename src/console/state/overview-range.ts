/**
 * Which time and calls the overview shows: hours, days or months.
 */
import { startMs } from './zone.ts'

/** What an address may ask for: how many of what. `days` of a month's range are what is asked of the server. */
export const RANGES = {
  '24h': { unit: 'hour', count: 24 },
  '7': { unit: 'day', count: 7 },
  '30': { unit: 'day', count: 30 },
  '90': { unit: 'day', count: 90 },
  '12m': { unit: 'month', count: 12 },
} as const

/** The name of a range. */
export type RangeName = keyof typeof RANGES

/** Of what the chart has a bar each: the first hours as UTC times, days as YYYY-MM-DD, months as YYYY-MM. */
export type Unit = (typeof RANGES)[RangeName]['unit']

/**
 * What is shown, bar by bar. `before`: as much time before it, where that is asked for too. `from` and `to`: what is
 * asked of the server, with the time before.
 */
export type Range = { name: RangeName; unit: Unit; bars: string[]; before: string[]; from: string; to: string }

/** How many of the latest calls it shows. */
export const LATEST = 8

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** The name of the range that an address asks for. */
export const rangeNameOf = (query: Record<string, string>): RangeName =>
  (Object.keys(RANGES) as RangeName[]).find((name) => name === query['days']) ?? '30'

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/** The last days in UTC, today included. */
export const lastDays = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => dayOf(Date.now() - (count - 1 - index) * DAY_MS))

function lastHours(count: number): string[] {
  const now = Math.floor(Date.now() / HOUR_MS) * HOUR_MS
  return Array.from({ length: count }, (_, index) => new Date(now - (count - 1 - index) * HOUR_MS).toISOString())
}

function lastMonths(count: number): string[] {
  const now = new Date()
  return Array.from({ length: count }, (_, index) =>
    dayOf(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - (count - 1 - index), 1)).slice(0, 7),
  )
}

/** The range that an address asks for, as of now. */
export function rangeOf(name: RangeName): Range {
  const { unit, count } = RANGES[name]
  if (unit === 'month') {
    const bars = lastMonths(count)
    return { name, unit, bars, before: [], from: `${bars[0]}-01`, to: dayOf(Date.now()) }
  }
  const all = unit === 'hour' ? lastHours(2 * count) : lastDays(2 * count)
  const [before, bars] = [all.slice(0, count), all.slice(count)]
  return { name, unit, bars, before, from: before[0]!, to: unit === 'hour' ? new Date().toISOString() : bars.at(-1)! }
}

/** The days in UTC of a range without the time before it. */
export const daysOf = ({ unit, bars, to }: Range): { from: string; to: string } => ({
  from: unit === 'month' ? `${bars[0]}-01` : bars[0]!.slice(0, 10),
  to: to.slice(0, 10),
})

/** The bar that a day or an hour belongs to. */
export const barOf = (unit: Unit, at: string): string => (unit === 'month' ? at.slice(0, 7) : at)

/** The calls of a bar, as their address asks for them. */
export function callsOfBar(unit: Unit, bar: string): { from: string; to: string } {
  if (unit === 'day') return { from: bar, to: bar }
  if (unit === 'hour') return { from: bar, to: new Date(startMs(bar) + HOUR_MS - 1).toISOString() }
  const next = new Date(`${bar}-01T00:00:00Z`)
  next.setUTCMonth(next.getUTCMonth() + 1)
  return { from: `${bar}-01`, to: dayOf(next.getTime() - DAY_MS) }
}
