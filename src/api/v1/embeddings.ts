/**
 * POST /v1/embeddings.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { z } from 'zod'
import type { EmbeddingModel } from '../../shared/catalogue/catalogue.ts'
import { isLeftOut } from '../../shared/catalogue/route-rules.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { MAX_INPUTS, heldTokens, inputFault, mostInputs, partsOf } from '../../shared/requests/embeddings.ts'
import type { EmbeddingInput, EmbeddingRequest } from '../../shared/requests/embeddings.ts'
import { closed, optional } from '../../shared/requests/field-schemas.ts'
import type { Tokens } from '../../shared/terms/pricing.ts'
import { chatCost } from '../../shared/terms/pricing.ts'
import type { JsonObject } from '../middleware/json-body.ts'
import { answerWhenDone } from './calls/answer-call.ts'
import { modelId } from './calls/call-schemas.ts'
import { parseBody } from '../../shared/requests/parse-body.ts'
import { prefersLater } from './calls/call-headers.ts'
import type { CallKind } from './calls/serve-call.ts'
import { callEndpoint } from './calls/serve-call.ts'
import { agentBody, callHeaders, callRequestHeaders, placesCalls } from './declared.ts'

const text = { type: 'string', minLength: 1 } as const
const tokens = { type: 'array', items: { type: 'integer', minimum: 0 }, minItems: 1 } as const

const input = z
  .unknown()
  .superRefine((value, context) => {
    const fault = inputFault(value)
    if (fault !== null) context.addIssue({ code: 'custom', message: fault })
  })
  .meta({
    anyOf: [
      text,
      tokens,
      ...[text, tokens].map((items) => ({ type: 'array', items, minItems: 1, maxItems: MAX_INPUTS })),
    ],
    description: `A text, a text as tokens, or a list of up to ${MAX_INPUTS} of either.`,
  })

/** The largest number of dimensions that may be asked for. */
const MAX_DIMENSIONS = 65_536

const embeddingBody = closed({
  model: modelId,
  input,
  encoding_format: optional(z.enum(['float', 'base64'])).meta({
    description: 'How vectors are written: as numbers (`float`, if absent), or as the base64 of float32.',
  }),
  dimensions: optional(z.int().min(1).max(MAX_DIMENSIONS)).meta({
    description: "The numbers of a vector; the model's own if absent.",
  }),
  user: optional(z.string()).meta({ description: 'Passed on.' }),
}).meta({ id: 'EmbeddingRequest' })

type AskedEmbeddings = { request: EmbeddingRequest; estimate: Tokens; charge: number }

/** What is asked for and what it costs, which is known before it is sent. @throws ApiError invalid_request */
function parse(body: JsonObject, model: EmbeddingModel, headers: IncomingHttpHeaders = {}): AskedEmbeddings {
  if (prefersLater(headers)) {
    throw refusal('Prefer', 'embeddings are not stored, so that they cannot be fetched later: wait for them.')
  }
  const {
    model: _model,
    encoding_format: format = 'float',
    dimensions,
    user,
    input: checked,
  } = parseBody(embeddingBody, body)
  const asked = checked as EmbeddingInput
  const request: EmbeddingRequest = {
    input: asked,
    encoding_format: format,
    ...(dimensions !== undefined && { dimensions }),
    ...(user !== undefined && { user }),
  }
  requireTexts(request, model)
  requireDimensions(request, model)
  requireRoom(request, model)
  const estimate = { input: heldTokens(asked), output: 0 }
  return { request, estimate, charge: chatCost(model.price, estimate) }
}

const refusal = (param: string, fault: string): ApiError =>
  new ApiError('invalid_request', { param, message: `${param}: ${fault}` })

/** Tokens are those of one vendor's models: Gemini's read texts alone. */
function requireTexts({ input: asked }: EmbeddingRequest, { routes }: EmbeddingModel): void {
  const isOfTexts = routes.length > 0 && routes.every(({ upstream }) => upstream.protocol === 'gemini')
  if (isOfTexts && partsOf(asked).some((part) => typeof part !== 'string'))
    throw refusal('input', 'this model takes texts, and no tokens.')
}

/** Vectors of another length than was asked for would spoil an index without a word. */
function requireDimensions({ dimensions }: EmbeddingRequest, model: EmbeddingModel): void {
  const { maxDimensions = Infinity } = model
  if (dimensions === undefined) return
  if (dimensions > maxDimensions) throw refusal('dimensions', `this model has at most ${maxDimensions}.`)
  if (isLeftOut('dimensions', model)) throw refusal('dimensions', 'this model has vectors of one length only.')
}

/** An answer that is too long is refused before its upstream is asked, which would bill it. */
function requireRoom(request: EmbeddingRequest, { maxDimensions, upstreams }: EmbeddingModel): void {
  const isWritten = upstreams.some(({ drop }) => drop.includes('encoding_format'))
  const most = mostInputs(isWritten ? { ...request, encoding_format: 'float' } : request, maxDimensions)
  if (partsOf(request.input).length <= most) return
  const hint = request.encoding_format === 'float' && !isWritten ? ', or more with encoding_format "base64"' : ''
  throw refusal('input', `at most ${most} texts fit into one answer${hint}.`)
}

/** What is specific to embeddings. */
export const embeddingKind: CallKind<EmbeddingModel, AskedEmbeddings> = {
  modality: 'embedding',
  parse,
  answer: (ctx, deps, placed) => answerWhenDone(ctx, deps, placed, { isStored: false }),
}

/** Embeddings, in the form of OpenAI's API. */
const embeddingResult = z
  .strictObject({
    ok: z.literal(true),
    object: z.literal('list'),
    data: z.array(
      z.strictObject({
        object: z.literal('embedding'),
        index: z.int(),
        embedding: z.union([z.array(z.number()), z.string()]),
      }),
    ),
    model: z.string(),
    usage: z.strictObject({
      prompt_tokens: z.int(),
      total_tokens: z.int(),
      credits: z.int().meta({ description: 'Credits finally charged.' }),
      balance: z.int().meta({ description: 'Credits left.' }),
    }),
  })
  .meta({ id: 'EmbeddingResult', description: 'Vectors in the order of the input.' })

/** Makes vectors of texts. Charged by their tokens, settled on the real usage. */
export const createEmbeddings = callEndpoint(
  {
    ...placesCalls,
    path: '/v1/embeddings',
    summary: 'Make embeddings of texts',
    description:
      'Input in tokens is charged exactly, texts at a token for three bytes, and settled on the real usage. ' +
      'Answers are not stored: a retry after the end gets 410 `result_expired`, and is not charged again.',
    headers: callRequestHeaders.omit({ Prefer: true }),
    body: embeddingBody,
    bodyBytes: agentBody,
    answers: { 200: { description: 'The embeddings.', schema: embeddingResult, headers: callHeaders } },
  },
  embeddingKind,
)
