/** A call for embeddings at its upstreams. Its answer may be large and is not stored: it passes to who waits for it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EmbeddingModel, Route } from '../../shared/catalogue/catalogue.ts'
import { putPassing } from '../../shared/replies/passing-answers.ts'
import { MAX_EMBEDDINGS_BYTES } from '../../shared/requests/embeddings.ts'
import type { EmbeddingRequest } from '../../shared/requests/embeddings.ts'
import { settledCost } from '../../shared/terms/pricing.ts'
import type { EmbeddingPrice, Tokens } from '../../shared/terms/pricing.ts'
import type { WorkerDeps } from '../deps.ts'
import type { Embeddings } from '../upstreams/adapter.ts'
import { trustedUsage } from '../upstreams/trusted-usage.ts'
import { malformedAnswer } from '../upstreams/failures.ts'
import { vectorText } from '../upstreams/vectors.ts'
import { chatMicroUsd } from './costs.ts'
import type { Outcome, Run } from './run-call.ts'
import { aboutRun, settlementOf } from './run-call.ts'
import { runOnce } from './run-once.ts'

/** Runs a call for embeddings to its end. @throws UpstreamError when every try failed */
export function runEmbedding(deps: WorkerDeps, model: EmbeddingModel, run: Run): Promise<Outcome> {
  const request = run.job.request as EmbeddingRequest
  return runOnce(deps, model, run, {
    ask: (route, context) => deps.upstreams.adapterFor(route, 'embedding')(request, context),
    settle: async (route, embeddings) => {
      const tokens = tokensOf(deps, run, route, embeddings)
      const output = await outputOf(embeddings.vectors, request, { model: model.id, tokens: tokens.input })
      await putPassing(deps.db, run.call.id, output)
      run.spent.add(chatMicroUsd(route, tokens, embeddings.usage))
      const cost = settledCost(run.call.price as EmbeddingPrice, tokens, run.call.charged)
      return settlementOf(run, { cost, tokens, passingBytes: output.length })
    },
  })
}

/** What the upstream reports, as far as it can be true, else what was charged. There is no output. */
function tokensOf(deps: WorkerDeps, run: Run, { upstream }: Route, { usage }: Embeddings): Tokens {
  const reported = usage && { input: usage.input, output: 0 }
  const { tokens, refused } = trustedUsage(reported, { bounds: run.bounds, counted: 0 })
  if (refused.length > 0) {
    deps.log.warn({ ...aboutRun(run), upstream: upstream.name, reported, refused }, 'usage not believed')
    for (const count of refused) deps.usageRefused(upstream.name, count)
  }
  return { input: tokens.input, output: 0 }
}

/** How many vectors are written before others have a turn. */
const AT_ONCE = 64

/**
 * The answer as JSON, without credits and balance.
 * @throws UpstreamError `unknown` if it is too long
 */
async function outputOf(
  vectors: readonly Float32Array[],
  { encoding_format: format }: EmbeddingRequest,
  { model, tokens }: { model: string; tokens: number },
): Promise<Buffer> {
  const pieces = [Buffer.from('{"object":"list","data":[')]
  let bytes = 0
  for (const [index, vector] of vectors.entries()) {
    const embedding = vectorText(vector, format)
    const text = `${index > 0 ? ',' : ''}{"object":"embedding","index":${index},"embedding":${embedding}}`
    bytes += text.length
    if (bytes > MAX_EMBEDDINGS_BYTES) throw malformedAnswer('the vectors are too long for an answer')
    pieces.push(Buffer.from(text))
    if (index % AT_ONCE === AT_ONCE - 1) await nextTurn()
  }
  const usage = { prompt_tokens: tokens, total_tokens: tokens }
  pieces.push(Buffer.from(`],"model":${JSON.stringify(model)},"usage":${JSON.stringify(usage)}}`))
  return Buffer.concat(pieces)
}
