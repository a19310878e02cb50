/** Runs a chat at the models of its list (docs/api/models.md#lists). */
import type { ChatModel } from '../../shared/catalogue/catalogue.ts'
import { findModel } from '../../shared/catalogue/catalogue.ts'
import type { QueuedModel } from '../../shared/queues.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { WorkerDeps } from '../deps.ts'
import { NoKey, UpstreamError } from '../upstreams/adapter.ts'
import { MAX_COOLING_MS } from '../upstreams/routing.ts'
import { boundsOf } from './bounds.ts'
import type { Outcome, Run } from './run-call.ts'

/**
 * Asks a call's model, and where that may be, those after it in its list. A call that names none costs nothing here.
 * @param ask asks the model that the run has now; it pauses for `patienceMs` at most before a retry
 * @throws the last failure; NoKey with the earliest end of any of the models
 */
export async function atItsModels(
  deps: Pick<WorkerDeps, 'catalogue' | 'calls'>,
  model: ChatModel,
  run: Run,
  ask: (model: ChatModel, patienceMs?: number) => Promise<Outcome>,
): Promise<Outcome> {
  const { models = [] } = run.job
  // A run that takes over goes on with the model that was asked last.
  const from = models.findIndex((one) => one.model === model.id)
  if (from < 0) return ask(model)
  takeUp(run, model, models[from]!)
  let asked = model
  let readyAt = Infinity
  for (const next of [...models.slice(from + 1), null]) {
    try {
      // What is asked to wait longer waits no longer than for a key, where another model can be asked.
      return await ask(asked, next ? MAX_COOLING_MS : undefined)
    } catch (error) {
      if (error instanceof NoKey) readyAt = Math.min(readyAt, Date.now() + (error.readyInMs ?? Infinity))
      if (!next || !mayGoOn(run, error)) throw readyBy(readyAt, error)
      const catalogue = await deps.catalogue.at(run.job.catalogueVersion)
      const following = findModel(catalogue, next.model, 'chat')
      if (!following) throw readyBy(readyAt, error)
      if (!(await deps.calls.moveToModel(run.call, next))) return { is: 'lost' }
      takeUp(run, following, next)
      asked = following
    }
  }
  throw new TypeError('a list of models has an end')
}

/** The failure of a list: that of its last model, but no key with the earliest end of any (Unix ms). */
const readyBy = (readyAt: number, error: unknown): unknown =>
  error instanceof NoKey && readyAt < Infinity
    ? new NoKey(Math.max(0, readyAt - Date.now()), error.cause as UpstreamError | undefined)
    : error

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
