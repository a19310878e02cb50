import { reportedTokens } from '../chat/answer.ts'
import type { Exchange, Route } from '../exchange.ts'
import { admit, answer } from '../http/answer.ts'
import { asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { invalid } from './errors.ts'

/** Rankings: in Cohere's form, or in Jina's for models with "jina" in their names. The query steers the sandbox. */
export const rerankRoute: Route = {
  method: 'POST',
  path: '/v1/rerank',
  submission: ({ fields }) => ({ model: asText(fields['model']), prompt: asText(fields['query']) }),
  handle: rank,
}

async function rank(exchange: Exchange): Promise<void> {
  const { steering, body, model } = exchange
  const { query, documents, top_n: most } = body.fields
  if (typeof query !== 'string' || query === '') throw invalid('query must not be empty', 'query')
  if (!Array.isArray(documents) || documents.length === 0) throw invalid('documents must not be empty', 'documents')
  const texts = documents.map(asText)
  if (most !== undefined && (Number(most) < 1 || Number(most) > texts.length)) throw invalid('invalid top_n', 'top_n')
  await admit(exchange, 'inline')
  const best = texts
    .map((text, index) => ({ index, relevance_score: scoreOf(query, text) }))
    .toSorted((a, b) => b.relevance_score - a.relevance_score)
    .slice(0, most === undefined ? texts.length : Number(most))
  // Clients must not rely on the order.
  const results = steering.empty ? [] : best.toReversed()
  const input = texts.reduce((sum, text) => sum + Math.ceil((query.length + text.length) / 4), 0)
  const tokens = reportedTokens(steering, { input, output: 0 })
  if (!model.includes('jina')) return answer(exchange, { id: 'sandbox', results, ...billed(texts, tokens !== null) })
  const repeated = results.map((one) => ({ ...one, document: { text: texts[one.index] } }))
  await answer(exchange, { model, results: repeated, ...(tokens && { usage: { total_tokens: tokens.input } }) })
}

/** The share of the query's words that a text contains, from 0 to 1. */
function scoreOf(query: string, text: string): number {
  const words = query.toLowerCase().split(/\W+/).filter(Boolean)
  return words.filter((word) => text.toLowerCase().includes(word)).length / Math.max(1, words.length)
}

const billed = (texts: string[], isReported: boolean): Fields =>
  isReported
    ? { meta: { api_version: { version: '2' }, billed_units: { search_units: Math.ceil(texts.length / 100) } } }
    : {}
