import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { closingLine } from '../../../scripts/testing/closing-line.ts'
import { root } from '../../../scripts/folders.ts'
import { namesFiles, readArguments } from '../../../scripts/testing/arguments.ts'
import { affectedTests, readImporters } from '../../../scripts/testing/changed.ts'
import type { Importers } from '../../../scripts/testing/changed.ts'
import { testFiles, timesFile } from '../../../scripts/testing/order.ts'
import type { Times } from '../../../scripts/testing/order.ts'
import { privateFolder } from '../../../scripts/harness/services.ts'

async function mocha(
  files: Record<string, string>,
  env: NodeJS.ProcessEnv,
  jobs = '2',
): Promise<{ code: number; output: string }> {
  const folder = privateFolder()
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  const bin = join(dirname(createRequire(import.meta.url).resolve('mocha/package.json')), 'bin', 'mocha.js')
  const paths = Object.keys(files).map((name) => join(folder, name))
  const child = spawn(process.execPath, [bin, '--parallel', '--jobs', jobs, ...paths], {
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

describe('a test run', () => {
  const files = {
    'fine.test.ts': 'it("is fine", () => {}); it("is fine too", () => {}); it("is not written yet")',
    'bad.test.ts': 'it("is wrong", () => { throw new Error("the reason, in full") })',
    'worse.test.ts': 'it("ends its process", () => { process.exit(3) })',
  }

  it('ends with the right counts, also of a file whose process died', async () => {
    const { code, output } = await mocha(files, {})
    expect(output.trimEnd().split('\n').at(-1)).to.equal('2 passed, 2 failed, 1 skipped')
    expect(output).to.include('the reason, in full')
    expect(code).not.to.equal(0)
  })

  it('fails each file whose promise was rejected with nobody to handle it', async () => {
    const left = (late: string) => `
      it("is fine", () => {})
      it("leaves one", async () => {
        ${late}Promise.reject(new Error("left alone")))
        await new Promise((resolve) => setTimeout(resolve, 20))
      })`
    // More files than processes: mocha takes all listeners away after each.
    const rejecting = Object.fromEntries(
      ['a', 'b', 'c', 'd'].map((name, nth) => [
        `${name}.test.ts`,
        left(nth % 2 === 0 ? 'void (' : 'setTimeout(() => void '),
      ]),
    )
    const { code, output } = await mocha(rejecting, {})
    for (const file of Object.keys(rejecting)) expect(output).to.match(new RegExp(`Error: left alone\\s+at .*${file}`))
    expect(output.trimEnd().split('\n').at(-1)).to.equal('8 passed, 4 failed')
    expect(code).not.to.equal(0)
  })

  it('fails a file whose last test left a rejection behind', async () => {
    const { code, output } = await mocha(
      { 'last.test.ts': 'it("leaves one", () => { void Promise.reject(new Error("left alone")) })' },
      {},
      '1',
    )
    expect(output).to.match(/Error: left alone\s+at .*last\.test\.ts/)
    expect(code).not.to.equal(0)
  })

  it('fails a test whose process logged a defect that nobody met', async () => {
    const harness = join(root, 'scripts/harness/processes.ts')
    // The line comes in two pieces.
    const program = `
      process.stdout.write('{"msg":"up"}\\n{"level":"error","de')
      setTimeout(() => console.log('fect":"rejection","msg":"x"}'), 50)
      setTimeout(() => {}, 1e6)`
    const { code, output } = await mocha(
      {
        'started.test.ts': `
          const { run } = await import(${JSON.stringify(harness)})
          it("starts one", async () => {
            const { child } = await run('the program', ['-e', ${JSON.stringify(program)}], {}, /up/)
            await new Promise((resolve) => setTimeout(resolve, 1000))
            child.kill()
          })`,
      },
      {},
    )
    expect(output).to.match(/the program has had a defect/)
    expect(code).not.to.equal(0)
  })

  it('leaves the closing line to npm test, which has more to count', async () => {
    const folder = privateFolder()
    mkdirSync(folder, { recursive: true })
    const result = join(folder, 'result.json')
    const { code, output } = await mocha({ 'fine.test.ts': files['fine.test.ts'] }, { TOLLGATE_TEST_RESULT: result })
    expect(JSON.parse(readFileSync(result, 'utf8'))).to.deep.equal({ passed: 2, failed: 0, skipped: 1 })
    expect(output).not.to.match(/passed,/)
    expect(code).to.equal(0)
  })
})

describe('the database of a file of tests', () => {
  it('is empty for each file, even in one process', async () => {
    const database = JSON.stringify(join(root, 'scripts/harness/database.ts'))
    const factories = JSON.stringify(join(root, 'scripts/harness/factories.ts'))
    const file = (name: string) => `
      const { connectTestDb, testDatabaseUrl } = await import(${database})
      const { anAccount } = await import(${factories})
      it(${JSON.stringify(name)}, async () => {
        const db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 1 })
        const found = await db('accounts')
        await anAccount(db, 1)
        await db.destroy()
        if (found.length > 0) throw new Error('an account of another file')
      })`
    // Three files in two processes: one process runs two of them.
    const files = Object.fromEntries(['one', 'two', 'three'].map((name) => [`${name}.test.ts`, file(name)]))
    const { output } = await mocha(files, {})
    expect(output).to.match(/3 passed, 0 failed\n$/)
  })
})

describe('the closing line', () => {
  it('names skipped tests only if there are any', () => {
    expect(closingLine({ passed: 3, failed: 0, skipped: 0 })).to.equal('3 passed, 0 failed')
    expect(closingLine({ passed: 3, failed: 1, skipped: 2 })).to.equal('3 passed, 1 failed, 2 skipped')
  })
})

describe('the order of test files', () => {
  it('has every file once, the longest of the last measured run first', () => {
    const files = testFiles()
    expect(new Set(files).size).to.equal(files.length)
    expect(files).to.include.members(['test/secrets.test.ts', 'test/scripts/testing/main.test.ts'])
    const { files: recorded } = JSON.parse(readFileSync(timesFile, 'utf8')) as Times
    const inOrder = files.map((file) => recorded[file] ?? 0)
    expect(inOrder).to.deep.equal(inOrder.toSorted((one, other) => other - one))
    expect(inOrder[0]).to.be.greaterThan(0)
  })
})

describe('the tests that a change affects', () => {
  let users: Importers
  before(async () => {
    users = await readImporters()
  })
  const affectedBy = (...changed: string[]) => affectedTests(changed, testFiles(), users)

  it('are those that import a changed file, directly or through others', () => {
    const affected = affectedBy('src/shared/media-files/ebml.ts')
    expect(affected).to.include('test/shared/media-files/measure.test.ts')
    expect(affected).not.to.include('test/shared/platform/places.test.ts')
  })

  it('are those that start a changed program, read a changed function of SQL or a changed page', () => {
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
