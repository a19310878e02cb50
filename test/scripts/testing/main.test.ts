import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { root } from '../../../scripts/folders.ts'
import { namesFiles, readArguments } from '../../../scripts/testing/arguments.ts'
import { affectedTests, readImporters } from '../../../scripts/testing/changed.ts'
import type { Importers } from '../../../scripts/testing/changed.ts'
import { testFiles, timesFile } from '../../../scripts/testing/order.ts'
import type { Times } from '../../../scripts/testing/order.ts'
import { privateFolder } from '../../../scripts/harness/services.ts'

type Ended = { code: number; output: string }

async function mocha(files: Record<string, string>, env: NodeJS.ProcessEnv = {}): Promise<Ended> {
  const folder = privateFolder()
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.test.ts`), text)
  const bin = join(dirname(createRequire(import.meta.url).resolve('mocha/package.json')), 'bin', 'mocha.js')
  const paths = Object.keys(files).map((name) => join(folder, `${name}.test.ts`))
  const child = spawn(process.execPath, [bin, '--parallel', '--jobs', '2', ...paths], {
    cwd: root,
    env: { ...process.env, TOLLGATE_TEST_RESULT: '', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString()
  })
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}

const FINE = 'it("is fine", () => {}); it("is fine too", () => {}); it("is not written yet")'

const leaving = (late: string) => `
  it("is fine", () => {})
  it("leaves one", async () => {
    ${late}Promise.reject(new Error("left alone")))
    await new Promise((resolve) => setTimeout(resolve, 20))
  })`

/** Runs a program that logs a defect; the line comes in two pieces. */
const STARTING = `
  import { run } from ${JSON.stringify(join(root, 'scripts/harness/processes.ts'))}
  const program = \`
    process.stdout.write('{"msg":"up"}\\\\n{"level":"error","de')
    setTimeout(() => console.log('fect":"rejection","msg":"x"}'), 50)
    setTimeout(() => {}, 1e6)\`
  it("starts one", async () => {
    const { child } = await run('the program', ['-e', program], {}, /up/)
    await new Promise((resolve) => setTimeout(resolve, 1000))
    child.kill()
  })`

const LOOKING = `
  import { connectTestDb, testDatabaseUrl } from ${JSON.stringify(join(root, 'scripts/harness/database.ts'))}
  import { anAccount } from ${JSON.stringify(join(root, 'scripts/harness/factories.ts'))}
  it("finds no account of another file", async () => {
    const db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 1 })
    const found = await db('accounts')
    await anAccount(db, 1)
    await db.destroy()
    if (found.length > 0) throw new Error('an account of another file')
  })`

/** More files of each kind than there are processes: mocha takes all listeners away after each. */
const FILES = {
  fine: FINE,
  bad: 'it("is wrong", () => { throw new Error("the reason, in full") })',
  worse: 'it("ends its process", () => { process.exit(3) })',
  ...Object.fromEntries(['rejecting-1', 'rejecting-2'].map((name) => [name, leaving('void (')])),
  ...Object.fromEntries(['late-1', 'late-2'].map((name) => [name, leaving('setTimeout(() => void ')])),
  last: 'it("leaves one", () => { void Promise.reject(new Error("left alone")) })',
  starting: STARTING,
  ...Object.fromEntries(['one', 'two', 'three'].map((name) => [name, LOOKING])),
}

describe('a test run', () => {
  let ended: Ended
  before(async () => {
    ended = await mocha(FILES)
  })

  it('ends with the right counts, also of a file whose process died', () => {
    expect(ended.output.trimEnd().split('\n').at(-1)).to.equal('15 passed, 8 failed, 1 skipped')
    expect(ended.output).to.include('the reason, in full')
    expect(ended.code).not.to.equal(0)
  })

  it('fails each file whose promise was rejected with nobody to handle it, by its last test too', () => {
    for (const name of ['rejecting-1', 'rejecting-2', 'late-1', 'late-2', 'last'])
      expect(ended.output).to.match(new RegExp(`Error: left alone\\s+at .*${name}`))
  })

  it('fails a test whose process logged a defect that nobody met', () => {
    expect(ended.output).to.match(/the program has had a defect/)
  })

  it('has an empty database for each file, even in one process', () => {
    expect(ended.output).not.to.include('an account of another file')
  })
})

describe('the order of test files', () => {
  it('has every file once, those that mostly wait all along, and of these the longest first', () => {
    const files = testFiles()
    expect(new Set(files).size).to.equal(files.length)
    expect(files).to.include.members(['test/secrets.test.ts', 'test/scripts/testing/main.test.ts'])
    const { files: recorded } = JSON.parse(readFileSync(timesFile, 'utf8')) as Times
    const waiting = files.flatMap((file, at) => ((recorded[file] ?? 0) >= 20 ? [{ at, s: recorded[file]! }] : []))
    expect(waiting).to.deep.equal(waiting.toSorted((one, other) => other.s - one.s || one.at - other.at))
    expect([waiting[0]!.at, waiting.at(-1)!.at > files.length / 2]).to.deep.equal([0, true])
  })
})

describe('the tests that a change affects', () => {
  /** Some of the imports of this repository. */
  const users: Importers = new Map([
    ['src/shared/media-files/ebml.ts', ['src/shared/media-files/webm.ts']],
    ['src/shared/media-files/webm.ts', ['src/shared/media-files/measure.ts']],
    ['src/shared/media-files/measure.ts', ['test/shared/media-files/measure.test.ts']],
    ['scripts/harness/database.ts', ['test/shared/calls/verbs.test.ts']],
    ['scripts/harness/installation.ts', ['test/support/installed.ts']],
    ['test/support/installed.ts', ['test/crash/kills.test.ts']],
    ['test/console/pages.test.ts', []],
  ])
  const affectedBy = (...changed: string[]) => affectedTests(changed, testFiles(), users)

  it('are those that import a changed file, directly or through others, as its imports are read', async () => {
    const affected = affectedBy('src/shared/media-files/ebml.ts')
    expect(affected).to.include('test/shared/media-files/measure.test.ts')
    expect(affected).not.to.include('test/shared/platform/places.test.ts')
    const read = await readImporters(['src/shared/media-files'])
    expect(read.get('src/shared/media-files/ebml.ts')).to.include('src/shared/media-files/webm.ts')
  })

  it('are those that start a changed program, read a changed function of SQL or a changed page', () => {
    for (const file of users.keys()) expect(existsSync(join(root, file)), file).to.equal(true)
    expect(affectedBy('sql/open_calls.sql')).to.include('test/shared/calls/verbs.test.ts')
    expect(affectedBy('src/api/main.ts')).to.include('test/crash/kills.test.ts')
    expect(affectedBy('src/console/main.tsx')).to.include('test/console/pages.test.ts')
    expect(affectedBy('docs/money.md')).to.include('test/docs/links.test.ts')
  })

  it('are all after a change of what every test uses, and none without a change', () => {
    expect(affectedBy('package-lock.json')).to.deep.equal(testFiles())
    expect(affectedBy()).to.deep.equal([])
  })
})

describe('the arguments of npm test', () => {
  it('are files, folders and patterns, besides options and their values', () => {
    expect(namesFiles([])).to.equal(false)
    expect(namesFiles(['--grep', 'test'])).to.equal(false)
    expect(namesFiles(['-g', 'a.ts', '--bail'])).to.equal(false)
    expect(namesFiles(['test/x.test.ts'])).to.equal(true)
    expect(namesFiles(['--grep', 'x', 'test'])).to.equal(true)
    expect(namesFiles(['test/api/**'])).to.equal(true)
  })

  it('are its own options, and those of mocha', () => {
    expect(readArguments(['--times', '--grep', 'x'])).to.deep.equal({
      times: true,
      since: undefined,
      rest: ['--grep', 'x'],
    })
    expect(readArguments(['--changed']).since).to.equal('HEAD')
    expect(readArguments(['--changed=main', '-b'])).to.deep.equal({ times: false, since: 'main', rest: ['-b'] })
  })
})
