/** Readings that are cached for a moment, so that many who ask at once, or again and again, cost one. */

/** A reading is cached for this many times its duration, so that it uses Postgres for a small part of the time only. */
const TIMES_AS_LONG = 20

/** A reading is made again after this, in ms, no matter how long it took; unless `forMs` is longer. */
const MOST_MS = 60_000

/** How long a reading is cached: `forMs`, or `timesAsLong` as it took (20 if absent), up to a minute. */
export type CacheTimes = { forMs: number; timesAsLong?: number }

/**
 * The same reading for everybody who asks while it is cached. One that failed is not cached.
 * @param now a clock in ms, for tests
 */
export function cachedReading<T>(
  { forMs, timesAsLong = TIMES_AS_LONG }: CacheTimes,
  read: () => Promise<T>,
  now = () => performance.now(),
): () => Promise<T> {
  let cached: { reading: Promise<T>; until: number } | undefined
  return () => {
    if (cached && now() < cached.until) return cached.reading
    const began = now()
    const reading = read()
    const mine = { reading, until: began + forMs }
    cached = mine
    reading.then(
      () => {
        const took = now() - began
        mine.until = Math.max(mine.until, now() + Math.min(timesAsLong * took, MOST_MS))
      },
      () => {
        if (cached === mine) cached = undefined
      },
    )
    return reading
  }
}
