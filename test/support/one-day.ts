import { until } from '../../scripts/harness/until.ts'

const DAY_MS = 86_400_000

/** Longer than the tests of a file that count by the day, and shorter than a hook may take (.mocharc.json), in ms. */
const MARGIN_MS = 50_000

/**
 * A hook for tests that count by the day: waits for the next UTC day where this one is about to end, so that what
 * follows happens on one day.
 */
export const withinOneDay = (): Promise<unknown> =>
  until('the next UTC day to begin', () => DAY_MS - (Date.now() % DAY_MS) > MARGIN_MS, MARGIN_MS + 1000)
