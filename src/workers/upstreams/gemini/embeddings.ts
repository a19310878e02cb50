/** Embeddings of Gemini's models: a request for each hundred texts, one after the other. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EmbeddingRequest } from '../../../shared/requests/embeddings.ts'
import { partsOf } from '../../../shared/requests/embeddings.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { listOf } from '../../../shared/platform/fields.ts'
import type { EmbeddingAdapter, Embeddings, UpstreamContext } from '../adapter.ts'
import { UpstreamError } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { malformedAnswer, unfailed } from '../failures.ts'
import type { UpstreamHttp } from '../http.ts'
import { inputUsage } from '../usage.ts'
import { vectorOf } from '../vectors.ts'
import { pathOf } from './path.ts'

/** The most texts of one request. */
const AT_ONCE = 100

/** What a vector takes in an answer where nothing else is known, in numbers and bytes for each. */
const DIMENSIONS = 3072
const NUMBER_BYTES = 14

/** The embeddings of every server that speaks the Gemini API. */
export function createGeminiEmbeddings(http: UpstreamHttp): EmbeddingAdapter {
  return async (request, context) => {
    const texts = textsOf(request)
    const vectors: Float32Array[] = []
    let input = 0
    let isReported = true
    for (let at = 0; at < texts.length; at += AT_ONCE) {
      const answer = await embedded(http, texts.slice(at, at + AT_ONCE), request, context)
      vectors.push(...answer.vectors)
      input += answer.usage?.input ?? 0
      isReported &&= answer.usage !== null
      await nextTurn()
    }
    return { vectors, usage: isReported ? { input, output: 0 } : null }
  }
}

/** @throws UpstreamError `rejected` for lists of tokens, which are those of other models */
function textsOf({ input }: EmbeddingRequest): string[] {
  return partsOf(input).map((part) => {
    if (typeof part === 'string') return part
    throw new UpstreamError('rejected', 'lists of tokens cannot be sent')
  })
}

async function embedded(
  http: UpstreamHttp,
  texts: readonly string[],
  { dimensions }: EmbeddingRequest,
  context: UpstreamContext,
): Promise<Embeddings> {
  const { route } = context
  const fields: Fields = { model: `models/${route.model}`, outputDimensionality: dimensions }
  const requests = texts.map((text) => ({ ...applyRules(fields, route), content: { parts: [{ text }] } }))
  const expectedBytes = texts.length * (dimensions ?? DIMENSIONS) * NUMBER_BYTES
  const path = pathOf(route, 'batchEmbedContents')
  const post = { method: 'POST', kind: 'embedding', path, body: { json: { requests } }, expectedBytes } as const
  const { embeddings, ...rest } = unfailed(await http.json(post, context))
  const vectors = listOf(embeddings).map(({ values }) => vectorIn(values, dimensions))
  if (vectors.length !== texts.length) throw malformedAnswer('the answer has not a vector for each text')
  return { vectors, usage: inputUsage(rest) }
}

/** @throws UpstreamError `unknown` for what is no vector, or one of another length than was asked for */
function vectorIn(values: unknown, dimensions: number | undefined): Float32Array {
  const vector = vectorOf(values)
  if (vector === null) throw malformedAnswer('a vector of the answer is none')
  if (dimensions !== undefined && vector.length !== dimensions)
    throw malformedAnswer('a vector has another length than was asked for')
  return vector
}
