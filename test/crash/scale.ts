import { randomInt } from 'node:crypto'
import { expect } from 'chai'
import fc from 'fast-check'

/** Whether `npm run soak` runs these tests, with every case. `npm test` runs a part of them. */
export const inSoak = process.env['TOLLGATE_SOAK'] === '1'

/** Prints what a test measured, one line per figure. */
export const report = (line: string): void => console.log(`      · ${line}`)

/** The seed of this run's random choices. A failure prints it, and TOLLGATE_SEED repeats it. */
export const seed = Number(process.env['TOLLGATE_SEED'] ?? randomInt(2 ** 31))

/**
 * Plays so many random schedules, one after the other. @param play plays and checks one, by its number from 1
 * @throws what broke, with the seed that repeats it
 */
export async function playAll<T>(
  what: string,
  schedules: fc.Arbitrary<T>,
  numRuns: number,
  play: (schedule: T, nth: number) => Promise<void>,
): Promise<void> {
  const startedAt = performance.now()
  let played = 0
  const property = fc.asyncProperty(schedules, (schedule) => play(schedule, ++played))
  const { failed, errorInstance } = await fc.check(property, { numRuns, seed, endOnFailure: true })
  const each = (performance.now() - startedAt) / Math.max(1, played)
  report(`${played} ${what}, ${each.toFixed(0)} ms each, seed ${seed}`)
  const run = errorInstance instanceof Error ? errorInstance.message : ''
  expect(failed, `TOLLGATE_SEED=${seed} plays it again; ${run}`).to.equal(false)
}
