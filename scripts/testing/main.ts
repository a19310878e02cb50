import '../require-node.ts'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { ensureTemplate } from '../harness/database.ts'
import { ownerLives, processName } from '../harness/services.ts'
import { build, buildIsStale } from '../build/builder.ts'
import { closingLine } from './closing-line.ts'
import type { Counts } from './closing-line.ts'
import { root, testData } from '../folders.ts'
import { dyingWithParent } from '../services/processes.ts'
import { readIfThere } from '../services/secrets.ts'
import { startTestServices, stopTestServices } from '../services/test-services.ts'
import type { TestAddresses } from '../services/test-services.ts'
import { bundlePrograms } from './programs.ts'
import { namesFiles } from './arguments.ts'
import { testFiles } from './order.ts'
import { recordPassed, treeOf } from './tree.ts'
import { runTool, seconds } from '../tools.ts'

/**
 * `npm test`: checks, builds, starts its own services, runs all tests, or those that its arguments name, and stops the
 * services. `--times` writes the ms of each file to `.test-data/times.json`, slowest first, and prints the slowest;
 * other options are passed to mocha. The last line counts the tests; the exit code is 0 only if none failed.
 */
const args = process.argv.slice(2).filter((arg) => arg !== '--times')
const runFolder = join(testData, `run-${processName}`)
const timesFile = process.argv.includes('--times') ? join(runFolder, 'times.jsonl') : undefined
const counts: Counts = { passed: 0, failed: 0, skipped: 0 }
let interrupted = false
let mocha: ChildProcess | undefined
let programs: string | undefined

/**
 * Runs one part of the preparation, whose failure counts as a failed test. Returns its result, or undefined if it
 * failed.
 */
async function stage<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
  const startedAt = Date.now()
  try {
    const result = await work()
    console.log(`${name.padEnd(10)} ${seconds(Date.now() - startedAt)}`)
    return result
  } catch (error) {
    if (interrupted) return undefined
    counts.failed += 1
    console.error(`${name.padEnd(10)} FAILED\n${error instanceof Error ? error.message : String(error)}\n`)
    return undefined
  }
}

async function check(): Promise<void> {
  const { ok, output } = await runTool('npm', ['run', '--silent', 'check'])
  if (!ok) throw new Error(output)
}

/** Builds what is stale, and for all tests the programs that they start most. */
async function built(): Promise<void> {
  if (buildIsStale()) await build()
  if (!namesFiles(args)) programs = await bundlePrograms()
}

async function services(): Promise<TestAddresses> {
  const addresses = await startTestServices(runFolder, 'with-starter', console.log)
  await ensureTemplate(addresses.databaseUrl)
  return addresses
}

/** Removes the data of killed runs. */
async function sweep(): Promise<void> {
  for (const entry of existsSync(testData) ? readdirSync(testData) : []) {
    const owner = entry.startsWith('run-') ? entry.slice('run-'.length) : undefined
    if (owner !== undefined && !ownerLives(owner)) await stopTestServices(join(testData, entry))
  }
}

async function runMocha(addresses: TestAddresses): Promise<void> {
  const result = join(runFolder, 'result.json')
  const bin = join(dirname(createRequire(import.meta.url).resolve('mocha/package.json')), 'bin', 'mocha.js')
  const files = namesFiles(args) ? [] : testFiles()
  const command = [process.execPath, bin, '--parallel', '--jobs', '4', '--forbid-only', ...args, ...files]
  const [program = '', ...rest] = dyingWithParent('SIGTERM', command)
  // A group of its own, so that Ctrl-C reaches only this process, which ends mocha and its workers together.
  mocha = spawn(program, rest, {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'inherit', 'inherit'],
    env: {
      ...process.env,
      TOLLGATE_TEST_DATABASE_URL: addresses.databaseUrl,
      TOLLGATE_TEST_REDIS_URL: addresses.redisUrl,
      TOLLGATE_TEST_FOLDER: runFolder,
      TOLLGATE_TEST_RESULT: result,
      ...(timesFile && { TOLLGATE_TEST_TIMES: timesFile }),
      ...(programs && { TOLLGATE_TEST_PROGRAMS: programs }),
    },
  })
  const [code, killedBy] = (await once(mocha, 'close')) as [number | null, NodeJS.Signals | null]
  const ended = JSON.parse(readIfThere(result) ?? '{"passed":0,"failed":0,"skipped":0}') as Counts
  counts.passed += ended.passed
  counts.failed += ended.failed
  counts.skipped += ended.skipped
  if (interrupted || (code === 0 && existsSync(result))) return
  if (ended.failed === 0) {
    counts.failed += 1
    console.error(`mocha ended with ${killedBy ?? `exit code ${code}`} without a failed test`)
  }
}

function reportTimes(file: string): void {
  const lines = (readIfThere(file) ?? '').split('\n').filter((line) => line !== '')
  const slowestFirst = lines
    .map((line) => JSON.parse(line) as { file: string; ms: number })
    .toSorted((one, other) => other.ms - one.ms)
  writeFileSync(join(testData, 'times.json'), `${JSON.stringify(slowestFirst, null, 2)}\n`)
  for (const { file: name, ms } of slowestFirst.slice(0, 20)) console.log(`${seconds(ms).padStart(8)}  ${name}`)
}

function interrupt(name: NodeJS.Signals): void {
  if (interrupted) return
  interrupted = true
  console.error(`\n${name}: stopping`)
  if (mocha?.pid !== undefined && mocha.exitCode === null) process.kill(-mocha.pid, 'SIGKILL')
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt(name))

await sweep()
const tree = treeOf()
const checked = args.length > 0 ? undefined : stage('check', check)
const [, addresses] = await Promise.all([stage('build', built), stage('services', services)])
if (addresses !== undefined && !interrupted) await runMocha(addresses)
await checked
if (timesFile) reportTimes(timesFile)
await stopTestServices(runFolder)
if (programs) rmSync(programs, { recursive: true })

// The soak does not run them again.
if (!interrupted && counts.failed === 0 && args.length === 0 && treeOf() === tree) recordPassed(tree)
if (counts.passed + counts.failed === 0) console.error(interrupted ? 'interrupted' : 'no test was run')
console.log(closingLine(counts))
process.exit(interrupted ? 130 : counts.failed > 0 || counts.passed === 0 ? 1 : 0)
