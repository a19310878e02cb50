/**
 * POST /v1/responses/input_tokens: the input tokens of a response, by the bytes of its request.
 */
import { z } from 'zod'
import { findModel, offerTo } from '../../../shared/catalogue/catalogue.ts'
import { checkResponses } from '../../../shared/chat/responses/check.ts'
import { countResponses } from '../../../shared/chat/responses/estimate.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { WebDeps } from '../../deps.ts'
import { endpoint } from '../../endpoint/endpoint.ts'
import { apiKey, mayCall } from '../../endpoint/auth.ts'
import { READ_LIMITS, agentBody, allowanceHeaders } from '../declared.ts'
import { withPrevious } from './previous.ts'

const count = z.strictObject({ object: z.literal('response.input_tokens'), input_tokens: z.int() })

/** Counts the input of a response. Free, and not recorded. */
export const countInput = endpoint({
  tag: 'Models and calls',
  envelope: 'responses',
  method: 'post',
  path: '/v1/responses/input_tokens',
  summary: 'Count the input tokens of a response',
  description:
    'A third of the bytes of the request, with what it refers to. Free, at any balance; nothing is recorded.',
  auth: apiKey,
  limits: READ_LIMITS,
  body: z.looseObject({ model: z.string() }),
  bodyBytes: agentBody,
  answers: { 200: { description: 'The count.', schema: count, headers: allowanceHeaders } },
  errors: [
    'invalid_request',
    'unsupported_model',
    'model_not_allowed',
    'previous_response_not_found',
    'context_length_exceeded',
    'rate_limited',
  ],
}).write((deps: Pick<WebDeps, 'catalogue' | 'db' | 'config'>) => async ({ auth, body }, ctx) => {
  const model = findModel(offerTo(deps.catalogue.current(), auth), body.model, 'chat')
  if (!model) throw new ApiError('unsupported_model', { param: 'model' })
  if (!mayCall(auth, model)) throw new ApiError('model_not_allowed', { param: 'model' })
  const { request } = checkResponses(await withPrevious(deps, body, auth), model)
  ctx.body = { object: 'response.input_tokens', input_tokens: countResponses(request, model) }
})
