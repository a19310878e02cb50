/** The benchmark's table, and its rounds as JSON. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { COUNTS } from './counts.ts'
import type { Counts } from './counts.ts'
import type { Round } from './rounds.ts'
import { median } from './stack.ts'

const sum = (parts: Record<string, number>): number => Object.values(parts).reduce((total, part) => total + part, 0)
const cpuOf = ({ cpuMicros }: Round): number => sum(cpuMicros)

/** A value's median and its spread over the rounds. */
function spread(values: number[], digits = 0): string {
  const sorted = values.toSorted((a, b) => a - b)
  return `${median(values).toFixed(digits)} (${sorted[0]!.toFixed(digits)}–${sorted.at(-1)!.toFixed(digits)})`
}

/** The median of a process's CPU, and of each process. */
const byProcess = (rounds: Round[], of: 'cpuMicros' | 'memoryMb'): string =>
  Object.keys(rounds[0]![of])
    .map((name) => `${name} ${median(rounds.map((one) => one[of][name]!))}`)
    .join(', ')

/** Rounds of two subjects that were run one after the other, as ratios of a value. */
const ratios = (mine: Round[], others: Round[], of: (round: Round) => number): number[] =>
  mine.map((round, nth) => of(round) / of(others[nth]!))

/** How close a subject comes to the floor: calls a second, and CPU a call, both as medians of pairs of rounds. */
export type Closeness = { rate: number; cpu: number }

/** The closeness of a subject at a number of calls in flight; null if one of the two was not measured. */
export function closeness(rounds: Round[], subject: string, inFlight: number): Closeness | null {
  const of = (name: string) => rounds.filter((one) => one.subject === name && one.inFlight === inFlight)
  const [mine, floor] = [of(subject), of('floor')]
  if (mine.length === 0 || floor.length === 0) return null
  return { rate: median(ratios(mine, floor, ({ rate }) => rate)), cpu: median(ratios(floor, mine, cpuOf)) }
}

const HEAD = ['in flight', 'subject', 'CPU µs a call', 'by process', 'calls/s', 'p50 ms', 'p99 ms']

/** A row of the table: medians, with the lowest and highest of the rounds; ratios are medians of pairs of rounds. */
function row(rounds: Round[], all: Round[]): string[] {
  const { subject, inFlight } = rounds[0]!
  const ratio = (other: string, of: (round: Round) => number) => {
    const theirs = all.filter((one) => one.subject === other && one.inFlight === inFlight)
    return theirs.length === rounds.length ? median(ratios(rounds, theirs, of)).toFixed(2) : '–'
  }
  return [
    String(inFlight),
    subject,
    spread(rounds.map(cpuOf)),
    byProcess(rounds, 'cpuMicros'),
    spread(rounds.map(({ rate }) => rate)),
    spread(
      rounds.map(({ p50 }) => p50),
      2,
    ),
    median(rounds.map(({ p99 }) => p99)).toFixed(1),
    ratio('floor', cpuOf),
    ratio('floor', ({ rate }) => rate),
    ratio('peer', ({ rate }) => rate),
    byProcess(rounds, 'memoryMb'),
  ]
}

/** Prints the tables of the rounds. */
export function printReport(rounds: Round[], machine: string): void {
  const groups = new Map<string, Round[]>()
  for (const round of rounds) {
    const name = `${round.inFlight} ${round.subject}`
    groups.set(name, [...(groups.get(name) ?? []), round])
  }
  console.log(`\n${machine}\n`)
  table([
    [...HEAD, 'CPU of floor', 'calls/s of floor', 'of peer', 'memory MB'],
    ...[...groups.values()].map((one) => row(one, rounds)),
  ])
}

/** What a call of a subject asks of Postgres and Redis, at a number of calls in flight. */
export type Counted = { subject: string; inFlight: number; counts: Counts }

/** Prints what does not depend on the machine. @param passes how often each process parses a chunk as JSON */
export function printCounts(counted: Counted[], passes: Record<string, number>): void {
  console.log('\nAsked of Postgres and Redis by one call:')
  table([
    ['in flight', 'subject', 'statements', 'flushes', 'WAL bytes', 'scripts', 'publications'],
    ...counted.map(({ subject, inFlight, counts }) => [
      String(inFlight),
      subject,
      ...COUNTS.map((name) => counts[name].toFixed(name === 'walBytes' ? 0 : 2)),
    ]),
  ])
  const each = Object.entries(passes).map(([name, times]) => `${name} ${times.toFixed(2)}`)
  console.log(`\nJSON passes of a streamed chunk: ${each.join(', ')}`)
}

/** Prints a table; its first line is its head. */
export function table(lines: string[][]): void {
  const widths = lines[0]!.map((_, column) => Math.max(...lines.map((line) => line[column]!.length)))
  for (const line of lines) console.log(line.map((cell, column) => cell.padEnd(widths[column]!)).join('  '))
}

/** Writes the rounds. */
export function writeRounds(rounds: Round[], file: string, machine: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify({ machine, at: new Date().toISOString(), rounds }, null, 2))
}
