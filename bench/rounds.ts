/** Rounds in turn, so that a disturbance of the machine hits all subjects alike. */
import { cpuMicros, residentMb } from '../scripts/harness/processes.ts'
import { load, say } from './stack.ts'
import type { Subject } from './subjects.ts'

/** One round of a subject. Latencies in ms, CPU in µs a call by process, memory in MB. */
export type Round = {
  subject: string
  inFlight: number
  rate: number
  p50: number
  p90: number
  p99: number
  cpuMicros: Record<string, number>
  memoryMb: Record<string, number>
}

/** How long a subject is loaded before anything counts, in ms. */
const WARM_UP_OF_A_ROUND_MS = 1000

/**
 * How long each subject is loaded before anything is measured, in ms: a fresh process runs code that is not yet
 * compiled.
 */
const WARM_UP = { connections: 50, ms: 8000 }

/** Loads a subject. @returns how many calls were answered, in all. */
export async function loaded(subject: Subject, connections: number, ms: number): Promise<number> {
  return (await load(subject.name, { ...jobOf(subject), connections, warmupMs: 0, ms })).calls
}

const jobOf = ({ name: _name, processes: _processes, ...job }: Subject) => job

async function measure(subject: Subject, connections: number, seconds: number): Promise<Round> {
  const before = subject.processes.map((one) => cpuMicros(one.pid))
  const warmupMs = WARM_UP_OF_A_ROUND_MS
  const result = await load(subject.name, { ...jobOf(subject), connections, warmupMs, ms: seconds * 1000 })
  const rate = result.calls / result.seconds
  // CPU is read across the warm-up too, whose rate is assumed to be the same.
  const calls = rate * (result.seconds + warmupMs / 1000)
  const cpu = Object.fromEntries(
    subject.processes.map((one, index) => [one.name, Math.round((cpuMicros(one.pid) - before[index]!) / calls)]),
  )
  const memory = Object.fromEntries(subject.processes.map((one) => [one.name, residentMb(one.pid)]))
  const { latencies } = result
  return { subject: subject.name, inFlight: connections, rate, ...latencies, cpuMicros: cpu, memoryMb: memory }
}

/** All rounds of all subjects, after they are warm. */
export async function measureAll(
  subjects: Subject[],
  { inFlight, rounds, seconds }: { inFlight: number[]; rounds: number; seconds: number },
): Promise<Round[]> {
  const all: Round[] = []
  for (const subject of subjects) {
    say(`warm-up: ${subject.name}`)
    await loaded(subject, WARM_UP.connections, WARM_UP.ms)
  }
  for (const connections of inFlight) {
    for (let round = 1; round <= rounds; round++) {
      for (const subject of subjects) {
        say(`${connections} in flight, round ${round}: ${subject.name}`)
        all.push(await measure(subject, connections, seconds))
      }
    }
  }
  return all
}
