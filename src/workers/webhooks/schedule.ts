/** When a failed delivery is tried again, and when it is given up (docs/webhooks.md#tries). Pure. */

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** The pauses between tries, in ms, by Standard Webhooks: 75 hours in all. */
const PAUSES_MS = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
] as const

/** How far a pause is moved at random, of its length, so that what failed together does not come back together. */
const JITTER = 0.2

/** The longest pause that a receiver may ask for, in ms. */
const LONGEST_RETRY_AFTER_MS = HOUR

/** When a delivery is tried again. */
export type Schedule = {
  /**
   * The pause after a failed try, in ms; null gives it up. `tries` counts the failed one. `retryAfterMs`: Retry-After.
   */
  pauseMs: (tries: number, retryAfterMs: number) => number | null
}

/** At once, then after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 14 h, 20 h and 24 h, each ± 20 %. */
export const SCHEDULE: Schedule = {
  pauseMs: (tries, retryAfterMs) => {
    const pause = PAUSES_MS[tries - 1]
    if (pause === undefined) return null
    const moved = pause * (1 + JITTER * (2 * Math.random() - 1))
    return Math.round(Math.max(moved, Math.min(retryAfterMs, LONGEST_RETRY_AFTER_MS)))
  },
}

/** What `Retry-After` asks for, in ms from now: seconds, or a date. 0 if it cannot be read. */
export function retryAfterMsOf(retryAfter: string | null, now: number): number {
  if (retryAfter === null) return 0
  const ms = /^\d{1,9}$/.test(retryAfter.trim()) ? Number(retryAfter) * SECOND : Date.parse(retryAfter) - now
  return Number.isFinite(ms) ? Math.max(0, ms) : 0
}
