/**
 * Readings that are kept for a moment, so that many who ask at once, or again and again, cost one.
 */

/** The same reading for everybody who asks within `forMs` of it. One that failed is not kept. */
export function keptReading<T>(forMs: number, read: () => Promise<T>): () => Promise<T> {
  let kept: { reading: Promise<T>; until: number } | undefined
  return () => {
    if (kept && performance.now() < kept.until) return kept.reading
    const reading = read()
    const mine = { reading, until: performance.now() + forMs }
    kept = mine
    reading.catch(() => {
      if (kept === mine) kept = undefined
    })
    return reading
  }
}
