/** A moderation at its upstreams. */
import type { ModerationModel } from '../../shared/catalogue/catalogue.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { ModerationRequest } from '../../shared/requests/moderations.ts'
import type { WorkerDeps } from '../deps.ts'
import { shapeMicroUsd } from './costs.ts'
import { withReferences } from './references.ts'
import type { Outcome, Run } from './run-call.ts'
import { settlementOf } from './run-call.ts'
import { runOnce } from './run-once.ts'

/** Runs a moderation to its end. @throws UpstreamError when every try failed; ReferenceRefused for a bad picture */
export function runModeration(deps: WorkerDeps, model: ModerationModel, run: Run): Promise<Outcome> {
  const request = run.job.request as ModerationRequest
  return withReferences(deps, run, (references) =>
    runOnce(deps, model, run, {
      prepare: (route) => references.prepare(route),
      ask: (route, context) =>
        deps.upstreams.adapterFor(route, 'moderation')(references.requestFor(request, route), context),
      settle: (route, results) => {
        run.spent.add(shapeMicroUsd(route, {}))
        const output = JSON.stringify({ id: publicId('call', run.call.id), model: model.id, results })
        return settlementOf(run, { output })
      },
    }),
  )
}
