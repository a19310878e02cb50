import { setSourceMapsEnabled } from 'node:process'
import { expect } from 'chai'
import fc from 'fast-check'
import { report, seed } from './scale.ts'

/** A schedule that was played: its name, and what happened in it, in order, for the message of a failure. */
export type Played = { name: string; history: string[] }

/** What is simulated: its random schedules, how one is played, and what must hold after several, checked at once. */
export type Subject<Schedule, Run extends Played> = {
  what: string
  schedules: fc.Arbitrary<Schedule>
  /** @throws what broke while it was played */
  play: (name: string, schedule: Schedule) => Promise<Run>
  /** Checks the runs, and empties the database: to do so after each would cost as much as to play it. */
  check: (runs: readonly Run[]) => Promise<void>
}

/** How many schedules are checked at once. */
const TOGETHER = 20

/** Plays so many random schedules, one after the other. @throws what broke, with the seed that repeats it */
export async function simulate<Schedule, Run extends Played>(
  { what, schedules, play, check }: Subject<Schedule, Run>,
  numRuns: number,
): Promise<void> {
  const startedAt = performance.now()
  const runs: Run[] = []
  let played = 0
  const property = fc.asyncProperty(schedules, async (schedule) => {
    runs.push(await play(`schedule-${++played}`, schedule))
    if (runs.length === TOGETHER || played === numRuns) await check(runs.splice(0))
  })
  const { failed, errorInstance } = await fc.check(property, { numRuns, seed, endOnFailure: true })
  const each = (performance.now() - startedAt) / Math.max(1, played)
  report(`${played} ${what}, ${each.toFixed(0)} ms each, seed ${seed}`)
  const broken = errorInstance instanceof Error ? errorInstance.message : ''
  expect(failed, `TOLLGATE_SEED=${seed} plays it again; ${broken}`).to.equal(false)
}

/** An error with the whole run that led to it. */
export function withHistory({ name, history }: Played, error: unknown): Error {
  // Before the stack is read for the first time, which writes it.
  setSourceMapsEnabled(true)
  const { stack = String(error) } = error instanceof Error ? error : {}
  return new Error(`${name}: ${stack}\nWhat happened:\n${history.join('\n')}`, { cause: error })
}

/** One of several by a random number; undefined if there is none. */
export const pick = <T>(all: readonly T[], which: number): T | undefined => all[which % Math.max(1, all.length)]

/** A row of a table of steps: how often each of them is made among those of the table, and its fields. */
type Row<Step> = Step extends { do: string }
  ? readonly [
      weight: number,
      does: readonly Step['do'][],
      fields: { [Field in Exclude<keyof Step, 'do'>]: fc.Arbitrary<Step[Field]> },
    ]
  : never

/** How each step of a table is made in a run. */
export type Makers<Step extends { do: string }, Run> = {
  [Name in Step['do']]: (run: Run, step: StepOf<Step, Name>) => unknown
}

/** The step of this name. */
type StepOf<Step, Name> = Step extends { do: infer Its } ? (Name extends Its ? Step : never) : never

/** A random step of a table. */
export const oneOf = <Step>(...rows: readonly Row<Step>[]): fc.Arbitrary<Step> =>
  fc.oneof(
    ...(rows as readonly Row<{ do: string }>[]).map(([weight, does, fields]) => ({
      weight,
      arbitrary: record({ do: fc.constantFrom(...does), ...fields }) as fc.Arbitrary<Step>,
    })),
  )

/** Plain objects, so that a failing schedule is readable. */
export const record = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(fields, { noNullPrototype: true }) as fc.Arbitrary<T>
