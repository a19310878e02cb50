/**
 * POST /v1/rerank.
 */
import { z } from 'zod'
import type { RerankModel } from '../../shared/catalogue/catalogue.ts'
import { closed, documented, listOf, optional, within } from '../../shared/requests/field-schemas.ts'
import { searchCost } from '../../shared/terms/pricing.ts'
import { MAX_DOCUMENTS, searchesOf } from '../../shared/requests/rerank.ts'
import type { RerankRequest } from '../../shared/requests/rerank.ts'
import type { JsonObject } from '../middleware/json-body.ts'
import { answerWhenDone } from './calls/answer-call.ts'
import { modelId } from './calls/call-schemas.ts'
import { parseBody } from '../../shared/requests/parse-body.ts'
import type { CallKind } from './calls/serve-call.ts'
import { callEndpoint } from './calls/serve-call.ts'
import { isFields } from '../../shared/platform/fields.ts'
import { accepted, callHeaders, placesCalls } from './declared.ts'

const text = z.string().min(1, 'must not be empty')
const textObject = closed({ text })

/** A text, by itself or as `{text}`. */
const document = z
  .custom<unknown>((value) => typeof value === 'string' || isFields(value), 'must be a text, or an object with a text')
  .meta({ anyOf: [documented(text), documented(textObject)] })
  .transform((value, context): string =>
    typeof value === 'string' ? within(text, value, context) : within(textObject, value, context).text,
  )

const most = z.int().min(1).max(1_000_000_000)

const rerankBody = closed({
  model: modelId,
  query: text.meta({ description: 'What the documents are ranked by.' }),
  documents: listOf(document, 1, MAX_DOCUMENTS),
  top_n: optional(most).meta({ description: 'How many of the best to answer; all if absent, or if more.' }),
  max_tokens_per_doc: optional(most).meta({ description: 'Passed on: longer documents are cut there.' }),
  return_documents: optional(z.boolean()).meta({ description: 'Whether results repeat their documents.' }),
}).meta({ id: 'RerankRequest' })

type AskedRanking = { request: RerankRequest; estimate: null; charge: number }

/** What is asked for and what it costs, which is known before it is sent. @throws ApiError invalid_request */
function parse(body: JsonObject, { price, documentTokens }: RerankModel): AskedRanking {
  const {
    query,
    documents,
    top_n: topN,
    max_tokens_per_doc: maxTokens,
    return_documents: isReturned = false,
  } = parseBody(rerankBody, body)
  const request: RerankRequest = {
    query,
    documents,
    ...(topN !== undefined && { top_n: Math.min(topN, documents.length) }),
    ...(maxTokens !== undefined && { max_tokens_per_doc: maxTokens }),
    return_documents: isReturned,
  }
  return { request, estimate: null, charge: searchCost(price, searchesOf(request, documentTokens)) }
}

/** What is specific to rankings. */
export const rerankKind: CallKind<RerankModel, AskedRanking> = {
  modality: 'rerank',
  parse,
  answer: (ctx, deps, placed) => answerWhenDone(ctx, deps, placed),
}

/** A ranking, with the fields of Cohere's API and those of Jina's. */
const rerankResult = z
  .strictObject({
    ok: z.literal(true),
    id: z.string().meta({ description: 'The id of the call.' }),
    model: z.string(),
    results: z.array(
      z.strictObject({
        index: z.int().meta({ description: 'The place of the document in the request, from 0 on.' }),
        relevance_score: z.number(),
        document: z.strictObject({ text: z.string() }).optional(),
      }),
    ),
    meta: z.strictObject({ billed_units: z.strictObject({ search_units: z.int() }) }),
    usage: z.strictObject({
      total_tokens: z.int().meta({ description: 'What the upstream reports, or an estimate.' }),
      credits: z.int().meta({ description: 'Credits charged.' }),
      balance: z.int().meta({ description: 'Credits left.' }),
    }),
  })
  .meta({ id: 'RerankResult', description: 'The documents, the most relevant one first.' })

/** Ranks documents by a query. Charged by the search. */
export const rankDocuments = callEndpoint(
  {
    ...placesCalls,
    path: '/v1/rerank',
    summary: 'Rank documents by a query',
    description:
      'A search is one query with up to 100 documents, and each further hundred is one more. A long document counts ' +
      'as several, by the tokens that its model states.',
    body: rerankBody,
    answers: { 200: { description: 'The ranking.', schema: rerankResult, headers: callHeaders }, 202: accepted },
  },
  rerankKind,
)
