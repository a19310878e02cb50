/** The days of a report, in UTC. */
import { ApiError } from '../platform/errors.ts'

const DAY_MS = 86_400_000

/** Days that are shown where nothing else is asked for. */
export const DEFAULT_DAYS = 30

/** The most days of one answer: a leap year. */
export const MAX_DAYS = 366

/** The day of a moment in Unix ms, YYYY-MM-DD. */
export const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)

/**
 * The first and the last day of a report. Where the client is, tomorrow may have begun already: a first day after today
 * is no fault.
 * @throws ApiError invalid_request if they are in the wrong order, or too far from each other.
 */
export function daysOf(asked: { from?: string; to?: string }, today: string): { from: string; to: string } {
  const to = asked.to ?? (asked.from !== undefined && asked.from > today ? asked.from : today)
  const end = Date.parse(to) + DAY_MS
  const from = asked.from ?? dayOf(end - DEFAULT_DAYS * DAY_MS)
  if (from > to) throw new ApiError('invalid_request', { param: 'to', message: 'to must not be before from.' })
  if (end - Date.parse(from) > MAX_DAYS * DAY_MS) {
    throw new ApiError('invalid_request', {
      param: 'from',
      message: `from must be at most ${MAX_DAYS} days before to.`,
    })
  }
  return { from, to }
}
