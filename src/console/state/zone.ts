/**
 * Moments in the reader's own time zone, as fields and addresses have them.
 */

/** The reader's time zone: "Europe/Berlin (GMT+1)". */
export const zoneText = (): string => {
  const { timeZone } = new Intl.DateTimeFormat().resolvedOptions()
  const parts = new Intl.DateTimeFormat('en-US', { timeZoneName: 'shortOffset' }).formatToParts(new Date())
  return `${timeZone} (${parts.find(({ type }) => type === 'timeZoneName')?.value ?? 'UTC'})`
}

const isDay = (text: string): boolean => text.length === 10

const DAY_MS = 86_400_000

/** The first millisecond of a moment of an address; that of a day is midnight in UTC, as the server counts days. */
export const startMs = (text: string): number => Date.parse(isDay(text) ? `${text}T00:00:00Z` : text)

/** The last millisecond of it; that of a day is its end. */
export const endMs = (text: string): number => startMs(text) + (isDay(text) ? DAY_MS - 1 : 0)

const two = (value: number): string => String(value).padStart(2, '0')

/** What a field of local time shows of a moment, to the minute: 2026-11-28T09:30. */
export function fieldText(ms: number): string {
  if (Number.isNaN(ms)) return ''
  const at = new Date(ms)
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}`
}

const MINUTE_MS = 60_000

/** The address' text of the first, or the last, moment of a minute that was typed in local time; empty for none. */
export function momentOf(text: string, which: 'first' | 'last'): string {
  const ms = Date.parse(text)
  if (Number.isNaN(ms)) return ''
  return new Date(which === 'first' ? ms : ms + MINUTE_MS - 1).toISOString()
}
