import { randomInt } from 'node:crypto'

/** Whether `npm run soak` runs these tests, with every case. `npm test` runs a part of them. */
export const inSoak = process.env['TOLLGATE_SOAK'] === '1'

/** Prints what a test measured, one line per figure. */
export const report = (line: string): void => console.log(`      · ${line}`)

/** The seed of this run's random choices. A failure prints it, and TOLLGATE_SEED repeats it. */
export const seed = Number(process.env['TOLLGATE_SEED'] ?? randomInt(2 ** 31))
