/** A call for a transcription at its upstreams, priced by the measured seconds, not by the upstream's report. */
import type { TranscriptionModel } from '../../shared/catalogue/catalogue.ts'
import type { TranscriptionRequest } from '../../shared/requests/transcriptions.ts'
import type { WorkerDeps } from '../deps.ts'
import { shapeMicroUsd } from './costs.ts'
import type { Outcome, Run } from './run-call.ts'
import { filesOf, settlementOf } from './run-call.ts'
import { runOnce } from './run-once.ts'
import { transcriptOutput } from './transcripts.ts'

/** Runs a call for a transcription to its end. @throws UpstreamError when every try failed */
export function runTranscription(deps: WorkerDeps, model: TranscriptionModel, run: Run): Promise<Outcome> {
  const request = run.job.request as TranscriptionRequest
  return runOnce(deps, model, run, {
    ask: (route, context) =>
      deps.upstreams.adapterFor(route, 'transcription')(request, { ...context, files: filesOf(deps, run) }),
    settle: (route, transcript) => {
      run.spent.add(shapeMicroUsd(route, { duration: transcript.billedSeconds ?? request.seconds }))
      return settlementOf(run, { output: transcriptOutput(transcript, request) })
    },
  })
}
