/**
 * GET /v1/models: the models that are enabled and have a configured upstream.
 */
import type { Principal } from '../../shared/accounts/key-lookup.ts'
import type { Catalogue, ChatModel, MediaModel, Model } from '../../shared/catalogue/catalogue.ts'
import type { Modality } from '../../shared/calls/lifecycle.ts'
import { leastMediaCost } from '../../shared/requests/media-options.ts'
import type { ChatPrice } from '../../shared/requests/pricing.ts'
import { chatCost } from '../../shared/requests/pricing.ts'
import { modelList } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { apiKey, mayCall } from '../endpoint/auth.ts'
import { versionOf } from './calls/price-guards.ts'
import { CALL_LIMITS, allowanceHeaders, gateway } from './declared.ts'

/** An element of the model list. */
export type ModelEntry = {
  id: string
  object: 'model'
  created: number
  owned_by: string
  modality: Modality
  credits: number
  name?: string
  description?: string
  /** The version of its price, for `X-Price-Version`. */
  priceVersion: string
  pricing?: ChatPrice
  /** Chats: the most tokens of input and output together, where the catalogue states it. */
  contextLength?: number
  /** Media: the rows of the price, where it has some. */
  prices?: MediaModel['prices']
  /** Media: what the catalogue states. */
  durations?: MediaModel['durations']
  resolutions?: string[]
}

/** The public list of a catalogue. `holder`: only what their key may call. */
export function presentModels(catalogue: Catalogue, holder?: Principal): ModelEntry[] {
  return [...catalogue.models.values()]
    .filter((model) => model.routes.length > 0 && (!holder || mayCall(holder, model)))
    .map((model) => presentModel(model, catalogue.createdAt))
}

function presentModel(model: Model, created: number): ModelEntry {
  return {
    id: model.id,
    object: 'model',
    created,
    owned_by: model.routes[0]!.upstream.name,
    modality: model.modality,
    credits: leastCost(model),
    priceVersion: versionOf(model),
    ...(model.name !== undefined && { name: model.name }),
    ...(model.description !== undefined && { description: model.description }),
    ...(model.modality === 'chat' ? chatFieldsOf(model) : optionsOf(model)),
  }
}

const chatFieldsOf = ({ pricing, contextLength }: ChatModel) => ({
  pricing,
  ...(contextLength !== undefined && { contextLength }),
})

/** The least that a call costs, in credits. */
const leastCost = (model: Model): number =>
  model.modality === 'chat' ? chatCost(model.price, { input: 0, output: 0 }) : (leastMediaCost(model, model.price) ?? 0)

const optionsOf = ({ prices, durations, resolutions }: MediaModel) => ({
  ...(prices && { prices }),
  ...(durations && { durations }),
  ...(resolutions && { resolutions }),
})

/** Lists the models. */
export const listModels = endpoint({
  ...gateway,
  method: 'get',
  path: '/v1/models',
  summary: 'List the models',
  auth: apiKey,
  limits: CALL_LIMITS,
  answers: {
    200: { description: 'The models that the key may call.', schema: modelList, headers: allowanceHeaders },
  },
  errors: [],
}).handle(({ catalogue }: Pick<WebDeps, 'catalogue'>) => ({ auth }) => ({
  ok: true,
  object: 'list',
  data: presentModels(catalogue.current(), auth),
}))
