import { reportedTokens } from '../chat/answer.ts'
import type { Exchange } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { vectorOf } from '../openai/embeddings.ts'
import { asFields } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { promptIn } from './contents.ts'
import { invalid } from './errors.ts'

const DIMENSIONS = 8
const MAX_DIMENSIONS = 3072
const MOST = 100

function vectorFor(request: Fields): { values: number[] } {
  const { outputDimensionality: dimensions = DIMENSIONS } = request
  if (!Number.isInteger(dimensions) || (dimensions as number) < 1 || (dimensions as number) > MAX_DIMENSIONS)
    throw invalid(`output_dimensionality must be between 1 and ${MAX_DIMENSIONS}.`)
  const text = promptIn(request)
  if (text === '') throw invalid('content is empty')
  return { values: Array.from(vectorOf(text, dimensions as number)) }
}

const tokensOf = (requests: readonly Fields[]): number =>
  requests.reduce((sum, request) => sum + Math.ceil(promptIn(request).length / 4), 0)

/** `embedContent`: a vector of one content. */
export const embedOne = (exchange: Exchange): Promise<void> =>
  embed(exchange, [exchange.body.fields], ([embedding]) => ({ embedding }))

/** `batchEmbedContents`: a vector for each request, in their order. */
export function embedAll(exchange: Exchange): Promise<void> {
  const { requests } = exchange.body.fields
  const asked = Array.isArray(requests) ? requests.map(asFields) : []
  if (asked.length === 0) throw invalid('requests is not specified')
  if (asked.length > MOST) throw invalid(`at most ${MOST} requests can be in one batch`)
  const wrong = asked.find(({ model }) => model !== `models/${exchange.model}`)
  if (wrong) throw invalid('The model of each request must be that of the batch.')
  return embed(exchange, asked, (embeddings) => ({ embeddings }))
}

async function embed(
  exchange: Exchange,
  requests: readonly Fields[],
  bodyOf: (vectors: { values: number[] }[]) => Fields,
): Promise<void> {
  const { steering } = exchange
  const vectors = requests.map(vectorFor)
  await admit(exchange, 'inline')
  const tokens = reportedTokens(steering, { input: tokensOf(requests), output: 0 })
  const usage = tokens && { usageMetadata: { promptTokenCount: tokens.input } }
  await answer(exchange, { ...bodyOf(steering.empty ? [] : vectors), ...usage })
}
