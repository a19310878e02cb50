import { root } from '../../scripts/folders.ts'
import type { TestAddresses } from '../../scripts/services/test-services.ts'
import { hasPassed } from '../../scripts/testing/tree.ts'
import { runMocha } from './mocha.ts'
import type { MutantRunner } from './mutants/runner.ts'
import { MUTANTS } from './mutants/list.ts'
import type { Mutant } from './mutants/mutant.ts'

/** The result of a job. `mutant`: it was a planted bug, and `ok` says that it was found. `details`: for a failure. */
export type Result = { ok: boolean; figures: string[]; details: string; schedules: number; mutant: boolean }

/** One part of the soak. */
export type Job = { name: string; run: () => Promise<Result> }

/**
 * Tests of random choices, which several processes share. `total`: how many choices in all; `variable` tells a process
 * how many are its own. `areSchedules`: they count as schedules of the soak.
 */
type Shared = {
  name: string
  files: string[]
  variable: string
  total: number
  processes: number
  areSchedules: boolean
}

const CALLS: Shared = {
  name: 'schedules',
  files: ['test/crash/schedules.test.ts'],
  variable: 'TOLLGATE_SCHEDULES',
  total: 6000,
  processes: 8,
  areSchedules: true,
}

const PAYMENTS: Shared = {
  name: 'schedules of payments',
  files: ['test/crash/payments.test.ts'],
  variable: 'TOLLGATE_PAYMENT_SCHEDULES',
  total: 1500,
  processes: 4,
  areSchedules: true,
}

/** Random chats, in each dialect, whose pre-charge is compared with a bill. */
const CHATS: Shared = {
  name: 'pre-charges',
  files: ['precharge', 'messages-precharge', 'responses-precharge'].map((file) => `test/upstreams/${file}.test.ts`),
  variable: 'TOLLGATE_REQUESTS',
  total: 10_000,
  processes: 2,
  areSchedules: false,
}

/** In how many jobs the tests run that must find bugs, without one, and how many schedules are played there. */
const HEALTHY_JOBS = 4
const FEW_SCHEDULES = { TOLLGATE_SOAK: '', TOLLGATE_SCHEDULES: '50', TOLLGATE_PAYMENT_SCHEDULES: '25' }

/** A figure that a test prints (test/crash/scale.ts). */
const FIGURE = /^\s+· (.*)$/

const figuresIn = (output: string): string[] => output.split('\n').flatMap((line) => FIGURE.exec(line)?.[1] ?? [])

/**
 * The seed of the random choices, what part of the schedules and chats is played (1: all), the step from one planted
 * bug to the next (1: all), the fingerprint of the tree, the folder of the bundled programs, and the runner of planted
 * bugs.
 */
type Options = { seed: number; part: number; every: number; tree: string; programs: string; runner: MutantRunner }

/** What a job of tests is: its name, its files, and how they run. `patient`: other jobs go first. */
type Tests = { env?: Record<string, string>; schedules?: number; patient?: boolean }

/**
 * The lanes of the soak: each runs its jobs one after the other, beside the others. `first` goes before them: it
 * measures times, and has but `patient` beside it, a process for each core, that others go before. `kills`, `faults`
 * and `planted` mostly wait; `busy`, of which there are several, takes what is left of the machine: the schedules of
 * payments, which wait for Stripe now and then, and then those of calls. `kills` and `faults` help with them when they
 * are done: four such processes keep two cores busy, and with seven the same work takes a fifth more of CPU time.
 */
export type Lanes = Record<'first' | 'patient' | 'kills' | 'faults' | 'planted' | 'busy', Job[]>

/** The jobs of the soak, by lane. */
export function jobsOf(addresses: TestAddresses, options: Options): Lanes {
  const { seed, part, every, tree, programs } = options
  const test = (name: string, files: string[], { env = {}, schedules = 0, patient = false }: Tests = {}): Job => ({
    name,
    run: async () => {
      const { ended, output } = await runMocha(files, {
        ...addresses,
        folder: root,
        patient,
        env: { TOLLGATE_SOAK: '1', TOLLGATE_SEED: String(seed), TOLLGATE_TEST_PROGRAMS: programs, ...env },
      })
      const ok = ended !== undefined && ended.failed === 0 && ended.passed > 0
      return { ok, figures: figuresIn(output), details: ok ? '' : output, schedules, mutant: false }
    },
  })
  const share = ({ name, files, variable, total, processes, areSchedules }: Shared): Job[] =>
    Array.from({ length: processes }, (_one, nth) => {
      const runs = Math.ceil((total * part) / processes)
      const env = { [variable]: String(runs), TOLLGATE_SEED: String(seed + nth) }
      const schedules = areSchedules ? runs : 0
      return test(`${name} ${nth + 1} of ${processes}`, files, { env, schedules, patient: true })
    })
  /** The tests that must find these bugs pass without them. Where `npm test` has passed on this tree, that is known. */
  const healthy = (planted: readonly Mutant[]): Job[] => {
    const killing = [...new Set(planted.flatMap(({ tests }) => tests))]
    return Array.from({ length: HEALTHY_JOBS }, (_one, at) => {
      const files = killing.filter((_file, nth) => nth % HEALTHY_JOBS === at)
      return test(`no bug planted ${at + 1} of ${HEALTHY_JOBS}`, files, { env: FEW_SCHEDULES })
    })
  }
  const crash = (name: string, ...files: string[]): Job =>
    test(
      name,
      files.map((file) => `test/crash/${file}.test.ts`),
    )
  const planted = MUTANTS.filter((_one, nth) => (nth + seed) % every === 0)
  return {
    first: [crash('load', 'load')],
    patient: share(CHATS),
    kills: [crash('kills', 'kills'), crash('cuts', 'cuts', 'failpoints')],
    faults: [
      crash('takeovers', 'takeovers'),
      crash('outages', 'outages'),
      crash('releases', 'releases'),
      crash('catalogue', 'catalogue'),
      test('quotes and random requests', ['test/api/v1/quotes.test.ts', 'test/api/v1/fuzz.test.ts']),
    ],
    planted: plantedBugs(addresses, options, planted),
    busy: [...share(PAYMENTS), ...(hasPassed(tree) ? [] : healthy(planted)), ...share(CALLS)],
  }
}

/** Runs the tests that must find each of these bugs with the bug planted. */
const plantedBugs = (addresses: TestAddresses, { runner, tree }: Options, planted: readonly Mutant[]): Job[] =>
  planted.map((mutant) => ({
    name: `planted bug: ${mutant.name}`,
    run: async () => {
      const { found, note } = await runner.judge(mutant, tree, addresses)
      const figures = [found ? `found by ${inOneLine(note)}` : 'no test has noticed it']
      return { ok: found, figures, details: found ? '' : note, schedules: 0, mutant: true }
    },
  }))

/** How much of an error's message is printed, in characters. */
const MOST_QUOTED = 300

const inOneLine = (text: string): string => text.replace(/\s+/g, ' ').slice(0, MOST_QUOTED)
