import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../../scripts/folders.ts'
import { places, sourcesOf } from '../../rules/source.ts'

describe('npm run admin without the packages for development', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-production-'))
  before(() => {
    for (const path of ['scripts/run/admin.mjs', 'package.json']) cpSync(join(root, path), join(folder, path))
  })
  after(() => rmSync(folder, { recursive: true }))

  const run = () => {
    const script = join(folder, 'scripts/run/admin.mjs')
    return spawnSync(process.execPath, [script, 'account', 'show'], { cwd: folder, encoding: 'utf8' })
  }

  it('says what is missing where nothing was built, and runs what was', () => {
    const early = run()
    expect([early.status, early.stderr]).to.deep.equal([
      1,
      'Nothing has been built: run npm ci && npm run build, which need the packages for development.\n',
    ])
    mkdirSync(join(folder, 'dist/src/admin'), { recursive: true })
    writeFileSync(join(folder, 'dist/src/admin/main.js'), 'console.log(process.argv.slice(2).join())\n')
    expect(run().stdout).to.equal('account,show\n')
  })
})

describe('npm run admin with the packages for development', () => {
  /** The scripts that run before the command, which may build first. */
  const scripts = ['scripts/run', 'scripts/build', 'scripts/services']
    .flatMap(sourcesOf)
    .filter(({ path }) => path !== 'scripts/build/main.ts')

  it('leaves standard output to the command, whose JSON others read', () => {
    expect(places(scripts, /console\.(log|info)\(|process\.stdout/)).to.deep.equal([])
  })
})
