import type { CallId } from '../../../src/shared/platform/ids.ts'
import type { FailpointName } from '../../../src/shared/platform/process/failpoints.ts'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import type { CallRow } from '../../support/crash.ts'
import type { Program } from '../../../scripts/harness/installation.ts'

/**
 * Steps after which a worker holds a call, and those after which it does not any more. It holds the call from when it
 * gets the job: if it is killed before it has begun the call, that is taken over too.
 */
const TAKES: ReadonlySet<FailpointName> = new Set(['call.beginning', 'call.begun', 'task.polling'])
const LEAVES: ReadonlySet<FailpointName> = new Set(['call.settled', 'call.refunded', 'task.persisted'])

/** The calls that a killed worker held, and when it was killed, in Unix ms. */
function heldBy(program: Program): { ids: CallId[]; at: number } {
  const held = new Set<CallId>()
  for (const { name, callId } of program.steps) {
    if (TAKES.has(name)) held.add(callId)
    if (LEAVES.has(name)) held.delete(callId)
  }
  return { ids: [...held], at: program.end!.at }
}

/** When which process took a call or let it go, by call. */
function takingsOf(programs: readonly Program[]): Map<CallId, { by: Program; at: number }[]> {
  const all = new Map<CallId, { by: Program; at: number }[]>()
  for (const by of programs)
    for (const { name, callId, at } of by.steps) {
      if (!TAKES.has(name) && !LEAVES.has(name)) continue
      const known = all.get(callId)
      if (known) known.push({ by, at })
      else all.set(callId, [{ by, at }])
    }
  return all
}

/**
 * How long calls waited when their worker was killed, in ms: until another one took them, or they ended.
 *
 * @param dead the killed processes.
 * @param live those that are left.
 */
export function recoveriesOf(
  dead: readonly Program[],
  live: readonly Program[],
  calls: readonly CallRow[],
): Record<Modality, number[]> {
  const takings = takingsOf([...dead, ...live])
  const found: Record<Modality, number[]> = {
    chat: [],
    image: [],
    video: [],
    embedding: [],
    moderation: [],
    rerank: [],
    speech: [],
    transcription: [],
  }
  const rows = new Map(calls.map((call) => [call.id, call]))
  for (const program of dead.filter(({ kind }) => kind === 'worker')) {
    const { ids, at } = heldBy(program)
    for (const id of ids) {
      const row = rows.get(id)
      if (!row || row.finished_at!.getTime() < at) continue
      const taken = (takings.get(id) ?? []).filter((one) => one.by !== program && one.at >= at).map((one) => one.at)
      found[row.modality].push(Math.min(row.finished_at!.getTime(), ...taken) - at)
    }
  }
  return found
}

/** Median and maximum, for people. */
export function spread(times: readonly number[]): string {
  if (times.length === 0) return 'none'
  const sorted = times.toSorted((a, b) => a - b)
  const [median, longest] = [sorted[sorted.length >> 1]!, sorted.at(-1)!].map((ms) => (ms / 1000).toFixed(1))
  return `${median} s (median of ${sorted.length}), ${longest} s (longest)`
}
