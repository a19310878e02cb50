import type { MediaKind } from '../media/kinds.ts'
import type { PixelSize } from '../media/size.ts'
import type { BilledEntry } from '../records/billing.ts'
import type { Hold } from '../records/holds.ts'
import type { Steering } from '../steering.ts'
import type { Fields } from '../wire.ts'

/** Media work in the background. Its state follows from the clock (and a hold), not from polls. */
export interface Task {
  readonly id: string
  readonly protocol: string
  readonly model: string
  readonly prompt: string
  readonly steering: Steering
  readonly kind: MediaKind
  readonly size: PixelSize
  /** How many pictures it makes; a video is one. */
  readonly pictures: number
  /** Milliseconds since the epoch. */
  readonly createdAt: number
  readonly durationMs: number
  /** Keeps it running beyond that. */
  readonly hold: Hold | undefined
  /** What its protocol repeats in answers. */
  readonly echo: Fields
  readonly bill: BilledEntry | undefined
  cancelledAt: number | undefined
  /** The addresses of its results, once they were asked for. */
  urls: readonly string[] | undefined
}

/** The state of a task; `unknown` is shown as a word that no client can know. */
export type Phase = 'queued' | 'running' | 'unknown' | 'succeeded' | 'failed' | 'aborted' | 'cancelled'

const QUEUED_SHARE = 0.2

/** The state of a task at this time (milliseconds since the epoch). */
export function phaseOf(task: Task, now = Date.now()): Phase {
  const share = (now - task.createdAt) / task.durationMs
  if (task.cancelledAt !== undefined) return 'cancelled'
  if (share < QUEUED_SHARE) return 'queued'
  if (task.steering.stuck) return 'running'
  if (share < 1 || task.hold?.held) return task.steering['weird-status'] ? 'unknown' : 'running'
  if (task.steering.fail) return 'failed'
  return task.steering.abort ? 'aborted' : 'succeeded'
}

/** Whether a task has ended, however. */
export function hasEnded(task: Task, now = Date.now()): boolean {
  return !['queued', 'running', 'unknown'].includes(phaseOf(task, now))
}

/** The progress of a task in whole percent. Only one that has succeeded is at 100. */
export function progressOf(task: Task, now = Date.now()): number {
  if (phaseOf(task, now) === 'succeeded') return 100
  const end = Math.min(now, task.cancelledAt ?? now)
  return Math.max(0, Math.min(99, Math.floor(((end - task.createdAt) / task.durationMs) * 100)))
}

/** When a task ended, in milliseconds since the epoch. */
export function endOf(task: Task): number {
  return task.cancelledAt ?? task.createdAt + task.durationMs
}
