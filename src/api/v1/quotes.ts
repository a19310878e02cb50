/**
 * POST /v1/quotes: what a call would be charged now, without the call.
 */
import { z } from 'zod'
import type { Principal } from '../../shared/identity/key-lookup.ts'
import type { Model } from '../../shared/catalogue/catalogue.ts'
import { isPaidByTokens } from '../../shared/catalogue/catalogue.ts'
import type { Funds } from '../../shared/identity/summary.ts'
import { fundsOf, payable } from '../../shared/identity/summary.ts'
import { mostTokens } from '../../shared/identity/account-limits.ts'
import { leastMediaCost } from '../../shared/requests/media-options.ts'
import { chatCost } from '../../shared/terms/pricing.ts'
import type { MediaRequest } from '../../shared/requests/requests.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { credits, id, ok } from '../endpoint/answer-schemas.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint/endpoint.ts'
import { LARGE_BYTES } from '../endpoint/large-body-queue.ts'
import type { JsonObject } from '../middleware/json-body.ts'
import { apiKey } from '../endpoint/auth.ts'
import { chatKind } from './chat/completions.ts'
import { allowanceHeaders, callRequestHeaders, gateway } from './declared.ts'
import { speechKind } from './audio/speech.ts'
import { embeddingKind } from './embeddings.ts'
import { imageKind } from './images/images.ts'
import { videoKind } from './videos/generations.ts'
import { moderationKind } from './moderations.ts'
import { rerankKind } from './rerank.ts'
import type { CallOrder, TokenBounds } from './calls/call-order.ts'
import { withinFunds, aboveLimitError, isAboveLimit, withinLimit } from './calls/call-order.ts'
import { requireUpstream } from './calls/place-call.ts'
import { maxCreditsOf, versionOf } from './calls/call-headers.ts'
import type { CallKind, Parsed } from './calls/serve-call.ts'
import { orderOf } from './calls/serve-call.ts'
import { messagesKind } from './messages/messages.ts'
import { responsesKind } from './responses/responses.ts'
import { isFields } from '../../shared/platform/fields.ts'
import { videosKind } from './videos/videos.ts'

type Order = (deps: WebDeps, body: JsonObject, holder: Principal) => Promise<CallOrder>

/** The order of a body, by the very checks of its call, with what it refers to. */
const ordered =
  <M extends Model, P extends Parsed>(kind: CallKind<M, P>): Order =>
  async (deps, body, holder) =>
    orderOf(deps, kind, kind.resolve ? await kind.resolve(deps, body, holder) : body, holder)

/** The calls that can be quoted, by their path. */
const ORDERS: Record<string, Order> = {
  '/v1/chat/completions': ordered(chatKind),
  '/v1/messages': ordered(messagesKind),
  '/v1/responses': ordered(responsesKind),
  '/v1/images/generations': ordered(imageKind),
  '/v1/videos/generations': ordered(videoKind),
  '/v1/videos': ordered(videosKind),
  '/v1/embeddings': ordered(embeddingKind),
  '/v1/moderations': ordered(moderationKind),
  '/v1/rerank': ordered(rerankKind),
  '/v1/audio/speech': ordered(speechKind),
}

const quoteBody = z
  .object({
    endpoint: z.enum(Object.keys(ORDERS)).meta({ description: 'The path of the call.' }),
    body: z
      .custom<JsonObject>(isFields, 'must be an object')
      .meta({ type: 'object', description: 'The body of the call.' }),
  })
  .meta({ id: 'QuoteRequest' })

const quote = z
  .strictObject({
    ok,
    model: z.string(),
    credits: credits.meta({ description: 'What the call would be charged when it opens.' }),
    minimum: credits.meta({ description: 'The least that it may cost in the end, if it succeeds.' }),
    maximum: credits.meta({ description: 'The most, except for text with unusually many tokens per byte.' }),
    balance: credits,
    affordable: z.boolean().meta({ description: 'Whether budget and balance allow the call now.' }),
    priceVersion: id('price').meta({ description: 'For `X-Price-Version`.' }),
    priceBasisPoints: z.int().optional().meta({
      description: 'What the group of the account pays of the price, in ten-thousandths, if that is not all of it.',
    }),
  })
  .meta({ id: 'Quote' })

/** What a call is charged with these funds, and whether they pay it now. */
function quoted(order: CallOrder, funds: Funds, bounds: TokenBounds): { charge: number; affordable: boolean } {
  const { charge } = withinFunds(order, funds, bounds) ?? order
  const { now } = payable(funds)
  return now !== null && charge <= now ? { charge, affordable: true } : { charge: order.charge, affordable: false }
}

/** The least that a call costs which succeeds, in credits: of pictures one, as cheap as it may come. */
function leastOf({ model, request, models = [] }: CallOrder, charge: number): number {
  if (isPaidByTokens(model))
    return Math.min(...[model, ...models].map(({ price }) => chatCost(price, { input: 0, output: 0 })))
  if (model.modality !== 'image') return charge
  const { resolution, size, quality } = request as MediaRequest
  return Math.min(charge, leastMediaCost(model, model.price, { resolution, size, quality }) ?? charge)
}

/** Quotes a call. Nothing is charged, recorded or sent. */
export const quoteCall = endpoint({
  ...gateway,
  method: 'post',
  path: '/v1/quotes',
  summary: 'Quote a call',
  description: 'The body is checked like that of the call. Nothing is charged, recorded or sent to an upstream.',
  auth: apiKey,
  limits: [{ limit: 'quotes', per: 'account', perBytes: LARGE_BYTES, shown: true }],
  headers: callRequestHeaders.pick({ 'X-Max-Credits': true }),
  body: quoteBody,
  bodyBytes: ({ MAX_BODY_BYTES }) => MAX_BODY_BYTES + 1024,
  answers: { 200: { description: 'The quote.', schema: quote, headers: allowanceHeaders } },
  errors: [
    'invalid_request',
    'unsupported_model',
    'model_not_allowed',
    'invalid_prompt',
    'invalid_messages',
    'upstream_unavailable',
    'previous_response_not_found',
  ],
}).write((deps: WebDeps) => async ({ auth, body: { endpoint: path, body } }, ctx) => {
  const least = deps.config.MIN_OUTPUT_TOKENS
  const order = withinLimit(await ORDERS[path]!(deps, body, auth), auth.tokens, least)
  const { model } = order
  requireUpstream(model)
  if (isAboveLimit(order, auth.tokens)) throw aboveLimitError(order, auth.tokens)
  // Refused here where the call would be refused for it.
  maxCreditsOf(ctx)
  const funds = await fundsOf(deps.db, auth)
  if (!funds) throw new ApiError('unauthorized')
  const { charge, affordable } = quoted(order, funds, { tokens: mostTokens(auth.tokens), least })
  const answer: z.output<typeof quote> = {
    ok: true,
    model: model.id,
    credits: charge,
    minimum: leastOf(order, charge),
    maximum: charge,
    balance: funds.balance,
    affordable,
    priceVersion: versionOf(model),
    ...(model.price.priceBasisPoints !== undefined && { priceBasisPoints: model.price.priceBasisPoints }),
  }
  ctx.body = answer
})
