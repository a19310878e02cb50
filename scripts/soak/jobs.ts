import { root } from '../folders.ts'
import type { TestAddresses } from '../services/test-services.ts'
import { runMocha } from './mocha.ts'
import type { MutantRunner } from './mutants/runner.ts'
import { JUDGES } from './mutants/judges.ts'
import { MUTANTS } from './mutants/list.ts'

/** The result of a job. `mutant`: it was a planted bug, and `ok` says that it was found. `details`: for a failure. */
export type Result = { ok: boolean; figures: string[]; details: string; schedules: number; mutant: boolean }

/** One part of the soak. */
export type Job = { name: string; run: () => Promise<Result> }

/** How many random schedules there are, and how many processes run them. */
const SCHEDULES = 10_000
const SHARDS = 10

/** How many random schedules of payments there are, and how many processes run them. */
const PAYMENT_SCHEDULES = 5000
const PAYMENT_SHARDS = 3

/** Random chats whose pre-charge is compared with a bill. */
const CHATS = 20_000

/** A figure that a test prints (test/crash/scale.ts). */
const FIGURE = /^\s+· (.*)$/

const figuresIn = (output: string): string[] => output.split('\n').flatMap((line) => FIGURE.exec(line)?.[1] ?? [])

/**
 * The seed of the random choices, what part of the schedules and chats is played (1: all), the folder of the bundled
 * programs, and the runner of planted bugs.
 */
type Options = { seed: number; part: number; programs: string; runner: MutantRunner }

/** What a job of tests is: its name, its files, and how they run. `patient`: other jobs go first. */
type Tests = { env?: Record<string, string>; schedules?: number; patient?: boolean }

/**
 * The lanes of the soak: each runs its jobs one after the other, beside the others. `first` goes before them: it
 * measures times, and has but `patient` beside it, one process that others go before. `kills`, `faults` and `planted`
 * mostly wait; `busy`, of which there are several, takes what is left of the machine, its longest jobs first. They
 * are one more than the schedules of payments, which wait for Stripe now and then.
 */
export type Lanes = Record<'first' | 'patient' | 'kills' | 'faults' | 'planted' | 'busy', Job[]>

/** The jobs of the soak, by lane. */
export function jobsOf(addresses: TestAddresses, { seed, part, programs, runner }: Options): Lanes {
  const test = (name: string, files: string[], { env = {}, schedules = 0, patient = false }: Tests = {}): Job => ({
    name,
    run: async () => {
      const { counts, output } = await runMocha(files, {
        ...addresses,
        folder: root,
        patient,
        env: { TOLLGATE_SOAK: '1', TOLLGATE_SEED: String(seed), TOLLGATE_TEST_PROGRAMS: programs, ...env },
      })
      const ok = counts !== undefined && counts.failed === 0 && counts.passed > 0
      return { ok, figures: figuresIn(output), details: ok ? '' : output, schedules, mutant: false }
    },
  })
  const shards = (name: string, file: string, variable: string, total: number, parts: number): Job[] =>
    Array.from({ length: parts }, (_one, nth) => {
      const runs = Math.ceil((total * part) / parts)
      const env = { [variable]: String(runs), TOLLGATE_SEED: String(seed + nth) }
      return test(`${name} ${nth + 1} of ${parts}`, [file], { env, schedules: runs, patient: true })
    })
  const crash = (name: string, ...files: string[]): Job =>
    test(
      name,
      files.map((file) => `test/crash/${file}.test.ts`),
    )
  const [calls, payments] = ['test/crash/schedules.test.ts', 'test/crash/payments.test.ts'] as const
  const chats = { TOLLGATE_REQUESTS: String(Math.ceil(CHATS * part)) }
  return {
    first: [crash('load', 'load')],
    patient: [test('pre-charges', ['test/upstreams/precharge.test.ts'], { env: chats, patient: true })],
    kills: [crash('kills', 'kills'), crash('cuts', 'cuts', 'failpoints')],
    faults: [
      crash('takeovers', 'takeovers'),
      crash('outages', 'outages'),
      crash('stops', 'stops'),
      crash('releases', 'releases'),
      crash('catalogue', 'catalogue'),
      test('quotes', ['test/api/v1/quotes.test.ts']),
    ],
    planted: plantedBugs(addresses, runner),
    busy: [
      ...shards('schedules of payments', payments, 'TOLLGATE_PAYMENT_SCHEDULES', PAYMENT_SCHEDULES, PAYMENT_SHARDS),
      ...shards('schedules', calls, 'TOLLGATE_SCHEDULES', SCHEDULES, SHARDS),
    ],
  }
}

function plantedBugs(addresses: TestAddresses, runner: MutantRunner): Job[] {
  const mutants = MUTANTS.map((mutant): Job => ({
    name: `planted bug: ${mutant.name}`,
    run: async () => {
      const { found, note } = await runner.judge(mutant, addresses)
      return { ok: found, figures: found ? [] : ['no test has noticed it'], details: note, schedules: 0, mutant: true }
    },
  }))
  // Last, in the same copy, after every bug was planted and removed.
  const healthy: Job = {
    name: 'no bug planted',
    run: async () => {
      const { found, note } = await runner.judgeHealthy(JUDGES, addresses)
      return { ok: !found && note === '', figures: [], details: note, schedules: 0, mutant: false }
    },
  }
  return [...mutants, healthy]
}
