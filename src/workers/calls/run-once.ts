/**
 * A call over one request to an upstream, which is not sent again if it may have arrived: a second one could be a
 * second bill.
 */
import type { Model, Route } from '../../shared/catalogue/catalogue.ts'
import type { Settlement } from '../../shared/calls/types.ts'
import type { WorkerDeps } from '../deps.ts'
import type { UpstreamContext } from '../upstreams/adapter.ts'
import type { RouteCaller } from '../upstreams/registry.ts'
import type { Outcome, Run } from './run-call.ts'
import { callerOf, contextOf, sendTo, upstreamFailure } from './run-call.ts'

/** How an upstream is asked. `prepare`: what is done before its place is taken. `settle`: what its answer comes to. */
type Once<Answer> = {
  prepare?: RouteCaller['prepare']
  ask: (route: Route, context: UpstreamContext) => Promise<Answer>
  settle: (route: Route, answer: Answer) => Settlement | Promise<Settlement>
}

/** Runs the call to its end. @throws UpstreamError when every try failed */
export async function runOnce<Answer>(
  deps: Pick<WorkerDeps, 'upstreams'>,
  model: Model,
  run: Run,
  { prepare, ask, settle }: Once<Answer>,
): Promise<Outcome> {
  if (run.call.resumed) return upstreamFailure('The worker was lost while the upstream may have had the request.')
  const caller = { ...callerOf(run), ...(prepare && { prepare }) }
  const { route, answer } = await deps.upstreams.tryRoutes(model, caller, async (tried) => {
    return { route: tried, answer: await sendTo(run, tried, () => ask(tried, contextOf(tried, run))) }
  })
  return { is: 'settled', settlement: await settle(route, answer) }
}
