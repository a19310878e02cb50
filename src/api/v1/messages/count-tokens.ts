/**
 * POST /v1/messages/count_tokens: the input tokens of a message, by its upstream's count or as its hold would be.
 */
import { z } from 'zod'
import { findModel, offerTo } from '../../../shared/catalogue/catalogue.ts'
import { checkCounted } from '../../../shared/chat/messages/check.ts'
import { estimateMessages } from '../../../shared/chat/messages/estimate.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { WebDeps } from '../../deps.ts'
import { endpoint } from '../../endpoint/endpoint.ts'
import { apiKey, mayCall } from '../../endpoint/auth.ts'
import { READ_LIMITS, agentBody, allowanceHeaders } from '../declared.ts'
import { createUpstreamCounts } from './upstream-count.ts'

/** Counts a message. Free, and not recorded. */
export const countTokens = endpoint({
  tag: 'Models and calls',
  envelope: 'messages',
  method: 'post',
  path: '/v1/messages/count_tokens',
  summary: 'Count the input tokens of a message',
  description:
    "The count of the model's first upstream where it speaks this API and answers in time, else the bound that the " +
    'hold of such a message uses. Free, at any balance; nothing is recorded.',
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
    ctx.body = { input_tokens: counted ?? estimateMessages(request, model).input }
  }
})
