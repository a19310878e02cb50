/** POST /v1beta/models/{model}:countTokens, also below /v1: the input tokens of a request, by its bytes. */
import { z } from 'zod'
import { findModel, offerTo } from '../../../shared/catalogue/catalogue.ts'
import { checkGemini } from '../../../shared/chat/gemini/check.ts'
import { countGemini } from '../../../shared/chat/gemini/estimate.ts'
import { camelCased } from '../../../shared/chat/gemini/names.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { isFields } from '../../../shared/platform/fields.ts'
import type { WebDeps } from '../../deps.ts'
import { mayCall } from '../../endpoint/auth.ts'
import { endpoint } from '../../endpoint/endpoint.ts'
import { READ_LIMITS, agentBody, allowanceHeaders } from '../declared.ts'
import type { Prefix } from './declared.ts'
import { modelInPath, ofGemini } from './declared.ts'

/** Counts the input of a request. Free, and not recorded. */
export const countGeminiTokens = (prefix: Prefix) =>
  endpoint({
    ...ofGemini,
    method: 'post',
    path: `${prefix}/models/*model\\:countTokens`,
    summary: "Count the input tokens of contents, in the form of Google's Gemini API",
    description: 'A third of the bytes of the request. Free, at any balance; nothing is recorded.',
    limits: READ_LIMITS,
    params: modelInPath,
    body: z.looseObject({}),
    bodyBytes: agentBody,
    answers: {
      200: { description: 'The count.', schema: z.strictObject({ totalTokens: z.int() }), headers: allowanceHeaders },
    },
    errors: ['invalid_request', 'unsupported_model', 'model_not_allowed'],
  }).write(({ catalogue }: Pick<WebDeps, 'catalogue'>) => ({ auth, body, params }, ctx) => {
    const model = findModel(offerTo(catalogue.current(), auth), params.model, 'chat')
    if (!model) throw new ApiError('unsupported_model', { param: 'model' })
    if (!mayCall(auth, model)) throw new ApiError('model_not_allowed', { param: 'model' })
    const { generateContentRequest: inner, ...outer } = camelCased(body)
    const { request } = checkGemini({ ...(isFields(inner) ? inner : outer), model: model.id }, model)
    ctx.body = { totalTokens: countGemini(request, model) }
  })
