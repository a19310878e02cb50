import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../folders.ts'

/** Seconds of the last measured run (`npm test -- --times`), of each stage and of each file that takes long. */
export type Times = { stages: Record<string, number>; files: Record<string, number> }

/** Where the times are recorded. */
export const timesFile = join(root, 'test', 'times.json')

const recorded = (): Times =>
  existsSync(timesFile) ? (JSON.parse(readFileSync(timesFile, 'utf8')) as Times) : { stages: {}, files: {} }

/** A file that takes so long mostly waits, in s. */
const LONG = 20

/** What is taken for the time of a file that is not recorded, in s. */
const SHORT = 2

/**
 * All files of tests, in the order in which mocha's workers take them: those that mostly wait in turn with the others,
 * so that the processors always have work; of both the longest first, so that none ends a run.
 */
export function testFiles(): string[] {
  const { files } = recorded()
  const timeOf = (file: string): number => files[file] ?? SHORT
  const all = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('test', file).replaceAll('\\', '/'))
    .toSorted()
    .toSorted((one, other) => timeOf(other) - timeOf(one))
  const waiting = all.filter((file) => timeOf(file) >= LONG)
  return [waiting, all.filter((file) => timeOf(file) < LONG)]
    .flatMap((some) => placed(some, timeOf))
    .toSorted((one, other) => one.at - other.at)
    .map(({ file }) => file)
}

/** Files with their places in a run, from 0 to 1: the share of their time that those before them take. */
function placed(files: readonly string[], timeOf: (file: string) => number): { file: string; at: number }[] {
  const whole = files.reduce((sum, file) => sum + timeOf(file), 0)
  let before = 0
  return files.map((file) => {
    const at = before / whole
    before += timeOf(file)
    return { file, at }
  })
}
