import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../scripts/folders.ts'

describe('modules that are kept for the next process', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tollgate-kept-'))
    mkdirSync(join(folder, 'kept'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  const write = (name: string, text: string): void => writeFileSync(join(folder, name), text)
  const keptBytes = (): number => statSync(join(folder, 'kept', 'data')).size

  /** Runs the main module in a process of its own; answers what it printed. */
  const run = (): string =>
    execFileSync(
      process.execPath,
      ['--require=tsx/cjs', '--require=./scripts/soak/kept-modules.cjs', join(folder, 'main.cts')],
      { cwd: root, encoding: 'utf8', env: { ...process.env, KEPT_MODULES: join(folder, 'kept') } },
    )

  it('do the same as before, and are kept once', () => {
    write('main.cts', "import { said } from './part.cts'\nconsole.log(said as string)")
    write('part.cts', 'export const said: string = `one of ${__filename.length > 0}`')
    const first = run()
    const bytes = keptBytes()
    expect(first).to.equal('one of true\n')
    expect(run()).to.equal(first)
    expect(keptBytes()).to.equal(bytes)
  })

  it('are compiled anew where they have changed, also by a text of the same length, and back', () => {
    write('main.cts', "import { cost } from './part.cts'\nconsole.log(cost)")
    const answers = ['1 + 1', '1 - 1', '1 + 1'].map((sum) => {
      write('part.cts', `export const cost: number = ${sum}`)
      return run()
    })
    expect(answers).to.deep.equal(['2\n', '0\n', '2\n'])
  })

  it('are each their own where two have the same text', () => {
    const text = 'export const place: string = __filename'
    for (const name of ['one.cts', 'other.cts']) write(name, text)
    write(
      'main.cts',
      "import * as one from './one.cts'\nimport * as other from './other.cts'\nconsole.log(one.place === other.place)",
    )
    expect([run(), run()]).to.deep.equal(['false\n', 'false\n'])
  })

  it('are really those of the run before: their code is what was kept', () => {
    write('main.cts', 'console.log("before")')
    run()
    const data = readFileSync(join(folder, 'kept', 'data'), 'latin1')
    writeFileSync(join(folder, 'kept', 'data'), data.replaceAll('before', 'inside'), 'latin1')
    expect(run()).to.equal('inside\n')
  })
})
