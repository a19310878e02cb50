import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { closingLine } from '../../../scripts/testing/closing-line.ts'
import { root } from '../../../scripts/folders.ts'
import { namesFiles } from '../../../scripts/testing/arguments.ts'
import { testFiles } from '../../../scripts/testing/order.ts'
import { privateFolder } from '../../../scripts/harness/services.ts'

/** Runs files in two processes, as `npm test` does. */
async function mocha(
  files: Record<string, string>,
  env: NodeJS.ProcessEnv = {},
): Promise<{ code: number; output: string }> {
  const folder = privateFolder()
  mkdirSync(folder, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, `${name}.test.ts`), text)
  const bin = join(dirname(createRequire(import.meta.url).resolve('mocha/package.json')), 'bin', 'mocha.js')
  const paths = Object.keys(files).map((name) => join(folder, `${name}.test.ts`))
  const child = spawn(process.execPath, [bin, '--parallel', '--jobs', '2', ...paths], {
    cwd: root,
    env: { ...process.env, TOLLGATE_TEST_RESULT: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString()
    })
  const [code] = (await once(child, 'close')) as [number]
  return { code, output }
}

const FINE = 'it("is fine", () => {}); it("is fine too", () => {}); it("is not written yet")'

const rejecting = (late: string): string => `
  it("is fine", () => {})
  it("leaves one", async () => {
    ${late}Promise.reject(new Error("left alone")))
    await new Promise((resolve) => setTimeout(resolve, 20))
  })`

/** A program that logs a defect in two pieces. */
const DEFECTIVE = `
  process.stdout.write('{"msg":"up"}\\n{"level":"error","de')
  setTimeout(() => console.log('fect":"rejection","msg":"x"}'), 50)
  setTimeout(() => {}, 1e6)`

const harness = (file: string): string => JSON.stringify(join(root, 'scripts/harness', file))

const FILES = {
  fine: FINE,
  bad: 'it("is wrong", () => { throw new Error("the reason, in full") })',
  worse: 'it("ends its process", () => { process.exit(3) })',
  // More files than processes: mocha takes all listeners away after each.
  'rejecting-1': rejecting('void ('),
  'rejecting-2': rejecting('setTimeout(() => void '),
  'rejecting-3': rejecting('void ('),
  last: 'it("leaves one", () => { void Promise.reject(new Error("left alone")) })',
  hung: `
    const { until } = await import(${harness('until.ts')})
    it("hangs", async function () {
      this.timeout(300)
      await until('the last bus', () => false)
    })`,
  started: `
    const { run } = await import(${harness('processes.ts')})
    it("starts one", async () => {
      const { child } = await run('the program', ['-e', ${JSON.stringify(DEFECTIVE)}], {}, /up/)
      await new Promise((resolve) => setTimeout(resolve, 1000))
      child.kill()
    })`,
}

describe('a test run', () => {
  let code: number
  let output: string
  before(async () => {
    ;({ code, output } = await mocha(FILES))
  })

  it('ends with the right counts, also of a file whose process died', () => {
    expect(output.trimEnd().split('\n').at(-1)).to.equal('10 passed, 8 failed, 1 skipped')
    expect(output).to.include('the reason, in full')
    expect(code).not.to.equal(0)
  })

  it('fails each file whose promise was rejected with nobody to handle it, also by its last test', () => {
    for (const file of ['rejecting-1', 'rejecting-2', 'rejecting-3', 'last'])
      expect(output).to.match(new RegExp(`Error: left alone\\s+at .*${file}`))
  })

  it('names what a test waited for whose time was over', () => {
    expect(output).to.match(/"hangs" has failed while it waited for the last bus, for \d+ s/)
  })

  it('fails a test whose process logged a defect that nobody met', () => {
    expect(output).to.match(/the program has had a defect/)
  })

  it('leaves the closing line to npm test, which has more to count', async () => {
    const folder = privateFolder()
    mkdirSync(folder, { recursive: true })
    const result = join(folder, 'result.json')
    const counted = await mocha({ fine: FINE }, { TOLLGATE_TEST_RESULT: result })
    expect(JSON.parse(readFileSync(result, 'utf8'))).to.deep.equal({ passed: 2, failed: 0, skipped: 1 })
    expect(counted.output).not.to.match(/passed,/)
    expect(counted.code).to.equal(0)
  })
})

describe('the database of a file of tests', () => {
  it('is empty for each file, even in one process', async () => {
    const file = `
      const { connectTestDb, testDatabaseUrl } = await import(${harness('database.ts')})
      const { anAccount } = await import(${harness('factories.ts')})
      it("is alone", async () => {
        const db = connectTestDb({ DATABASE_URL: await testDatabaseUrl(), DATABASE_SSL: 'off', DATABASE_POOL: 1 })
        const found = await db('accounts')
        await anAccount(db, 1)
        await db.destroy()
        if (found.length > 0) throw new Error('an account of another file')
      })`
    // Three files in two processes: one process runs two of them.
    const { output } = await mocha({ one: file, two: file, three: file })
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
  it('has every file once, long ones first, and the pages of the console never one after the other', () => {
    const files = testFiles()
    expect(new Set(files).size).to.equal(files.length)
    expect(files).to.include.members(['test/journey.test.ts', 'test/scripts/testing/main.test.ts'])
    expect(files.slice(0, 20)).to.include('test/starts/waiting.test.ts')
    const pages = files.flatMap((file, at) => (file.startsWith('test/console/') ? [at] : []))
    expect(Math.min(...pages.slice(1).map((at, index) => at - pages[index]!))).to.be.greaterThan(1)
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
})
