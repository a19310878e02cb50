import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'
import { places, sourcesOf } from './source.ts'

/**
 * A parameter that is a promise. Whoever calls such a function has begun the work before the function has looked at
 * anything: where it then throws or returns, nobody handles the rejection, and that ends a process. It has to take the
 * function that begins the work.
 */
const PROMISE_TAKEN = /(?:[(,]\s*|^\s+)\w+\??: Promise(?:Like)?<[^;=]*(?:,$|\)(?::| =>))/

const isTaken = (line: string): boolean => PROMISE_TAKEN.test(line)

describe('promises', () => {
  const ofProcesses = [...sourcesOf('src'), ...sourcesOf('sandbox')].filter(
    ({ path }) => !path.startsWith('src/console/'),
  )

  it('are begun by whoever waits for them: no function takes one', () => {
    expect(places(ofProcesses, PROMISE_TAKEN)).to.deep.equal([])
  })

  it('are recognised where a function takes one', () => {
    const taken = [
      'export async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {',
      'async function within<T>(asked: PromiseLike<T>): Promise<T> {',
      'const answers = (url: string, probe?: Promise<unknown>) => probe',
      '  released?: Promise<void>,',
    ]
    expect(taken.filter((line) => !isTaken(line))).to.deep.equal([])
    const others = [
      'export async function unlessAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {',
      'export type Wait = { answer: Promise<Answer | LongAnswer>; cancel: () => void }',
      '  readonly ended: Promise<void>',
      '  let small: Promise<Buffer> | undefined',
    ]
    expect(others.filter(isTaken)).to.deep.equal([])
  })

  it('are refused by the linter where nobody handles their rejection, and `void` is no handler', () => {
    const planted = {
      floating: 'work()',
      voided: 'void work()',
      timer: 'setTimeout(() => void work(), 1)',
      arrow: 'export const later = () => void work()',
      handled: 'work().catch(() => {})',
    }
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-promises-'))
    try {
      for (const [name, code] of Object.entries(planted))
        writeFileSync(join(folder, `${name}.ts`), `declare function work(): Promise<void>\n${code}\nexport {}\n`)
      const linter = join(root, 'node_modules/.bin/oxlint')
      const args = ['--config', join(root, '.oxlintrc.json'), '--type-aware', '--format', 'unix', '.']
      const { stdout } = spawnSync(linter, args, { cwd: folder, encoding: 'utf8' })
      const refusals = stdout
        .split('\n')
        .flatMap((line) => /(\w+)\.ts:\d.*(no-floating-promises|no-void)/.exec(line)?.slice(1, 3).join(' ') ?? [])
      expect(refusals.toSorted()).to.deep.equal([
        'arrow no-void',
        'floating no-floating-promises',
        'timer no-void',
        'voided no-floating-promises',
      ])
    } finally {
      rmSync(folder, { recursive: true })
    }
    // The linter reads the types of all packages.
  }).timeout(180_000)
})
