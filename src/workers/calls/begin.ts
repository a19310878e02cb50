/** The begin of a call's run (docs/architecture.md#begin): written before anything is asked of an upstream. */
import { randomUUID } from 'node:crypto'
import type { Job } from 'bullmq'
import { DelayedError } from 'bullmq'
import type { BegunCall } from '../../shared/calls/types.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import { KINDS } from '../../shared/terms/kinds.ts'
import { retryWhileUnreachable } from '../../shared/platform/postgres/db.ts'
import type { CallJob } from '../../shared/queues.ts'
import type { WorkerDeps } from '../deps.ts'

/** How long to wait for Postgres before a call is begun, in ms; the queue tries again after that. */
export const BEGIN_PATIENCE_MS = 30_000

/**
 * Begins the call of a job; null where it has ended.
 * @throws DelayedError where another run has the call: the job comes back when that run's lease has passed. An error
 * where Postgres is unreachable for BEGIN_PATIENCE_MS: the queue runs the job again.
 */
export async function beginCall(
  { calls }: Pick<WorkerDeps, 'calls'>,
  job: Job<CallJob>,
  token: string | undefined,
): Promise<BegunCall | null> {
  const { callId } = job.data
  const run = randomUUID()
  const isFlushed = KINDS[job.name as Modality].isSentOnce
  const call = await retryWhileUnreachable(BEGIN_PATIENCE_MS, () => calls.begin(callId, run, isFlushed))
  if (call) return call
  const leaseMs = await retryWhileUnreachable(BEGIN_PATIENCE_MS, () => calls.leaseOf(callId))
  return leaseMs === null ? null : comeBack(job, token, leaseMs)
}

/** Lets a job come back after a time, in ms. @throws DelayedError, by which its queue knows that it has not ended */
export async function comeBack(job: Job<CallJob>, token: string | undefined, afterMs: number): Promise<never> {
  await job.moveToDelayed(Date.now() + afterMs, token)
  throw new DelayedError()
}
