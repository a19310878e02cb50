import '../../scripts/require-node.ts'
import { randomInt } from 'node:crypto'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { cpuMicros } from '../../scripts/harness/processes.ts'
import { processName } from '../../scripts/harness/services.ts'
import { ensureTemplate } from '../../scripts/harness/database.ts'
import { build, buildIsStale } from '../../scripts/build/builder.ts'
import { testData } from '../../scripts/folders.ts'
import { startTestServices, stopTestServices } from '../../scripts/services/test-services.ts'
import { jobsOf } from './jobs.ts'
import type { Job, Result } from './jobs.ts'
import { PassedJobs, jobsBefore } from './passed.ts'
import { bundlePrograms } from '../../scripts/testing/programs.ts'
import { treeOf } from '../../scripts/testing/tree.ts'
import { MutantRunner } from './mutants/runner.ts'
import { readOptions } from '../../scripts/options.ts'
import { seconds } from '../../scripts/tools.ts'

/**
 * `npm run soak`: the crash tests in full length. Prints what was measured, and the seeds that repeat a failure. Exit
 * code 1 on any breach. `--only WORDS` runs the jobs with those words in their name, or with one of several:
 * `--only 'load|cuts'`. `--seed N` repeats the random choices of a run, `--lanes N` begins with N busy jobs at a time,
 * `--part 0.1` plays a tenth of the schedules and chats. Every third bug is planted, from one on that the seed chooses:
 * `--every 1` plants all, and so does `--only`. `--from JOB`, a number or words of a name, continues the last soak
 * there: of the jobs before it, those that passed with the same seed, tree and options do not run again.
 */
const usage = 'npm run soak -- [--only WORDS] [--from JOB] [--seed N] [--lanes 2] [--part 1] [--every 3]'
const { values } = readOptions(usage, {
  options: {
    only: { type: 'string', default: '' },
    from: { type: 'string' },
    seed: { type: 'string' },
    lanes: { type: 'string', default: '2' },
    part: { type: 'string', default: '1' },
    every: { type: 'string', default: '3' },
  },
})
const stateFile = join(testData, 'soak.json')
const continued = values.from === undefined ? undefined : PassedJobs.lastSeed(stateFile)
const seed = values.seed === undefined ? (continued ?? randomInt(2 ** 31)) : Number(values.seed)
const part = Number(values.part)
const every = values.only === '' ? Number(values.every) : 1
const folder = join(testData, `run-${processName}`)
const startedAt = Date.now()
const runner = new MutantRunner()
let programs: string | undefined

/** How many bugs are planted at a time, each in a copy of its own. */
const PLANTED_AT_ONCE = 2

/** All jobs, in the order of their numbers, and those that passed. */
let all: Job[] = []
const tree = treeOf()
const passed = new PassedJobs(stateFile, { seed, tree, part, every })

async function run(job: Job): Promise<Result> {
  const began = Date.now()
  const result = await job.run()
  if (values.only === '') passed.record(job, result)
  const number = all.indexOf(job) + 1
  console.log(`${result.ok ? 'ok    ' : 'FAILED'} ${number} ${job.name} (${seconds(Date.now() - began)})`)
  for (const line of result.figures) console.log(`         ${line}`)
  if (!result.ok) console.log(result.details)
  return result
}

/** Runs jobs one after the other, and then those that are left of others. */
async function runLane(...queues: Job[][]): Promise<Result[]> {
  const results: Result[] = []
  for (const jobs of queues) for (let job = jobs.shift(); job; job = jobs.shift()) results.push(await run(job))
  return results
}

/** Runs jobs, at most `lanes` at a time. */
async function runAll(jobs: Job[], lanes: number): Promise<Result[]> {
  const results = await Promise.all(Array.from({ length: lanes }, () => runLane(jobs)))
  return results.flat()
}

async function soak(): Promise<boolean> {
  console.log(`seed ${seed} (npm run soak -- --seed ${seed} repeats its random choices)`)
  if (buildIsStale()) await build()
  const addresses = await startTestServices(folder, 'with-starter', console.log)
  ;[programs] = await Promise.all([bundlePrograms(), ensureTemplate(addresses.databaseUrl)])
  const lanes = jobsOf(addresses, { seed, part, every, tree, programs, runner })
  all = Object.values(lanes).flat()
  const done = values.from === undefined ? [] : jobsBefore(all, values.from).filter((job) => passed.of(job))
  if (values.from !== undefined) console.log(`${done.length} of ${all.length} jobs have passed, and do not run again`)
  const words = values.only.split('|')
  const wanted = (jobs: Job[]): Job[] =>
    jobs.filter((job) => words.some((some) => job.name.includes(some)) && !done.includes(job))
  const patient = runAll(wanted(lanes.patient), lanes.patient.length)
  const measured = await runLane(wanted(lanes.first))
  const busy = wanted(lanes.busy)
  const beside = await Promise.all([
    patient,
    runAll(busy, Number(values.lanes)),
    ...[lanes.kills, lanes.faults].map((jobs) => runLane(wanted(jobs), busy)),
    runAll(wanted(lanes.planted), PLANTED_AT_ONCE),
  ])
  const results = [measured, ...beside, done.map((job) => passed.of(job)!)].flat()
  const mutants = results.filter(({ mutant }) => mutant)
  if (mutants.length > 0)
    console.log(`planted bugs found: ${mutants.filter(({ ok }) => ok).length} of ${mutants.length}`)
  const schedules = results.reduce((sum, result) => sum + result.schedules, 0)
  if (schedules > 0) console.log(`schedules: ${schedules}`)
  return results.length > 0 && results.every(({ ok }) => ok)
}

let ok = false
try {
  ok = await soak()
} finally {
  runner.end()
  if (programs) rmSync(programs, { recursive: true })
  await stopTestServices(folder)
}
const cpu = seconds(cpuMicros(process.pid) / 1000)
console.log(`${ok ? 'no breach' : 'BREACH'} in ${seconds(Date.now() - startedAt)}, ${cpu} of CPU, seed ${seed}`)
process.exit(ok ? 0 : 1)
