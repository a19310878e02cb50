/**
 * Calls whose jobs were in workers that died. What ends a worker may be the call itself, and would end the next one
 * too: the second death is the last (docs/architecture.md#when-a-process-dies).
 */
import type { Job } from 'bullmq'
import type { BegunCall } from '../../shared/calls/types.ts'
import type { Model } from '../../shared/catalogue/catalogue.ts'
import { gatewayError } from '../../shared/platform/errors.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { CallJob } from '../../shared/queues.ts'
import { traceFields } from '../../shared/platform/process/trace.ts'
import type { WorkerDeps } from '../deps.ts'
import type { Outcome } from './run-call.ts'
import { cancelTask } from './run-media.ts'

/** Deaths of workers after which a call is given up, whether it caused them or only happened to be there. */
export const MAX_DEATHS = 2

/**
 * Whether a job is not to be tried again. The queue counts how often its lock has run out in a worker: in one that
 * died, or was silent for as long, also before it had begun the call. A job that was handed back is not counted.
 */
export const isGivenUp = (job: Job<CallJob>): boolean => job.stalledCounter >= MAX_DEATHS

/** Gives up a call that this run has begun: cancels its task, and neither reads nor sends its request. */
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
