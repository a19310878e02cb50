import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../folders.ts'

/** Tests that keep the processors busy: they start browsers or processes. */
const BUSY = /^test\/(?:console|crash|scripts|starts)\/|^test\/admin\/main|^test\/api\/static\/(?:docs|mailed-links)/

/** Tests that mostly wait for slow upstreams. */
const WAITING = /^test\/upstreams\//

/** Files of more than ten seconds. One of them at the end of a run would keep it waiting for one worker. */
const LONG = new Set([
  'test/api/v1/numbered-retries.test.ts',
  'test/console/accessibility.test.ts',
  'test/crash/lost-calls.test.ts',
  'test/crash/takeovers.test.ts',
  'test/scripts/start/main.test.ts',
  'test/starts/refusals.test.ts',
  'test/starts/waiting.test.ts',
  'test/upstreams/cut-chats.test.ts',
  'test/upstreams/fallback.test.ts',
  'test/upstreams/recorded-answers.test.ts',
  'test/upstreams/slow-names.test.ts',
  'test/upstreams/ssrf.test.ts',
  'test/upstreams/storage.test.ts',
  'test/upstreams/streams.test.ts',
])

/**
 * All files of tests, in the order in which mocha's workers take them: long ones first; of the rest, busy and waiting
 * ones are each spread evenly over the run, so that one worker mostly waits while another is busy.
 */
export function testFiles(): string[] {
  const all = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.test.ts'))
    .map((file) => join('test', file).replaceAll('\\', '/'))
    .toSorted()
  const [long, rest] = parted(all, (file) => LONG.has(file))
  const [busy, others] = parted(rest, (file) => BUSY.test(file))
  const placed = [busy, ...parted(others, (file) => WAITING.test(file))].flatMap((files) =>
    files.map((file, index) => ({ file, at: index / files.length })),
  )
  return [...long, ...placed.toSorted((one, other) => one.at - other.at).map(({ file }) => file)]
}

const parted = (files: string[], isFirst: (file: string) => boolean): [string[], string[]] => [
  files.filter((file) => isFirst(file)),
  files.filter((file) => !isFirst(file)),
]
