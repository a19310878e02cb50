/**
 * The begin of a call's run (docs/architecture.md#begin), written before anything is asked of an upstream; and the
 * runs that do not ask: another run has the call, or its web process settles it (docs/architecture.md#lost-streams).
 */
import { randomUUID } from 'node:crypto'
import type { Job } from 'bullmq'
import { DelayedError } from 'bullmq'
import type { BegunCall } from '../../shared/calls/types.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import { KINDS } from '../../shared/terms/kinds.ts'
import { retryWhileUnreachable } from '../../shared/platform/postgres/db.ts'
import type { CallJob } from '../../shared/queues.ts'
import type { WorkerDeps } from '../deps.ts'
import { SETTLE_LOST_SECONDS } from '../../shared/terms/lifecycle.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { Model } from '../../shared/catalogue/catalogue.ts'
import { gatewayError } from '../../shared/platform/errors.ts'
import { publicId } from '../../shared/platform/ids.ts'
import { traceFields } from '../../shared/platform/process/trace.ts'
import type { Outcome } from './run-call.ts'
import { cancelTask } from './run-media.ts'

/** How long to wait for Postgres before a call is begun, in ms; the queue tries again after that. */
export const BEGIN_PATIENCE_MS = 30_000

/**
 * Begins the call of a job; null if it has ended.
 * @throws DelayedError if another run has the call: the job comes back when that run's lease has passed. An error
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

/**
 * Leaves a stream that another worker had begun to its web process for a time, once. To be called before such a call is
 * refunded for any reason.
 * @throws DelayedError if it leaves the stream: the job runs again after that time, and refunds a call that is open
 */
export async function leaveToReader(
  { queues }: Pick<WorkerDeps, 'queues'>,
  { id, replyTo, resumed }: Pick<BegunCall, 'id' | 'replyTo' | 'resumed'>,
  job: Job<CallJob>,
  token: string | undefined,
): Promise<void> {
  if (!resumed || !isStream(job)) return
  if (!(await queues.isLeftToReader(id, replyTo))) return
  await comeBack(job, token, SETTLE_LOST_SECONDS * 1000)
}

/** Whether what is made of a call is sent on meanwhile, so that a reader may have some of it. */
const isStream = ({ name, data }: Pick<Job<CallJob>, 'name' | 'data'>): boolean =>
  name === 'chat' ? (data.request as ChatRequest | null)?.stream === true : KINDS[name as Modality].isRelayed

/** Deaths of workers after which a call is given up, whether it caused them or only happened to be there. */
export const MAX_DEATHS = 2

/**
 * Whether a job is not to be tried again. The queue counts how often its lock has run out in a worker: in one that
 * died, or was silent for as long, also before it had begun the call. A job that was handed back is not counted.
 */
export const isGivenUp = (job: Job<CallJob>): boolean => job.stalledCounter >= MAX_DEATHS

/**
 * Gives up a call that this run has begun: cancels its task, and neither reads nor sends its request. What ends a
 * worker may be the call itself, and would end the next one too: the second death is the last
 * (docs/architecture.md#when-a-process-dies).
 */
export async function giveUp(
  deps: WorkerDeps,
  model: Model | null,
  call: BegunCall,
  job: Job<CallJob>,
): Promise<Outcome> {
  const about = { call: publicId('call', call.id), ...traceFields(job.data), deaths: job.stalledCounter }
  deps.log.error(about, 'call given up: workers ended while they had it')
  if (model) await cancelTask(deps, model, { call, job: job.data, traceparent: job.data.traceparent })
  return {
    is: 'failed',
    error: gatewayError(
      'internal_error',
      'Two workers failed while they had this call, so it is not tried again. ' +
        'The credits charged for it were refunded.',
    ),
    costMicroUsd: call.resumed ? null : 0,
  }
}
