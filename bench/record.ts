/**
 * Holds a run to `bench/recorded.json`: what Tollgate costs compared with the floor, and what a call asks of Postgres
 * and Redis, may not rise.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../scripts/folders.ts'
import type { Counts } from './counts.ts'
import { closeness } from './report.ts'
import type { Closeness, Counted } from './report.ts'
import type { Round } from './rounds.ts'

/** What a check measures. */
export const CHECKED = { subjects: ['floor', 'tollgate'], inFlight: [50, 200] }

/** The share of the recorded closeness that is still good enough: timings vary. */
const CLOSE_ENOUGH = 0.9

/** How far a count may exceed the recorded one, since what idle processes do is subtracted as an estimate. */
const COUNT_SLACK = { times: 1.03, plus: 0.05 }

/** By calls in flight, the counts that do not depend on how many calls happen to share a statement there. */
const CHECKED_COUNTS: Record<number, (keyof Counts)[]> = {
  1: ['statements', 'flushes', 'walBytes'],
  50: ['scripts', 'publications'],
}

/** What is recorded. `counts`: by calls in flight; `passes`: of a chunk as JSON, by process. */
type Recorded = {
  closeness: Record<string, Closeness>
  counts: Record<string, Partial<Counts>>
  passes: Record<string, number>
}

const file = join(root, 'bench/recorded.json')

/** What a run measured of Tollgate. */
export function recordOf(rounds: Round[], counted: Counted[], passes: Record<string, number>): Recorded {
  const countsAt = (inFlight: number): Partial<Counts> => {
    const { counts } = counted.find((one) => one.subject === 'tollgate' && one.inFlight === inFlight)!
    return Object.fromEntries(CHECKED_COUNTS[inFlight]!.map((name) => [name, rounded(counts[name])]))
  }
  return {
    closeness: Object.fromEntries(
      CHECKED.inFlight.map((inFlight) => [inFlight, closeness(rounds, 'tollgate', inFlight)!]),
    ),
    counts: Object.fromEntries(Object.keys(CHECKED_COUNTS).map((inFlight) => [inFlight, countsAt(Number(inFlight))])),
    passes: Object.fromEntries(Object.entries(passes).map(([name, times]) => [name, rounded(times)])),
  }
}

const rounded = (count: number): number => Math.round(count * 100) / 100

/** Records a run. */
export function writeRecord(now: Recorded): void {
  writeFileSync(file, `${JSON.stringify(now, null, 2)}\n`)
}

/** What of a run is worse than recorded, a line for each. */
export function worseThanRecorded(now: Recorded): string[] {
  const was = JSON.parse(readFileSync(file, 'utf8')) as Recorded
  const further = CHECKED.inFlight.flatMap((inFlight) =>
    (['cpu', 'rate'] as const).flatMap((of) => {
      const [is, recorded] = [now.closeness[inFlight]![of], was.closeness[inFlight]![of]]
      const line = `${of} at ${inFlight} in flight: ${is.toFixed(2)} of the floor's (recorded: ${recorded.toFixed(2)})`
      return is < recorded * CLOSE_ENOUGH ? [line] : []
    }),
  )
  const counts = [
    ...Object.keys(CHECKED_COUNTS).flatMap((inFlight) =>
      risen(`a call at ${inFlight} in flight`, now.counts[inFlight]!, was.counts[inFlight]!),
    ),
    ...risen('JSON passes of a chunk', now.passes, was.passes),
  ]
  return [...further, ...counts]
}

/** The counts that are higher than recorded. */
const risen = (what: string, now: Record<string, number>, was: Record<string, number>): string[] =>
  Object.entries(now)
    .filter(([name, is]) => is > (was[name] ?? 0) * COUNT_SLACK.times + COUNT_SLACK.plus)
    .map(([name, is]) => `${what}: ${name} ${is} (recorded: ${was[name]})`)
