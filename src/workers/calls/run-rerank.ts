/** A ranking of documents at its upstreams. */
import type { RerankModel } from '../../shared/catalogue/catalogue.ts'
import { publicId } from '../../shared/platform/ids.ts'
import { estimatedTokens, mostTokens, searchesOf } from '../../shared/requests/rerank.ts'
import type { RerankRequest } from '../../shared/requests/rerank.ts'
import type { WorkerDeps } from '../deps.ts'
import type { Ranking } from '../upstreams/adapter.ts'
import { searchMicroUsd } from './costs.ts'
import type { Outcome, Run } from './run-call.ts'
import { settlementOf } from './run-call.ts'
import { runOnce } from './run-once.ts'

/** An upstream is believed to have billed up to this many times the searches that were charged. */
const MOST_TIMES = 100

/** Runs a ranking to its end. @throws UpstreamError when every try failed */
export function runRerank(deps: WorkerDeps, model: RerankModel, run: Run): Promise<Outcome> {
  const request = run.job.request as RerankRequest
  const searches = searchesOf(request, model.documentTokens)
  return runOnce(deps, model, run, {
    ask: (route, context) => deps.upstreams.adapterFor(route, 'rerank')(request, context),
    settle: (route, ranking) => {
      const billed = ranking.searches ?? 0
      const isPlausible = billed >= 1 && billed <= MOST_TIMES * searches
      run.spent.add(searchMicroUsd(route, isPlausible ? billed : searches))
      const output = JSON.stringify({
        id: publicId('call', run.call.id),
        model: model.id,
        results: shown(request, ranking),
        meta: { billed_units: { search_units: searches } },
        usage: { total_tokens: tokensOf(request, ranking) },
      })
      return settlementOf(run, { output })
    },
  })
}

/** The places, with their documents where they are wanted: the caller's own, not the upstream's copies. */
const shown = ({ documents, return_documents: isReturned }: RerankRequest, { results }: Ranking) =>
  isReturned ? results.map((one) => ({ ...one, document: { text: documents[one.index] } })) : results

/** What the upstream reports, as far as it can be true, else an estimate. */
const tokensOf = (request: RerankRequest, { tokens }: Ranking): number =>
  tokens !== null && tokens >= 1 && tokens <= mostTokens(request) ? tokens : estimatedTokens(request)
