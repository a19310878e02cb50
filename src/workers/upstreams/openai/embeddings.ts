/**
 * Embeddings of OpenAI's kind. Base64 is asked for whatever the client wants: it has a quarter of the bytes. What an
 * upstream answers in numbers all the same is read too.
 */
import type { EmbeddingRequest } from '../../../shared/requests/embeddings.ts'
import { partsOf } from '../../../shared/requests/embeddings.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { EmbeddingAdapter } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { failureIn, malformedAnswer } from '../failures.ts'
import type { UpstreamHttp } from '../http.ts'
import { takeUsage } from '../usage.ts'
import { vectorOf } from '../vectors.ts'

/** The embeddings of every server that speaks OpenAI's wire format. */
export function createOpenaiEmbeddings(http: UpstreamHttp): EmbeddingAdapter {
  return async (request, context) => {
    const json = applyRules({ ...request, encoding_format: 'base64', model: context.route.model }, context.route)
    const answer = await http.json({ method: 'POST', kind: 'embedding', path: '/embeddings', body: { json } }, context)
    const failure = failureIn(answer)
    if (failure) throw failure
    const { data, ...rest } = answer
    return { vectors: vectorsIn(data, request), usage: takeUsage(rest).usage }
  }
}

/**
 * The vectors in the order of the input, whatever the order of the answer.
 * @throws UpstreamError `unknown` for any other number of them, or another length than was asked for
 */
function vectorsIn(data: unknown, { input, dimensions }: EmbeddingRequest): Float32Array[] {
  const count = partsOf(input).length
  if (!Array.isArray(data) || data.length !== count) throw malformedAnswer('the answer has not a vector for each text')
  const vectors = new Map(data.map((one: unknown, place) => [placeOf(asFields(one), place), asFields(one).embedding]))
  return Array.from({ length: count }, (_, place) => {
    const vector = vectorOf(vectors.get(place))
    if (vector === null) throw malformedAnswer('a vector of the answer is none')
    if (dimensions !== undefined && vector.length !== dimensions)
      throw malformedAnswer('a vector has another length than was asked for')
    return vector
  })
}

const placeOf = ({ index }: Fields, place: number): unknown => index ?? place
