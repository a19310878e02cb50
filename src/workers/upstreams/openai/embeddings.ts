/**
 * Embeddings of OpenAI's kind. Base64 is always asked for: it has a quarter of the bytes. What an
 * upstream answers in numbers all the same is read too.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EmbeddingRequest } from '../../../shared/requests/embeddings.ts'
import { partsOf } from '../../../shared/requests/embeddings.ts'
import { asFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { EmbeddingAdapter } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { malformedAnswer, unfailed } from '../failures.ts'
import type { UpstreamHttp } from '../http.ts'
import { inputUsage } from '../usage.ts'
import { withShortUser } from '../user-ids.ts'
import { vectorOf } from '../vectors.ts'

/** What a vector has in an answer if nothing else is known: numbers of 32 bits in base64, and what is around them. */
const DIMENSIONS = 4096
const BYTES_EACH = 16 / 3
const AROUND_EACH = 100

/** How many vectors are read before others have a turn. */
const AT_ONCE = 64

/** The embeddings of every server that speaks OpenAI's wire format. */
export function createOpenaiEmbeddings(http: UpstreamHttp): EmbeddingAdapter {
  return async (request, context) => {
    const fields = { ...withShortUser(request), encoding_format: 'base64', model: context.route.model }
    const json = applyRules(fields, context.route)
    const expectedBytes =
      partsOf(request.input).length * ((request.dimensions ?? DIMENSIONS) * BYTES_EACH + AROUND_EACH)
    const asked = { method: 'POST', kind: 'embedding', path: '/embeddings', body: { json }, expectedBytes } as const
    const { data, ...rest } = unfailed(await http.json(asked, context))
    return { vectors: await vectorsIn(data, request), usage: inputUsage(rest) }
  }
}

/**
 * The vectors in the order of the input, in whichever order the answer has them.
 * @throws UpstreamError `unknown` for any other number of them, or another length than was asked for
 */
async function vectorsIn(data: unknown, { input, dimensions }: EmbeddingRequest): Promise<Float32Array[]> {
  const count = partsOf(input).length
  if (!Array.isArray(data) || data.length !== count) throw malformedAnswer('the answer has not a vector for each text')
  const written = new Map(data.map((one: unknown, place) => [placeOf(asFields(one), place), asFields(one).embedding]))
  const vectors: Float32Array[] = []
  for (let place = 0; place < count; place++) {
    const vector = vectorOf(written.get(place))
    if (vector === null) throw malformedAnswer('a vector of the answer is none')
    if (dimensions !== undefined && vector.length !== dimensions)
      throw malformedAnswer('a vector has another length than was asked for')
    vectors.push(vector)
    if (place % AT_ONCE === AT_ONCE - 1) await nextTurn()
  }
  return vectors
}

const placeOf = ({ index }: Fields, place: number): unknown => index ?? place
