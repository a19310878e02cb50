import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../folders.ts'

/** Seconds of the last measured run (`npm test -- --times`), of each stage and of each file of at least a second. */
export type Times = { stages: Record<string, number>; files: Record<string, number> }

/** Where the times are recorded. */
export const timesFile = join(root, 'test', 'times.json')

const recorded = (): Times =>
  existsSync(timesFile) ? (JSON.parse(readFileSync(timesFile, 'utf8')) as Times) : { stages: {}, files: {} }

/** All files of tests, in the order in which mocha's workers take them: the longest first, so that none ends a run. */
export function testFiles(): string[] {
  const { files } = recorded()
  return readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('test', file).replaceAll('\\', '/'))
    .toSorted()
    .toSorted((one, other) => (files[other] ?? 0) - (files[one] ?? 0))
}
