import { setTimeout as pause } from 'node:timers/promises'

/** Checks a condition: anything but null, undefined and false fulfils it. */
type Look<T> = () => Promise<T | null | undefined | false> | T | null | undefined | false

/**
 * How long a test waits for a condition, in ms: longer than it takes on a slow, busy machine, and below the time-out of
 * a test. A promise about time has its own test. The soak shortens it where a planted bug prevents what is waited for.
 */
export const PATIENCE_MS = Number(process.env['TOLLGATE_TEST_PATIENCE_MS'] ?? 120_000)

/**
 * Waits until a check is fulfilled, checking every `everyMs`, and returns its value. Returns undefined when `withinMs`
 * have passed.
 */
export async function seenWithin<T>(look: Look<T>, withinMs: number, everyMs = 20): Promise<T | undefined> {
  const end = performance.now() + withinMs
  for (;;) {
    const seen = await look()
    if (seen) return seen
    if (performance.now() > end) return undefined
    await pause(everyMs)
  }
}

/** Waits as `seenWithin` does. Throws an Error that names `what` it waited for when `ms` have passed. */
export async function until<T>(what: string, look: Look<T>, ms = PATIENCE_MS): Promise<T> {
  const seen = await seenWithin(look, ms)
  if (seen === undefined) throw new Error(`${what} did not happen within ${ms} ms`)
  return seen
}

/** Waits until expectations are met, checking every 20 ms. Throws what they threw last when `ms` have passed. */
export async function eventually(expectations: () => Promise<void> | void, ms = PATIENCE_MS): Promise<void> {
  const end = performance.now() + ms
  for (;;) {
    try {
      return await expectations()
    } catch (error) {
      if (performance.now() > end) throw error
    }
    await pause(20)
  }
}
