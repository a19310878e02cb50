import { root } from '../folders.ts'
import type { TestAddresses } from '../services/test-services.ts'
import { runMocha } from './mocha.ts'
import type { MutantRunner } from './mutants/runner.ts'
import { JUDGES } from './mutants/judges.ts'
import { MUTANTS } from './mutants/list.ts'

/** The result of a job. `mutant`: it was a planted bug, and `ok` says that it was found. `story`: for a failure. */
export type Result = { ok: boolean; figures: string[]; story: string; schedules: number; mutant: boolean }

/** One part of the soak. */
export type Job = { name: string; run: () => Promise<Result> }

/** How many random schedules there are, and how many processes run them. */
const SCHEDULES = 10_000
const SHARDS = 4

/** How many random schedules of payments there are, and how many processes run them. */
const PAYMENT_SCHEDULES = 5000
const PAYMENT_SHARDS = 2

/** Random chats whose pre-charge is compared with a bill. */
const CHATS = 20_000

/** A figure that a test prints (test/crash/scale.ts). */
const FIGURE = /^\s+· (.*)$/

const figuresIn = (output: string): string[] => output.split('\n').flatMap((line) => FIGURE.exec(line)?.[1] ?? [])

/** The seed of the random choices, the folder of the bundled programs, and the runner of planted bugs. */
type Options = { seed: number; programs: string; runner: MutantRunner }

/**
 * The parts of the soak: those that measure times and must run alone, and, in parallel, those that mostly wait and
 * those that keep the machine busy.
 */
export function jobsOf(
  addresses: TestAddresses,
  { seed, programs, runner }: Options,
): { alone: Job[]; waiting: Job[]; busy: Job[] } {
  const test = (name: string, files: string[], env: Record<string, string> = {}, schedules = 0): Job => ({
    name,
    run: async () => {
      const { counts, output } = await runMocha(files, {
        ...addresses,
        folder: root,
        env: { TOLLGATE_SOAK: '1', TOLLGATE_SEED: String(seed), TOLLGATE_TEST_PROGRAMS: programs, ...env },
      })
      const ok = counts !== undefined && counts.failed === 0 && counts.passed > 0
      return { ok, figures: figuresIn(output), story: ok ? '' : output, schedules, mutant: false }
    },
  })
  const shards = (name: string, file: string, variable: string, total: number, parts: number): Job[] =>
    Array.from({ length: parts }, (_one, nth) => {
      const runs = Math.ceil(total / parts)
      const env = { [variable]: String(runs), TOLLGATE_SEED: String(seed + nth) }
      return test(`${name} ${nth + 1} of ${parts}`, [file], env, runs)
    })
  const [calls, payments] = ['test/crash/schedules.test.ts', 'test/crash/payments.test.ts'] as const
  const schedules = [
    ...shards('schedules', calls, 'TOLLGATE_SCHEDULES', SCHEDULES, SHARDS),
    ...shards('schedules of payments', payments, 'TOLLGATE_PAYMENT_SCHEDULES', PAYMENT_SCHEDULES, PAYMENT_SHARDS),
  ]
  const mutants = MUTANTS.map((mutant): Job => ({
    name: `planted bug: ${mutant.name}`,
    run: async () => {
      const { found, note } = await runner.judge(mutant, addresses)
      return { ok: found, figures: found ? [] : ['no test has noticed it'], story: note, schedules: 0, mutant: true }
    },
  }))
  // Last, in the same copy, after every bug was planted and removed.
  const healthy: Job = {
    name: 'no bug planted',
    run: async () => {
      const { found, note } = await runner.judgeHealthy(JUDGES, addresses)
      return { ok: !found && note === '', figures: [], story: note, schedules: 0, mutant: false }
    },
  }
  const preCharges = test('pre-charges', ['test/upstreams/precharge.test.ts'], { TOLLGATE_REQUESTS: String(CHATS) })
  const quotes = test('quotes', ['test/api/v1/quotes.test.ts'])
  return {
    alone: [test('load', ['test/crash/load.test.ts'])],
    waiting: [
      test('outages', ['test/crash/outages.test.ts']),
      test('takeovers', ['test/crash/takeovers.test.ts']),
      test('stops', ['test/crash/stops.test.ts']),
      test('cuts', ['test/crash/cuts.test.ts', 'test/crash/failpoints.test.ts']),
      ...mutants,
      healthy,
    ],
    busy: [test('kills', ['test/crash/kills.test.ts']), ...schedules, preCharges, quotes],
  }
}
