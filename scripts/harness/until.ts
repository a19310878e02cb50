import { setTimeout as pause } from 'node:timers/promises'

/** Checks a condition: anything but null, undefined and false fulfils it. */
type Look<T> = () => Promise<T | null | undefined | false> | T | null | undefined | false

/**
 * How long a test waits for a condition, in ms: longer than it takes on a slow, busy machine. A test has less in all
 * (.mocharc.json), unless it states that it needs longer; its failure then names what it waited for. A promise about
 * time has its own test. The soak shortens it where a planted bug prevents what is waited for.
 */
export const PATIENCE_MS = Number(process.env['TOLLGATE_TEST_PATIENCE_MS'] ?? 120_000)

type Wait = { what: () => string; since: number }

/** What is waited for at the moment: of the process, since mocha may load this module a second time, for its hooks. */
const waits = ((globalThis as { tollgateWaits?: Set<Wait> }).tollgateWaits ??= new Set())

/** What is waited for at the moment, in words: a test that mocha ends may have spent its time on several waits. */
export const waitedFor = (): string[] =>
  [...waits].map(({ what, since }) => `${what()}, for ${Math.round((performance.now() - since) / 1000)} s`)

async function waiting<T>(what: () => string, work: () => Promise<T>): Promise<T> {
  const wait = { what, since: performance.now() }
  waits.add(wait)
  try {
    return await work()
  } finally {
    waits.delete(wait)
  }
}

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
  const seen = await waiting(
    () => what,
    () => seenWithin(look, ms),
  )
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
  const areMet = await waiting(
    () => `expectations, which are not met: ${String(last)}`,
    () => seenWithin(met, ms),
  )
  if (!areMet) throw last
}
