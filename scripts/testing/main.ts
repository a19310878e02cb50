import '../require-node.ts'
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { availableParallelism } from 'node:os'
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
import { namesFiles, readArguments } from './arguments.ts'
import { affectedTests, changedSince, readImporters } from './changed.ts'
import { testFiles, timesFile } from './order.ts'
import type { Times } from './order.ts'
import { checkOnce, recordPassed, treeOf } from './tree.ts'
import { runTool, seconds } from '../tools.ts'

/**
 * `npm test`: checks, builds, starts its own services, runs all tests, or those that its arguments name, and stops the
 * services. `--changed` runs the tests that uncommitted changes affect, `--changed=COMMIT` those that the changes since
 * a commit do. `--times` prints the slowest files; after a whole run it records the times in `test/times.json`, by
 * which the next run orders its files. Other options are passed to mocha. The last line counts the tests; the exit code
 * is 0 only if none failed.
 */
const { times, since, rest: args } = readArguments(process.argv.slice(2))
const isWhole = args.length === 0 && since === undefined
const runFolder = join(testData, `run-${processName}`)
const timesLog = times ? join(runFolder, 'times.jsonl') : undefined
const stages: Record<string, number> = {}
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
    stages[name] = Math.round((Date.now() - startedAt) / 1000)
    console.log(`${name.padEnd(10)} ${seconds(Date.now() - startedAt)}`)
    return result
  } catch (error) {
    if (interrupted) return undefined
    counts.failed += 1
    console.error(`${name.padEnd(10)} FAILED\n${error instanceof Error ? error.message : String(error)}\n`)
    return undefined
  }
}

/** Tests go first: some wait, and the checks have the processors meanwhile. */
async function check(): Promise<void> {
  const { ok, output } = await runTool('npm', ['run', '--silent', 'check'], { patient: true })
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

/** Many tests wait for upstreams, so two in turn keep a core busy. */
const JOBS_PER_CORE = 2

async function runMocha(addresses: TestAddresses, files: string[]): Promise<void> {
  const result = join(runFolder, 'result.json')
  const bin = join(dirname(createRequire(import.meta.url).resolve('mocha/package.json')), 'bin', 'mocha.js')
  const jobs = String(JOBS_PER_CORE * availableParallelism())
  const command = [process.execPath, bin, '--parallel', '--jobs', jobs, '--forbid-only', ...args, ...files]
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
      ...(timesLog && { TOLLGATE_TEST_TIMES: timesLog }),
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

/** Files of less than this are not recorded, in s: whichever of them comes last, a run ends soon after it begins. */
const LEAST_RECORDED = 4

function reportTimes(log: string): void {
  const slowestFirst = (readIfThere(log) ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as { file: string; ms: number; cpuMs: number })
    .toSorted((one, other) => other.ms - one.ms)
  for (const { file, ms, cpuMs } of slowestFirst.slice(0, 20))
    console.log(`${seconds(ms).padStart(8)}, CPU ${seconds(cpuMs).padStart(7)}  ${file}`)
  if (!isWhole || interrupted) return
  const files = slowestFirst
    .map(({ file, ms }): [string, number] => [file, Math.round(ms / 1000)])
    .filter(([, s]) => s >= LEAST_RECORDED)
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
  const recorded: Times = { stages, files: Object.fromEntries(files) }
  writeFileSync(timesFile, `${JSON.stringify(recorded, null, 2)}\n`)
}

function interrupt(name: NodeJS.Signals): void {
  if (interrupted) return
  interrupted = true
  console.error(`\n${name}: stopping`)
  if (mocha?.pid !== undefined && mocha.exitCode === null) process.kill(-mocha.pid, 'SIGKILL')
}

for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt(name))

/** The files to run; none if the arguments name them, or if no change affects one. */
async function chosenFiles(): Promise<string[]> {
  if (since !== undefined) return affectedTests(changedSince(since), testFiles(), await readImporters())
  return namesFiles(args) ? [] : testFiles()
}

await sweep()
const tree = treeOf()
const files = await chosenFiles()
if (since !== undefined && files.length === 0) {
  console.log(`No test is affected by what has changed since ${since}.`)
  process.exit(0)
}
const checked = isWhole ? stage('check', () => checkOnce(check)) : undefined
const [, addresses] = await Promise.all([stage('build', built), stage('services', services)])
if (addresses !== undefined && !interrupted) await stage('tests', () => runMocha(addresses, files))
await checked
if (timesLog) reportTimes(timesLog)
await stopTestServices(runFolder)
if (programs) rmSync(programs, { recursive: true })

// The soak does not run them again.
if (!interrupted && counts.failed === 0 && isWhole && treeOf() === tree) recordPassed(tree)
if (counts.passed + counts.failed === 0) console.error(interrupted ? 'interrupted' : 'no test was run')
console.log(closingLine(counts))
process.exit(interrupted ? 130 : counts.failed > 0 || counts.passed === 0 ? 1 : 0)
