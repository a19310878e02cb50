import { setTimeout as pause } from 'node:timers/promises'

/** Checks a condition: anything but null, undefined and false fulfils it. */
type Look<T> = () => Promise<T | null | undefined | false> | T | null | undefined | false

/**
 * How long a test waits for a condition, in ms: longer than it takes on a slow, busy machine, and below the time-out of
 * a test. A promise about time has its own test.
 */
export const PATIENCE_MS = 120_000

/** The first pause between two checks and the longest, in ms: what does not come soon is checked less often. */
const PAUSES_MS = { first: 20, longest: 100 }

/** By how much each pause is longer than the one before. */
const LONGER = 1.2

/**
 * Waits until a check is fulfilled, and returns its value. Returns undefined when `withinMs` have passed.
 * @param everyMs the pause between two checks; it grows from 20 ms to 100 ms where it is absent
 */
export async function seenWithin<T>(look: Look<T>, withinMs: number, everyMs?: number): Promise<T | undefined> {
  const end = performance.now() + withinMs
  for (let ms = everyMs ?? PAUSES_MS.first; ; ms = everyMs ?? Math.min(PAUSES_MS.longest, ms * LONGER)) {
    const seen = await look()
    if (seen) return seen
    if (performance.now() > end) return undefined
    await pause(ms)
  }
}

/** Waits as `seenWithin` does. Throws an Error that names `what` it waited for when `ms` have passed. */
export async function until<T>(what: string, look: Look<T>, ms = PATIENCE_MS): Promise<T> {
  const seen = await seenWithin(look, ms)
  if (seen === undefined) throw new Error(`${what} did not happen within ${ms} ms`)
  return seen
}

/** Waits until expectations are met. Throws what they threw last when `ms` have passed. */
export async function eventually(expectations: () => Promise<void> | void, ms = PATIENCE_MS): Promise<void> {
  let last: unknown
  const met = async (): Promise<boolean> => {
    try {
      await expectations()
      return true
    } catch (error) {
      last = error
      return false
    }
  }
  if (!(await seenWithin(met, ms))) throw last
}
