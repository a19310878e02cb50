/**
 * POST /v1beta/models/{model}:embedContent and :batchEmbedContents, also below /v1: embeddings in the form of Google's
 * Gemini API. A call is the same as one of `POST /v1/embeddings`.
 */
import type { Context } from 'koa'
import { z } from 'zod'
import type { EmbeddingModel } from '../../../shared/catalogue/catalogue.ts'
import type { Answer, LongAnswer } from '../../../shared/calls/stored-answers.ts'
import { bytesOf, isLong } from '../../../shared/calls/stored-answers.ts'
import { refusal } from '../../../shared/chat/gemini/check.ts'
import { geminiErrors } from '../../../shared/chat/gemini/errors.ts'
import { content } from '../../../shared/chat/gemini/fields.ts'
import { camelCased } from '../../../shared/chat/gemini/names.ts'
import type { GatewayError } from '../../../shared/platform/errors.ts'
import { asFields, isText, listOf } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { MAX_INPUTS } from '../../../shared/requests/embeddings.ts'
import { listOf as checkedList } from '../../../shared/requests/field-schemas.ts'
import { parseBody } from '../../../shared/requests/parse-body.ts'
import type { BodyDeps } from '../calls/answer-body.ts'
import { sendAnswer, withBody } from '../calls/answer-body.ts'
import { answerWhenDone } from '../calls/answer-call.ts'
import type { CallKind, Parsed } from '../calls/serve-call.ts'
import { callEndpoint } from '../calls/serve-call.ts'
import { settled } from '../chat/agent-chat.ts'
import { agentBody, callHeaders, placesCalls } from '../declared.ts'
import { embeddingKind } from '../embeddings.ts'
import type { Prefix } from './declared.ts'
import { geminiHeaders, modelInPath, ofGemini, withModel } from './declared.ts'

const one = z.strictObject({
  model: z.string().nullish().meta({ description: 'Ignored: the path names it.' }),
  content,
  taskType: z.enum(['TASK_TYPE_UNSPECIFIED'], 'is not supported: vectors are for any task').nullish(),
  title: z.null('is not supported: put it in front of the text').optional(),
  outputDimensionality: z.int().min(1).nullish(),
})

const many = z.strictObject({ model: one.shape.model, requests: checkedList(one, 1, MAX_INPUTS) })

/** As the document names them, each once. */
const BODIES = {
  one: one.meta({ id: 'EmbedContentRequest' }),
  many: many.meta({ id: 'BatchEmbedContentsRequest' }),
}

/** The text of a content. @throws ApiError for anything else in it */
function textOf({ content: { parts } }: z.output<typeof one>, path: string): string {
  const texts = (parts as Fields[]).map(({ text }, at) => {
    if (isText(text)) return text
    throw refusal(`${path}content.parts.${at}`, 'only texts can be embedded.')
  })
  return texts.join('\n')
}

/** What is a call's own. @param isBatch whether it has several requests */
const kindOf = (isBatch: boolean): CallKind<EmbeddingModel, Parsed> => ({
  modality: 'embedding',
  named: withModel,
  parse: (body, model, headers) => {
    const checked = camelCased(body)
    const requests = isBatch ? parseBody(many, checked).requests : [parseBody(one, checked)]
    const input = requests.map((request, at) => textOf(request, isBatch ? `requests.${at}.` : ''))
    const [dimensions, ...others] = new Set(requests.map(({ outputDimensionality: length }) => length ?? undefined))
    if (others.length > 0) throw refusal('requests', 'must all have the same outputDimensionality.')
    return embeddingKind.parse(
      { model: model.id, input, ...(dimensions !== undefined && { dimensions }) },
      model,
      headers,
    )
  },
  answer: (ctx, deps, placed) =>
    answerWhenDone(ctx, deps, placed, { isStored: false, send: isBatch ? sendMany : sendOne }),
})

const sendOne = sending(([embedding]) => ({ embedding }))
const sendMany = sending((embeddings) => ({ embeddings }))

type Vector = { values: unknown }

/** Sends answers in Google's form. @throws ApiError overloaded if too much waits for its readers already */
function sending(shown: (vectors: Vector[]) => object) {
  return async (ctx: Context, deps: BodyDeps, answer: Answer | LongAnswer): Promise<void> => {
    if (answer.status !== 200) return sendAnswer(ctx, deps, isLong(answer) ? answer : failed(answer))
    const hold = deps.responseMemory.hold(ctx)
    hold.require(isLong(answer) ? bytesOf(answer) : Buffer.byteLength(answer.body))
    const { data, usage } = await withBody(deps, answer, (body) => JSON.parse(body) as Fields)
    const { prompt_tokens: tokens, credits, balance } = asFields(usage)
    const vectors = listOf(data).map(({ embedding: values }) => ({ values }))
    ctx.status = 200
    ctx.set('Cache-Control', 'no-store')
    ctx.set('Content-Type', 'application/json; charset=utf-8')
    ctx.body = JSON.stringify({ ...shown(vectors), usageMetadata: { promptTokenCount: tokens, credits, balance } })
  }
}

/** A failure in Google's form. */
function failed(answer: Answer): Answer {
  const { error } = JSON.parse(answer.body) as { error: GatewayError }
  return { status: geminiErrors.statusOf(error.type), body: JSON.stringify(geminiErrors.stored(error, '')) }
}

const vector = z.strictObject({ values: z.array(z.number()) })
const usageMetadata = z.strictObject({ promptTokenCount: z.int(), ...settled })

const declared = {
  ...placesCalls,
  ...ofGemini,
  headers: geminiHeaders.omit({ Prefer: true }),
  params: modelInPath,
  bodyBytes: agentBody,
  description: 'A call like one of `POST /v1/embeddings`. Its answer is not stored.',
} as const

/** Makes the vector of one content. */
export const embedContent = (prefix: Prefix) =>
  callEndpoint(
    {
      ...declared,
      path: `${prefix}/models/*model\\:embedContent`,
      summary: "Make an embedding, in the form of Google's Gemini API",
      body: BODIES.one,
      answers: {
        200: {
          description: 'The embedding.',
          schema: z.strictObject({ embedding: vector, usageMetadata }),
          headers: callHeaders,
        },
      },
    },
    kindOf(false),
  )

/** Makes the vectors of several contents. */
export const batchEmbedContents = (prefix: Prefix) =>
  callEndpoint(
    {
      ...declared,
      path: `${prefix}/models/*model\\:batchEmbedContents`,
      summary: "Make embeddings, in the form of Google's Gemini API",
      body: BODIES.many,
      answers: {
        200: {
          description: 'The embeddings, in the order of the requests.',
          schema: z.strictObject({ embeddings: z.array(vector), usageMetadata }),
          headers: callHeaders,
        },
      },
    },
    kindOf(true),
  )
