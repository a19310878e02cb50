/**
 * The input tokens of a message as its upstream counts them. Only workers ask upstreams: a job of the chat queue does,
 * within seconds, and its answer comes on the reply channel like that of a call.
 */
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { dialectOf } from '../../../shared/chat/dialect.ts'
import { newId } from '../../../shared/platform/ids.ts'
import { bytesAsJson } from '../../../shared/platform/json-bytes.ts'
import type { Trace } from '../../../shared/platform/process/trace.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { WebDeps } from '../../deps.ts'
import { Quota } from '../../endpoint/quota.ts'

/** How long an upstream's count is waited for, in ms. */
const PATIENCE_MS = 3000

/** Bytes of requests that may lie in Redis to be counted. What is above is not counted by its upstream. */
const MOST_BYTES = { perAccount: 4 * 1024 * 1024, perProcess: 64 * 1024 * 1024 }

type Deps = Pick<WebDeps, 'catalogue' | 'queues' | 'replies'>

/** What is to be counted, and for which account. */
export type Counted = Trace & { request: ChatRequest; betas: string[]; model: ChatModel; auth: Principal }

/** Asks upstreams of this process for counts. Each is null where the upstream has none, or none in time. */
export function createUpstreamCounts(deps: Deps): (counted: Counted) => Promise<number | null> {
  const held = new Quota(MOST_BYTES)
  return async (counted) => {
    const { request, model, auth } = counted
    // Names of hosts are resolved for calls alone: no upstream may fetch an unchecked address.
    if (model.routes[0]?.upstream.protocol !== 'anthropic' || dialectOf('messages').addresses(request).length > 0)
      return null
    const bytes = bytesAsJson(request)
    if (!held.take(auth.accountId, bytes)) return null
    try {
      return await askFor(deps, counted)
    } catch {
      // Without Redis the estimate is used.
      return null
    } finally {
      held.give(auth.accountId, bytes)
    }
  }
}

async function askFor({ catalogue, queues, replies }: Deps, counted: Counted): Promise<number | null> {
  const { request, betas, model, auth, requestId, traceparent } = counted
  const catalogueVersion = catalogue.version()
  if (catalogueVersion === null) return null
  const job = {
    callId: newId('call'),
    accountId: auth.accountId,
    request,
    betas,
    model: model.id,
    catalogueVersion,
    replyTo: replies.address,
    deadlineAt: Date.now() + PATIENCE_MS,
    requestId,
    traceparent,
  }
  const wait = replies.expect(job.callId, PATIENCE_MS)
  let timer: NodeJS.Timeout | undefined
  try {
    await queues.enqueueCount(job)
    const late = new Promise<null>((resolve) => {
      timer = setTimeout(resolve, PATIENCE_MS, null)
    })
    const answer = await Promise.race([wait.answer, late])
    if (answer === null) await queues.removeCall('chat', job.callId)
    return answer && 'body' in answer ? (JSON.parse(answer.body) as number | null) : null
  } finally {
    clearTimeout(timer)
    wait.cancel()
    await queues.requests.drop({ ...job, isBeside: true })
  }
}
