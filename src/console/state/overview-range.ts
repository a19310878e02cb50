/**
 * Which days and calls the overview shows.
 */
export const RANGES = [7, 30, 90] as const

/** How many of the latest calls it shows. */
export const LATEST = 8

const DAY_MS = 86_400_000

/** How many days an address asks for. */
export const daysOf = (query: Record<string, string>): number =>
  RANGES.find((one) => String(one) === query['days']) ?? 30

/** The last days in UTC, today included. */
export const lastDays = (count: number): string[] =>
  Array.from({ length: count }, (_, index) =>
    new Date(Date.now() - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )

/** The first and the last of the days that an address asks for, and the key whose calls alone count; empty: any. */
export function rangeOf(query: Record<string, string>): { from: string; to: string; keyId: string } {
  const days = lastDays(daysOf(query))
  return { from: days[0]!, to: days.at(-1)!, keyId: query['keyId'] ?? '' }
}
