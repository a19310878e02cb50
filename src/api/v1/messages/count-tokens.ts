/**
 * POST /v1/messages/count_tokens: the input tokens of a message, by its upstream's count, or by its bytes.
 */
import { z } from 'zod'
import { findModel, offerTo } from '../../../shared/catalogue/catalogue.ts'
import type { ChatModel } from '../../../shared/catalogue/catalogue.ts'
import { checkCounted } from '../../../shared/chat/messages/check.ts'
import { countMessages } from '../../../shared/chat/messages/estimate.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { WebDeps } from '../../deps.ts'
import { endpoint } from '../../endpoint/endpoint.ts'
import { apiKey, mayCall } from '../../endpoint/auth.ts'
import { READ_LIMITS, agentBody, allowanceHeaders } from '../declared.ts'
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import { dialectOf } from '../../../shared/chat/dialect.ts'
import { newId } from '../../../shared/platform/ids.ts'
import { bytesAsJson } from '../../../shared/platform/json-bytes.ts'
import type { Trace } from '../../../shared/platform/process/trace.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import { Quota } from '../../endpoint/quota.ts'

/** Counts a message. Free, and not recorded. */
export const countTokens = endpoint({
  tag: 'Models and calls',
  envelope: 'messages',
  method: 'post',
  path: '/v1/messages/count_tokens',
  summary: 'Count the input tokens of a message',
  description:
    "The count of the model's first upstream where it speaks this API and answers in time, else a third of the bytes " +
    'of the request. Free, at any balance; nothing is recorded.',
  auth: apiKey,
  limits: READ_LIMITS,
  body: z.looseObject({ model: z.string() }),
  bodyBytes: agentBody,
  answers: {
    200: { description: 'The count.', schema: z.strictObject({ input_tokens: z.int() }), headers: allowanceHeaders },
  },
  errors: ['invalid_request', 'unsupported_model', 'model_not_allowed'],
}).write((deps: Pick<WebDeps, 'catalogue' | 'queues' | 'replies'>) => {
  const countUpstream = createUpstreamCounts(deps)
  return async ({ auth, body }, ctx) => {
    const model = findModel(offerTo(deps.catalogue.current(), auth), body.model, 'chat')
    if (!model) throw new ApiError('unsupported_model', { param: 'model' })
    if (!mayCall(auth, model)) throw new ApiError('model_not_allowed', { param: 'model' })
    const { request, betas = [] } = checkCounted(body, model, ctx.req.headers)
    const { requestId, traceparent } = ctx.state
    const counted = await countUpstream({ request, betas, model, auth, requestId, traceparent })
    ctx.body = { input_tokens: counted ?? countMessages(request, model) }
  }
})

/** How long an upstream's count is waited for, in ms. */
const PATIENCE_MS = 3000

/** Bytes of requests that may lie in Redis to be counted. What is above is not counted by its upstream. */
const MOST_BYTES = { perAccount: 4 * 1024 * 1024, perProcess: 64 * 1024 * 1024 }

type Deps = Pick<WebDeps, 'catalogue' | 'queues' | 'replies'>

/** What is to be counted, and for which account. */
type Counted = Trace & { request: ChatRequest; betas: string[]; model: ChatModel; auth: Principal }

/**
 * Counts tokens as upstreams do. Only workers ask upstreams: a job of the chat queue does, and its answer comes on the
 * reply channel like that of a call. Each is null if the upstream has none, or none in time.
 */
function createUpstreamCounts(deps: Deps): (counted: Counted) => Promise<number | null> {
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
