/**
 * A call for a transcription at its upstreams. It costs what its measured seconds do, whatever its upstream says.
 */
import type { TranscriptionModel } from '../../shared/catalogue/catalogue.ts'
import type { TranscriptionRequest } from '../../shared/requests/transcriptions.ts'
import type { WorkerDeps } from '../deps.ts'
import { UpstreamError } from '../upstreams/adapter.ts'
import { shapeMicroUsd } from './costs.ts'
import type { Outcome, Run } from './run-call.ts'
import { callerOf, contextOf, filesOf, sendTo, settlementOf, upstreamFailure } from './run-call.ts'
import { transcriptOutput } from './transcripts.ts'

/** Runs a call for a transcription to its end. @throws UpstreamError when every try failed */
export async function runTranscription(deps: WorkerDeps, model: TranscriptionModel, run: Run): Promise<Outcome> {
  // A second request could be a second bill.
  if (run.call.resumed) return upstreamFailure('The worker was lost while the upstream may have had the request.')
  const request = run.job.request as TranscriptionRequest
  const { route, transcript } = await deps.upstreams.tryRoutes(model, callerOf(run), async (route) => {
    const ask = deps.upstreams.adapterOf(route.upstream.protocol).transcription
    if (!ask) throw new UpstreamError('rejected', `${route.upstream.protocol} serves no transcriptions`)
    const context = { ...contextOf(route, run), files: filesOf(deps, run) }
    return { route, transcript: await sendTo(run, route, () => ask(request, context)) }
  })
  run.spent.add(shapeMicroUsd(route, { duration: transcript.billedSeconds ?? request.seconds }))
  return { is: 'settled', settlement: settlementOf(run, { output: transcriptOutput(transcript, request) }) }
}
