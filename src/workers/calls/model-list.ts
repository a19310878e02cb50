/** Runs a chat at the models of its list (docs/api/models.md#lists). */
import type { ChatModel } from '../../shared/catalogue/catalogue.ts'
import { findModel } from '../../shared/catalogue/catalogue.ts'
import type { QueuedModel } from '../../shared/queues.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { WorkerDeps } from '../deps.ts'
import { NoKey, UpstreamError } from '../upstreams/adapter.ts'
import { boundsOf } from './bounds.ts'
import type { Outcome, Run } from './run-call.ts'

/**
 * Asks a call's model, and where that may be, those after it in its list. A call that names none costs nothing here.
 * @param ask asks the model that the run has now
 * @throws the last failure
 */
export async function atItsModels(
  deps: Pick<WorkerDeps, 'catalogue' | 'calls'>,
  model: ChatModel,
  run: Run,
  ask: (model: ChatModel) => Promise<Outcome>,
): Promise<Outcome> {
  const { models = [] } = run.job
  // A run that takes over goes on with the model that was asked last.
  const from = models.findIndex((one) => one.model === model.id)
  if (from < 0) return ask(model)
  takeUp(run, model, models[from]!)
  let asked = model
  for (const next of [...models.slice(from + 1), null]) {
    try {
      return await ask(asked)
    } catch (error) {
      if (!next || !mayGoOn(run, error)) throw error
      const catalogue = await deps.catalogue.at(run.job.catalogueVersion)
      const following = findModel(catalogue, next.model, 'chat')
      if (!following) throw error
      if (!(await deps.calls.moveToModel(run.call, next))) return { is: 'lost' }
      takeUp(run, following, next)
      asked = following
    }
  }
  throw new TypeError('a list of models has an end')
}

/** From here on a run asks this model: at its price, within its limit of output, in its session. */
function takeUp(run: Run, model: ChatModel, { price, maxTokens, estimate, session }: QueuedModel): void {
  const request = { ...(run.job.request as ChatRequest), max_tokens: maxTokens }
  run.call = { ...run.call, model: model.id, price, estimate }
  run.job = { ...run.job, request, ...(session && { session }) }
  run.bounds = boundsOf(run.call, model, run.job)
}

/**
 * Whether the next model may be asked after a failure: its reader has nothing yet, and the request itself is not at
 * fault. A request that is too long, or whose content was refused, may suit another model.
 */
export function mayGoOn({ signal, hasBegun }: Pick<Run, 'signal' | 'hasBegun'>, error: unknown): boolean {
  if (!(error instanceof UpstreamError) || signal.aborted || hasBegun) return false
  if (error instanceof NoKey || error.fault !== null) return true
  // Without a status no upstream has refused it: none could be asked.
  if (error.kind === 'rejected') return error.status === null
  return error.kind !== 'late' && error.kind !== 'aborted'
}
