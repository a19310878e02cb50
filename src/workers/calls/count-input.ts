/**
 * A count of input tokens by the model's upstream: a job of the chat queue that is no call. Nothing is charged or
 * recorded, and where it fails the web process has an answer of its own.
 */
import type { Job, Processor } from 'bullmq'
import { findModel } from '../../shared/catalogue/catalogue.ts'
import { traceFields } from '../../shared/platform/process/trace.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { CallJob, CountJob } from '../../shared/queues.ts'
import { COUNT } from '../../shared/queues.ts'
import type { WorkerDeps } from '../deps.ts'
import { createCallProcessor } from './processor.ts'

/** The processor of the chat queue: calls, and counts of input. */
export function createChatProcessor(deps: WorkerDeps): Processor {
  const processCall = createCallProcessor(deps)
  // With a third parameter BullMQ would make an AbortController for each job.
  return (job: Job, token?: string) =>
    job.name === COUNT
      ? deps.places.within(job as Job<CountJob>, token, () => answerCount(deps, job as Job<CountJob>))
      : processCall(job as Job<CallJob>, token)
}

async function answerCount(deps: WorkerDeps, { data }: Job<CountJob>): Promise<void> {
  const leftMs = data.deadlineAt - Date.now()
  if (leftMs <= 0) return
  const tokens = await countOf(deps, data, AbortSignal.timeout(leftMs)).catch((error: unknown) => {
    deps.log.debug({ ...traceFields(data), model: data.model, err: error }, 'input not counted by its upstream')
    return null
  })
  await deps.publisher.counted(data, tokens)
}

/** The count of the model's first upstream; null if its protocol has none. @throws UpstreamError */
async function countOf(deps: WorkerDeps, data: CountJob, signal: AbortSignal): Promise<number | null> {
  const [catalogue, { request }] = await Promise.all([
    deps.catalogue.at(data.catalogueVersion),
    deps.queues.requests.read(data),
  ])
  const route = findModel(catalogue, data.model, 'chat')?.routes[0]
  const adapter = route && deps.upstreams.adapterOf(route.upstream.protocol).chat
  if (!route || !adapter?.count || !request) return null
  const { callId, betas, traceparent } = data
  return adapter.count(request as ChatRequest, { route, signal, callId, betas, traceparent })
}
