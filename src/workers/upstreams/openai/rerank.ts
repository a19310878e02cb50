/**
 * Rankings at `/rerank`, which Cohere's API and Jina's have, and servers that follow either. Documents are not asked
 * back: the caller has them.
 */
import { asFields } from '../../../shared/platform/fields.ts'
import { placesOf } from '../../../shared/requests/rerank.ts'
import type { RerankRequest } from '../../../shared/requests/rerank.ts'
import type { Ranking, RerankAdapter } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { malformedAnswer, unfailed } from '../failures.ts'
import type { UpstreamHttp } from '../http.ts'

/** The rankings of every server that has them at `/rerank`. */
export function createOpenaiRerank(http: UpstreamHttp): RerankAdapter {
  return async ({ return_documents: _isReturned, ...request }, context) => {
    const json = applyRules({ ...request, model: context.route.model }, context.route)
    const asked = { method: 'POST', kind: 'rerank', path: '/rerank', body: { json } } as const
    const { meta, usage, results, data } = unfailed(await http.json(asked, context))
    return {
      results: resultsIn(results ?? data, request),
      tokens: countOf(asFields(usage).total_tokens ?? asFields(asFields(meta).tokens).input_tokens),
      searches: countOf(asFields(asFields(meta).billed_units).search_units),
    }
  }
}

const countOf = (value: unknown): number | null => (Number.isSafeInteger(value) ? (value as number) : null)

/**
 * The best places, the most relevant one first, for any order and length of the answer.
 * @throws UpstreamError `unknown` for a place that the caller's list does not have, one that occurs twice, and
 * for fewer than were asked for
 */
function resultsIn(listed: unknown, request: Pick<RerankRequest, 'documents' | 'top_n'>): Ranking['results'] {
  const count = request.documents.length
  if (!Array.isArray(listed) || listed.length > count || listed.length < placesOf(request))
    throw malformedAnswer('the answer has not a place for each document')
  const seen = new Set<number>()
  const results = listed.map((one: unknown) => {
    const { index, relevance_score: score = asFields(one).score } = asFields(one)
    const isPlace = Number.isInteger(index) && (index as number) >= 0 && (index as number) < count
    if (!isPlace || seen.has(index as number)) throw malformedAnswer('a place of the answer is none of the request')
    if (typeof score !== 'number' || !Number.isFinite(score)) throw malformedAnswer('a score of the answer is none')
    seen.add(index as number)
    return { index: index as number, relevance_score: score }
  })
  return results
    .toSorted((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, placesOf(request))
}
