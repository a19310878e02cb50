/** The models that a body asks for: one, or of a chat a list of them (docs/api/models.md#lists). */
import { z } from 'zod'
import { mayCall } from '../../endpoint/auth.ts'
import type { Principal } from '../../../shared/identity/key-lookup.ts'
import type { Modality } from '../../../shared/terms/kinds.ts'
import type { Tokens } from '../../../shared/terms/pricing.ts'
import { reservedTokens } from '../../../shared/terms/pricing.ts'
import type { ChatModel, Model, Offer } from '../../../shared/catalogue/catalogue.ts'
import { findModel } from '../../../shared/catalogue/catalogue.ts'
import { allowedBy } from '../../../shared/chat/check-body.ts'
import type { Dialect } from '../../../shared/chat/dialect.ts'
import type { ListedModel } from '../../../shared/calls/listed-models.ts'
import { ApiError } from '../../../shared/platform/errors.ts'
import { fieldRefusal } from '../../../shared/platform/field-errors.ts'
import { isText } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { parseBody } from '../../../shared/requests/parse-body.ts'
import type { ChatRequest } from '../../../shared/requests/requests.ts'
import type { CallOrder, Lowered, LowerTo } from './call-order.ts'
import { MODEL_LISTS } from './call-schemas.ts'

/** What of a kind of call decides its models. */
export type Asking = { modality: Modality; mayOmitModel?: true; dialect?: Dialect }

/** The models of a body in their order, and the body without the list of them. */
export type AskedModels<M extends Model> = { models: readonly [M, ...M[]]; body: Fields }

type ListField = keyof typeof MODEL_LISTS

/**
 * The models that a body asks for; `models` or `fallbacks` are read unless an upstream of the first model is sent them.
 * @throws ApiError unsupported_model, model_not_allowed; invalid_request that names what is wrong with a list
 */
export function modelsOf<M extends Model>(offer: Offer, kind: Asking, body: Fields, holder: Principal): AskedModels<M> {
  const field: ListField = kind.dialect === 'messages' ? 'fallbacks' : 'models'
  const isListed = kind.modality === 'chat' && (body[field] ?? null) !== null
  if (!isListed) return { models: [modelOf<M>(offer, kind, body, holder)], body }
  const isNamedByList = field === 'models' && (body.model ?? null) === null
  const named = { model: isNamedByList ? placesOf(body, field)[0]!.id : body.model }
  const known = namedModel(offer, kind, named) as ChatModel | null
  if (known && allowedBy(known).has(field)) return { models: [modelOf<M>(offer, kind, named, holder)], body }
  const places = placesOf(body, field)
  if (field === 'fallbacks') places.unshift({ id: namedIn(body), path: 'model' })
  else if (places[0]!.id !== named.model) throw fieldRefusal('model', 'must be the first of models')
  const listed = places.map(({ id, path }) => {
    const found = findModel(offer, id, kind.modality) as M | null
    const fault = found ? 'which this key may not call' : 'which does not exist here'
    if (!found || !mayCall(holder, found)) throw fieldRefusal(path, `names the model ${JSON.stringify(id)}, ${fault}`)
    return found
  })
  const { [field]: _list, ...rest } = body
  return { models: [...new Set(listed)] as [M, ...M[]], body: rest }
}

/** The ids of a list, and where each is. @throws ApiError invalid_request that names the field */
function placesOf(body: Fields, field: ListField): { id: string; path: string }[] {
  const { models, fallbacks } = MODEL_LISTS
  return field === 'models'
    ? parseBody(z.object({ models }), { models: body.models }, []).models.map((id, at) => ({
        id,
        path: `models[${at}]`,
      }))
    : parseBody(z.object({ fallbacks }), { fallbacks: body.fallbacks }, []).fallbacks.map(({ model: id }, at) => ({
        id,
        path: `fallbacks[${at}].model`,
      }))
}

/** The model of a body. @throws ApiError unsupported_model, model_not_allowed */
function modelOf<M extends Model>(offer: Offer, kind: Asking, body: Fields, holder: Principal): M {
  const model = (isOmitted(kind, body) ? firstModel(offer, kind, holder) : namedModel(offer, kind, body)) as M | null
  if (!model) throw new ApiError('unsupported_model', { param: 'model', message: isNamed(body) ? undefined : NO_MODEL })
  if (!mayCall(holder, model)) throw new ApiError('model_not_allowed', { param: 'model' })
  return model
}

const isOmitted = ({ mayOmitModel }: Asking, { model = null }: Fields): boolean =>
  mayOmitModel === true && model === null

const namedModel = (offer: Offer, { modality }: Asking, body: Fields): Model | null =>
  findModel(offer, namedIn(body), modality)

const firstModel = ({ models }: Offer, { modality }: Asking, holder: Principal): Model | null =>
  [...models.values()].find((one) => one.modality === modality && one.routes.length > 0 && mayCall(holder, one)) ?? null

const NO_MODEL = 'model is missing: send the id of one of GET /v1/models.'

const isNamed = ({ model }: Fields): boolean => model !== undefined && model !== null && model !== ''

/** The `model` of a body, or an empty text without one: no model has that id. */
export const namedIn = ({ model }: Fields): string => (isText(model) ? model : '')

/**
 * A chat that each of these models may answer: what it asks of the first, at the charge of the dearest. Each has its
 * own limit of output, and where one may be lowered, all are lowered that may be.
 */
export function inList<O extends CallOrder>(orders: readonly [O, ...O[]]): O {
  const [first] = orders
  if (orders.length === 1) return first
  return {
    ...first,
    // Whatever one of them is served by: which upstreams there are, and whether one takes the chat as it was written.
    model: { ...first.model, routes: orders.flatMap(({ model }) => model.routes) },
    models: orders.map(entryOf),
    ...together(orders.map(wholeOf)),
    lowerTo: orders.some(({ lowerTo }) => lowerTo) ? loweringAll(orders) : undefined,
  }
}

const entryOf = (order: CallOrder): ListedModel => {
  const { maxTokens, estimate } = wholeOf(order)
  const { id: model, price } = order.model as ChatModel
  return { model, price, maxTokens, estimate }
}

/** An order that is not lowered. */
const wholeOf = ({ request, estimate, charge }: CallOrder): Lowered => ({
  maxTokens: (request as ChatRequest).max_tokens,
  estimate: estimate!,
  charge,
})

/** What is charged and reserved of a chat that each may answer: the most of any. */
const together = (all: readonly Lowered[]): { charge: number; estimate: Tokens } => ({
  charge: Math.max(...all.map(({ charge }) => charge)),
  estimate: {
    input: Math.max(...all.map(({ estimate }) => estimate.input)),
    output: Math.max(...all.map(({ estimate }) => estimate.output)),
  },
})

const loweringAll =
  (orders: readonly CallOrder[]): LowerTo =>
  (bounds, least) => {
    const models: Lowered[] = []
    for (const order of orders) {
      const isWithin = order.charge <= bounds.credits && reservedTokens(order.estimate) <= bounds.tokens
      const less = order.lowerTo ? order.lowerTo(bounds, least) : isWithin ? wholeOf(order) : null
      if (!less) return null
      models.push(less)
    }
    const limits = models.map(({ maxTokens, estimate }) => ({ maxTokens, estimate }))
    return { ...together(models), maxTokens: models[0]!.maxTokens, models: limits }
  }
