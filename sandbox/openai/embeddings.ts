import { createHash } from 'node:crypto'
import { reportedTokens } from '../chat/answer.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { invalid } from './errors.ts'

/** The numbers of a vector where none are asked for. */
const DIMENSIONS = 8
const MAX_DIMENSIONS = 65_536

/** Embeddings of OpenAI. A text that is asked for twice has the same vector. */
export const embeddingRoute: Route = {
  method: 'POST',
  path: '/v1/embeddings',
  submission: ({ fields }) => ({ model: asText(fields['model']), prompt: promptOf(fields['input']) }),
  handle: makeEmbeddings,
}

/** What steers the sandbox: the first text. */
const promptOf = (input: unknown): string => asText(Array.isArray(input) ? input[0] : input)

async function makeEmbeddings(exchange: Exchange): Promise<void> {
  const { steering, body } = exchange
  const { fields } = body
  if (!exchange.model) throw invalid('you must provide a model parameter', 'model')
  const inputs = inputsOf(fields['input'])
  const dimensions = Number(fields['dimensions'] ?? DIMENSIONS)
  if (!Number.isInteger(dimensions) || dimensions < 1 || dimensions > MAX_DIMENSIONS)
    throw invalid(`dimensions must be from 1 to ${MAX_DIMENSIONS}`, 'dimensions')
  await admit(exchange, 'inline')
  const isText = fields['encoding_format'] === 'base64' && !exchange.model.includes('numbers')
  const data = steering.empty
    ? []
    : inputs.map((input, index) => {
        const vector = vectorOf(JSON.stringify(input), dimensions)
        const embedding = isText ? Buffer.from(vector.buffer).toString('base64') : Array.from(vector)
        return { object: 'embedding', index, embedding }
      })
  // Clients must use the index of each vector, not the order.
  await answer(exchange, {
    object: 'list',
    data: data.toReversed(),
    model: exchange.model,
    ...usageOf(exchange, inputs),
  })
}

function inputsOf(input: unknown): readonly (string | readonly unknown[])[] {
  const list = typeof input === 'string' || typeof (input as unknown[] | undefined)?.[0] === 'number' ? [input] : input
  if (!Array.isArray(list) || list.length === 0) throw invalid("'$.input' is invalid.", 'input')
  if (list.length > 2048) throw invalid('input must have at most 2048 elements', 'input')
  const inputs = list as (string | unknown[])[]
  if (inputs.some((one) => one.length === 0)) throw invalid('input cannot be an empty string', 'input')
  return inputs
}

/** Numbers from -1 to 1 that follow from the text. */
export function vectorOf(text: string, dimensions: number): Float32Array {
  const seed = createHash('sha256').update(text).digest().readUInt32LE() | 1
  let state = seed
  return Float32Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state / 2 ** 31
  })
}

function usageOf({ steering }: Exchange, inputs: readonly (string | readonly unknown[])[]): Fields {
  const input = inputs.reduce((sum, one) => sum + (typeof one === 'string' ? Math.ceil(one.length / 4) : one.length), 0)
  const tokens = reportedTokens(steering, { input, output: 0 })
  return tokens ? { usage: { prompt_tokens: tokens.input, total_tokens: tokens.input } } : {}
}
