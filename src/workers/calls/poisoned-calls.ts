/**
 * Calls whose jobs were in workers that died. What ends a worker may be the call itself, and would end the next one
 * too: the second death is the last (docs/architecture.md#when-a-process-dies).
 */
import type { Job } from 'bullmq'
import type { Ended } from '../../shared/calls/types.ts'
import { findModel } from '../../shared/catalogue/catalogue.ts'
import { gatewayError } from '../../shared/platform/errors.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { CallJob } from '../../shared/queues.ts'
import { traceFields } from '../../shared/platform/process/trace.ts'
import type { WorkerDeps } from '../deps.ts'
import { isStream } from './lost-streams.ts'
import { cancelTask } from './run-media.ts'

/** Deaths of workers after which a call is given up, whether it caused them or only happened to be there. */
export const MAX_DEATHS = 2

/**
 * Whether a job is not to be tried again. The queue counts how often its lock has run out in a worker: in one that
 * died, or was silent for as long, also before it had begun the call. A job that was handed back is not counted.
 */
export const isGivenUp = (job: Job<CallJob>): boolean => job.stalledCounter >= MAX_DEATHS

/**
 * Refunds a call whose job is given up. A stream that has begun is left as it is, and so is speech: it is never asked
 * for again anyway, and what its reader has seen or heard is not given back here.
 * @returns its end, and what then cancels its task at the upstream; null where there is nothing to give up
 */
export async function giveUp(
  deps: WorkerDeps,
  job: Job<CallJob>,
): Promise<{ ended: Ended; cancel: () => Promise<void> } | null> {
  const { callId } = job.data
  const error = gatewayError(
    'internal_error',
    'Two workers failed while they had this call, so it is not tried again. ' +
      'The credits charged for it were refunded.',
  )
  const call = await deps.calls.resume(callId)
  const ended = await deps.calls.refund(callId, error, {
    ...(isStream(job) && { from: 'queued' }),
  })
  if (!ended) return null
  const about = { call: publicId('call', callId), ...traceFields(job.data), deaths: job.stalledCounter }
  deps.log.error(about, 'call given up: workers ended while they had it')
  const cancel = async (): Promise<void> => {
    if (!call) return
    const catalogue = await deps.catalogue.at(job.data.catalogueVersion).catch(() => null)
    const model = catalogue && findModel(catalogue, call.model, call.modality)
    if (model) await cancelTask(deps, model, { call, job: job.data, traceparent: job.data.traceparent })
  }
  return { ended, cancel }
}
