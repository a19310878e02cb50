/** GET /v1beta/models and GET /v1beta/models/{model}. Those below /v1 are shared with other APIs (`../models.ts`). */
import { offerTo } from '../../../shared/catalogue/catalogue.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import type { WebDeps } from '../../deps.ts'
import { endpoint } from '../../endpoint/endpoint.ts'
import { READ_LIMITS, allowanceHeaders } from '../declared.ts'
import { shownModels } from '../models.ts'
import { modelInPath, ofGemini } from './declared.ts'
import { geminiModel, geminiModels, geminiPage, isForGemini, pageForGemini, presentForGemini } from './shown-models.ts'

/** Lists the models. */
export const listGeminiModels = endpoint({
  ...ofGemini,
  method: 'get',
  path: '/v1beta/models',
  summary: "List the models, in the form of Google's Gemini API",
  limits: READ_LIMITS,
  query: geminiPage,
  answers: {
    200: { description: 'The models that the key may call.', schema: geminiModels, headers: allowanceHeaders },
  },
}).write(({ catalogue }: Pick<WebDeps, 'catalogue'>) => ({ auth, query }, ctx) => {
  ctx.body = pageForGemini(shownModels(offerTo(catalogue.current(), auth), auth), query)
})

/** Shows one of the models. */
export const showGeminiModel = endpoint({
  ...ofGemini,
  method: 'get',
  path: '/v1beta/models/*model',
  summary: "Show a model, in the form of Google's Gemini API",
  limits: READ_LIMITS,
  params: modelInPath,
  answers: { 200: { description: 'The model.', schema: geminiModel, headers: allowanceHeaders } },
  errors: ['model_not_found'],
}).write(({ catalogue }: Pick<WebDeps, 'catalogue'>) => ({ auth, params }, ctx) => {
  const found = shownModels(offerTo(catalogue.current(), auth), auth).find(({ id }) => id === params.model)
  if (!found || !isForGemini(found)) throw new ApiError('model_not_found', { param: 'model' })
  ctx.body = presentForGemini(found)
})
