/**
 * GET /v1/models and GET /v1/models/{id}: the models that are enabled and have a configured upstream.
 */
import { z } from 'zod'
import type { Principal } from '../../shared/identity/key-lookup.ts'
import type { ChatModel, MediaModel, Model, Offer } from '../../shared/catalogue/catalogue.ts'
import { offerTo } from '../../shared/catalogue/catalogue.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import { leastMediaCost } from '../../shared/requests/media-options.ts'
import type { ChatPrice, EmbeddingPrice, RerankPrice, SpeechPrice } from '../../shared/terms/pricing.ts'
import { callCost, chatCost, mediaCost, outputLimit, searchCost, speechCost } from '../../shared/terms/pricing.ts'
import { shownPrice } from '../../shared/terms/shown-price.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { apiKey, mayCall } from '../endpoint/auth.ts'
import { parseFields } from '../endpoint/serve.ts'
import { envelopeFor } from '../middleware/request-context.ts'
import {
  anthropicHeaders,
  anthropicModel,
  anthropicModels,
  anthropicPage,
  pageForAnthropic,
  presentForAnthropic,
} from './anthropic-models.ts'
import {
  geminiModel,
  geminiModels,
  geminiPage,
  isForGemini,
  pageForGemini,
  presentForGemini,
} from './gemini/shown-models.ts'
import { clientFieldsOf, dollarPricesOf, listedModel, listedModels } from './client-fields.ts'
import { versionOf } from './calls/call-headers.ts'
import { READ_LIMITS, allowanceHeaders, gateway } from './declared.ts'

/** An element of the model list, less what only clients read. */
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
  pricing?: ChatPrice | EmbeddingPrice | RerankPrice | SpeechPrice
  /** Chats: the most tokens of input and output together, where the catalogue states it. */
  contextLength?: number
  /** Chats: the most output tokens of a choice, where the catalogue states it, and those of a chat that names none. */
  maxOutputTokens?: number
  defaultOutputTokens?: number
  /** Embeddings: the most numbers of a vector, where the catalogue states it. */
  maxDimensions?: number
  /** Rankings: the tokens that count as one document, where the catalogue states it. */
  documentTokens?: number
  /** Media and transcriptions: the rows of the price, if it has some. */
  prices?: MediaModel['prices']
  /** Media: what the catalogue states. */
  durations?: MediaModel['durations']
  resolutions?: string[]
  /** Images: the same. */
  sizes?: string[]
  qualities?: string[]
  maxPromptLength?: number
}

/** The one refusal of a model that is not there, and of one that the key may not call. */
const noModel = () => new ApiError('model_not_found', { param: 'id' })

/** Whether a model is shown: it has a configured upstream, and the key of `holder` may call it. */
const isShown = (model: Model, holder?: Principal): boolean =>
  model.routes.length > 0 && (!holder || mayCall(holder, model))

/** The models of an offer that are shown. `holder`: only what their key may call. */
export const shownModels = ({ models }: Offer, holder?: Principal): Model[] =>
  [...models.values()].filter((model) => isShown(model, holder))

/** What an account is offered, as the console shows it. */
export const presentModels = (offer: Offer): ModelEntry[] =>
  shownModels(offer).map((model) => presentModel(model, offer.createdAt))

function presentModel(model: Model, created: number): ModelEntry {
  return {
    id: model.id,
    object: 'model',
    created,
    owned_by: model.ownedBy ?? 'tollgate',
    modality: model.modality,
    credits: leastCost(model),
    priceVersion: versionOf(model),
    ...(model.name !== undefined && { name: model.name }),
    ...(model.description !== undefined && { description: model.description }),
    ...fieldsOf(model),
  }
}

/** What a model states, and is shown where it does. */
const STATED = [
  'contextLength',
  'maxOutputTokens',
  'maxDimensions',
  'documentTokens',
  'durations',
  'resolutions',
  'sizes',
  'qualities',
  'maxPromptLength',
] as const satisfies (keyof ModelEntry)[]

function fieldsOf(model: Model): Partial<ModelEntry> {
  const stated = STATED.map((field) => [field, (model as Partial<ModelEntry>)[field]] as const)
  return {
    ...('pricing' in model && { pricing: shownPrice(model.price) }),
    ...('prices' in model.price && { prices: shownPrice(model.price).prices }),
    ...Object.fromEntries(stated.filter(([, value]) => value !== undefined)),
    ...(isChat(model) && { defaultOutputTokens: outputLimit(undefined, model) }),
  }
}

/** The least that a call costs, in credits. */
function leastCost(model: Model): number {
  switch (model.modality) {
    case 'chat':
    case 'embedding':
      return chatCost(model.price, { input: 0, output: 0 })
    case 'rerank':
      return searchCost(model.price, 1)
    case 'moderation':
      return callCost(model.price)
    case 'speech':
      return speechCost(model.price, 1)
    case 'transcription':
      return mediaCost(model.price, { duration: 1 })!
    case 'image':
    case 'video':
      return leastMediaCost(model, model.price) ?? 0
  }
}

/** A model as `/v1` shows it: with what clients read. */
function listed(model: Model, { createdAt, creditMicroUsd }: Offer) {
  const entry = presentModel(model, createdAt)
  const dollars = creditMicroUsd === null ? null : dollarPricesOf(model, entry.credits, creditMicroUsd)
  return { ...entry, ...clientFieldsOf(model), ...(dollars && { pricing: { ...entry.pricing, ...dollars } }) }
}

const isChat = (model: Model): model is ChatModel => model.modality === 'chat'

/** Lists the models. */
export const listModels = endpoint({
  ...gateway,
  method: 'get',
  path: '/v1/models',
  summary: 'List the models',
  auth: apiKey,
  limits: READ_LIMITS,
  headers: anthropicHeaders,
  forms: { gemini: { query: geminiPage }, messages: { query: anthropicPage } },
  answers: {
    200: {
      description: 'The models that the key may call.',
      schema: z.union([listedModels, anthropicModels, geminiModels]),
      headers: allowanceHeaders,
    },
  },
}).write(({ catalogue }: Pick<WebDeps, 'catalogue'>) => ({ auth }, ctx) => {
  const current = offerTo(catalogue.current(), auth)
  const models = shownModels(current, auth)
  const form = envelopeFor(ctx)
  if (form === 'gemini') ctx.body = pageForGemini(models, parseFields(geminiPage, ctx.query))
  else if (form !== 'messages')
    ctx.body = { ok: true, object: 'list', data: models.map((model) => listed(model, current)) }
  else ctx.body = pageForAnthropic(models.filter(isChat), current.createdAt, parseFields(anthropicPage, ctx.query))
})

/** Shows one of the models. */
export const showModel = endpoint({
  ...gateway,
  method: 'get',
  path: '/v1/models/*id',
  summary: 'Show a model',
  description: 'The element of `GET /v1/models`. Slashes in the id may be encoded (`%2F`) or not.',
  auth: apiKey,
  limits: READ_LIMITS,
  params: z.object({ id: z.string().meta({ description: 'The id of the model.' }) }),
  headers: anthropicHeaders,
  forms: { gemini: {}, messages: {} },
  answers: {
    200: {
      description: 'The model.',
      schema: z.union([listedModel.extend({ ok }), anthropicModel, geminiModel]),
      headers: allowanceHeaders,
    },
  },
  errors: ['model_not_found'],
}).write(({ catalogue }: Pick<WebDeps, 'catalogue'>) => ({ auth, params: { id } }, ctx) => {
  const current = offerTo(catalogue.current(), auth)
  const found = current.models.get(id)
  if (!found || !isShown(found, auth)) throw noModel()
  const form = envelopeFor(ctx)
  if (form !== 'messages' && form !== 'gemini') ctx.body = { ok: true, ...listed(found, current) }
  else if (form === 'messages' && isChat(found)) ctx.body = presentForAnthropic(found, current.createdAt)
  else if (form === 'gemini' && isForGemini(found)) ctx.body = presentForGemini(found)
  else throw noModel()
})
