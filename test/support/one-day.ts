import { until } from '../../scripts/harness/until.ts'

const DAY_MS = 86_400_000

/** Longer than the tests of a file that count by the day, on a slow machine too. */
const MARGIN_MS = 200_000

/** Waits for the next UTC day where this one is about to end: what follows then happens on one day. */
export const withinOneDay = (): Promise<unknown> =>
  until('the next UTC day to begin', () => DAY_MS - (Date.now() % DAY_MS) > MARGIN_MS, MARGIN_MS + 1000)
