import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './folders.ts'

/** Where tests keep the processors busy: they start browsers or processes. Those of other files mostly wait. */
const BUSY = /^test\/(?:console|crash|starts|scripts)\/|^test\/admin\/main|^test\/api\/static\/(?:docs|mailed-links)/

/** Files of more than half a minute. One of them at the end of a run would keep it waiting for one worker. */
const LONG = new Set([
  'test/api/v1/numbered-retries.test.ts',
  'test/console/accessibility.test.ts',
  'test/crash/takeovers.test.ts',
  'test/starts/refusals.test.ts',
  'test/starts/waiting.test.ts',
  'test/upstreams/storage.test.ts',
])

/**
 * All files of tests, in the order in which mocha's workers take them: long ones first; of the rest, busy ones are
 * spread evenly among the others, so that one worker mostly waits while another is busy.
 */
export function testFiles(): string[] {
  const all = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('test', file).replaceAll('\\', '/'))
    .toSorted()
  const [long, rest] = parted(all, (file) => LONG.has(file))
  const placed = parted(rest, (file) => BUSY.test(file)).flatMap((files) =>
    files.map((file, index) => ({ file, at: index / files.length })),
  )
  return [...long, ...placed.toSorted((one, other) => one.at - other.at).map(({ file }) => file)]
}

const parted = (files: string[], isFirst: (file: string) => boolean): [string[], string[]] => [
  files.filter((file) => isFirst(file)),
  files.filter((file) => !isFirst(file)),
]
