import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './folders.ts'

/** Where tests keep the processors busy: they start browsers or processes. Those of other files mostly wait. */
const BUSY = /^test\/(?:console|crash|starts|scripts)\/|^test\/admin\/main|^test\/api\/static\/(?:docs|mailed-links)/

/**
 * All files of tests, in the order in which mocha's workers take them: busy ones are spread evenly among the others, so
 * that one worker mostly waits while another is busy.
 */
export function testFiles(): string[] {
  const all = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('test', file).replaceAll('\\', '/'))
    .toSorted()
  const busy = all.filter((file) => BUSY.test(file))
  const others = all.filter((file) => !BUSY.test(file))
  const placed = [busy, others].flatMap((files) => files.map((file, index) => ({ file, at: index / files.length })))
  return placed.toSorted((one, other) => one.at - other.at).map(({ file }) => file)
}
