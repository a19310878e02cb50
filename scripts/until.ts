import { setTimeout as pause } from 'node:timers/promises'

/** Looks whether what is waited for has come: anything but null, undefined and false is it. */
type Look<T> = () => Promise<T | null | undefined | false> | T | null | undefined | false

/**
 * How long a test waits for what must come, in ms: long beside what it takes on a busy machine, and below the time-out
 * of a test. What is promised within a time is measured by its own test.
 */
const PATIENCE_MS = 30_000

/**
 * Waits until a look sees what is waited for, looking every `everyMs`, and answers it. Answers undefined when
 * `withinMs` have passed without.
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

/** Waits as `seenWithin` does. Throws an Error that says `what` was waited for when `ms` have passed without. */
export async function until<T>(what: string, look: Look<T>, ms = PATIENCE_MS): Promise<T> {
  const seen = await seenWithin(look, ms)
  if (seen === undefined) throw new Error(`${what} did not happen within ${ms} ms`)
  return seen
}
