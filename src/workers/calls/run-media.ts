/**
 * An image or video call at its upstreams: at once, or as a task that is submitted, persisted, polled and collected.
 */
import type { MediaModel, Model, Route } from '../../shared/catalogue/catalogue.ts'
import { keysFor, withKey } from '../../shared/catalogue/catalogue.ts'
import type { CallTry } from '../../shared/calls/tries.ts'
import type { BegunCall, UpstreamRef } from '../../shared/calls/types.ts'
import { routesFor } from '../../shared/catalogue/route-rules.ts'
import type { MediaRequest } from '../../shared/requests/requests.ts'
import { failpoint } from '../../shared/platform/process/failpoints.ts'
import type { WorkerDeps } from '../deps.ts'
import { Cancelled, DeadlinePassed } from './held-calls.ts'
import type { Outcome, Run } from './run-call.ts'
import { aboutRun, callerOf, contextOf, filesOf, inSpan, sendTo, settlementOf, upstreamFailure } from './run-call.ts'
import { shapeMicroUsd } from './costs.ts'
import { withReferences } from './references.ts'
import { askedPictures, collectMedia } from './collect-media.ts'
import type { AskedPictures } from './collect-media.ts'
import { NotStored } from './results.ts'
import { FetchFailed } from '../fetching/failure.ts'
import type { Made, TaskMediaAdapter, TaskState } from '../upstreams/adapter.ts'
import { UpstreamError } from '../upstreams/adapter.ts'
import { quotedWords } from '../upstreams/quoted-words.ts'

/** A poll or a collection that failed is tried again after this, in ms; the call's deadline ends it. */
const FAILED_POLL_PAUSE_MS = 3000

/**
 * How long a task that was accepted is asked for although its upstream refuses, in ms: while a key is changed, or until
 * its file is available. It was billed.
 */
const REFUSED_MS = 60_000

/** What an upstream has accepted, and what that costs there by the catalogue, in micro-dollars. */
type Submitted = { route: Route; cost: number | null } & ({ done: Made } | { ref: UpstreamRef })

/** Runs a media call to its end, or to its next poll. @throws UpstreamError when it failed finally. */
export async function runMedia(deps: WorkerDeps, model: MediaModel, run: Run): Promise<Outcome> {
  const { held, call } = run
  // A deletion ends a video here only while no upstream can have it.
  held.onDisconnect = () => {
    if (!run.maybeSent && !call.resumed) held.ending.abort(new Cancelled())
  }
  if (call.upstreamRef) return continueTask(deps, model, run, call.upstreamRef)
  if (call.isDeleted && !call.resumed)
    return upstreamFailure('The video was deleted before it was sent to an upstream.')
  const submitted = call.resumed ? await findLost(deps, model, run) : await submit(deps, model, run)
  // A second submission could be a second bill: a task that cannot be found again is refunded.
  if (!submitted) return upstreamFailure('The worker was lost while the upstream may have had the request.')
  const { route, cost } = submitted
  const { name: upstream, key: upstreamKey } = route.upstream
  const costing = { ...run, call: { ...run.call, upstream, upstreamKey, costMicroUsd: cost } }
  if ('done' in submitted) {
    return collectMedia(deps, model, costing, { route, made: submitted.done, asked: askedOf(model, run) })
  }
  const ref = { ...submitted.ref, asked: askedOf(model, run), ...(run.tries.length > 1 && { tries: run.tries }) }
  if (!(await persist(deps, costing, route, { ref }))) return { is: 'lost' }
  return continueTask(deps, model, { ...costing, call: { ...costing.call, upstreamRef: ref } }, ref)
}

/** The tries of the submission of a task, as far as they are stored with it. */
export const triesOf = ({ upstreamRef }: Pick<BegunCall, 'upstreamRef'>): CallTry[] =>
  (upstreamRef as { tries?: CallTry[] } | null)?.tries ?? []

/** What of an image's request decides its end; of videos nothing does. */
const askedOf = ({ modality }: MediaModel, { job }: Run): AskedPictures | undefined =>
  modality === 'image' ? askedPictures(job.request as MediaRequest) : undefined

async function submit(deps: WorkerDeps, model: MediaModel, run: Run): Promise<Submitted> {
  const request = run.job.request as MediaRequest
  const adapterOf = (route: Route) => deps.upstreams.adapterFor(route, model.modality)
  return withReferences(deps, run, (references) => {
    const prepare = (route: Route) => references.prepare(route, adapterOf(route))
    const routes = routesFor(model.routes, request)
    return deps.upstreams.tryRoutes({ ...model, routes }, { ...callerOf(run), prepare }, async (route) => {
      const adapter = adapterOf(route)
      const cost = shapeMicroUsd(route, request, request.n)
      const sent = references.requestFor(request, route, adapter)
      const uploads = references.uploadsFor(request, route, adapter)
      const context = { ...contextOf(route, run), ...uploads, files: filesOf(deps, run) }
      return sendTo(run, route, async () =>
        adapter.kind === 'direct'
          ? { route, cost, done: await adapter.generate(sent, context) }
          : { route, cost, ref: await adapter.submit(sent, context) },
      ).catch((error: unknown) => {
        attachQuote(error, route, run)
        throw error
      })
    })
  })
}

/**
 * An edit of uploaded pictures fails in the words of its upstream, which speaks the API of the request: they explain
 * what is wrong with the pictures, such as the size of a mask.
 */
function attachQuote(error: unknown, route: Route, { call, job }: Run): void {
  const request = job.request as MediaRequest
  if (error instanceof UpstreamError && request.images)
    error.quoted = quotedWords(error, route, { request, model: call.model })
}

async function findLost(deps: WorkerDeps, model: MediaModel, run: Run): Promise<Submitted | null> {
  const request = run.job.request as MediaRequest
  for (const route of model.routes.flatMap((one) => keysFor(one).map((key) => withKey(one, key)))) {
    const adapter = deps.upstreams.adapterFor(route, model.modality)
    if (adapter.kind !== 'task' || !adapter.find) continue
    const ref = await adapter.find(request, contextOf(route, run), run.call.startedAt)
    if (ref) return { route, ref, cost: shapeMicroUsd(route, request, request.n) }
  }
  return null
}

/** A task that goes on, how far it is in percent where that is known, and when to ask for it again. */
type Polled = { ref: UpstreamRef; progress?: number | null; pollAfterMs: number }

/** Stores the reference; no run has the call in a pause until the next poll. False: another attempt has the call. */
const persist = (
  { calls }: WorkerDeps,
  { call }: Run,
  route: Route,
  { pollAfterMs, ref, progress }: Omit<Polled, 'pollAfterMs'> & Partial<Polled>,
): Promise<boolean> =>
  calls.submitted(
    call.id,
    call.attempt,
    { upstream: route.upstream.name, upstreamKey: route.upstream.key, ref, costMicroUsd: call.costMicroUsd, progress },
    pollAfterMs,
  )

/** Where the task of a call is: at the key that has made it, however that stands. Null if it is not configured. */
export function routeOfTask(
  { routes }: Pick<Model, 'routes'>,
  { call }: { call: Pick<BegunCall, 'upstream' | 'upstreamKey'> },
): Route | null {
  const route = routes.find(({ upstream }) => upstream.name === call.upstream)
  // Without a name: submitted by a release that knew one key.
  const key = route?.upstream.keys.find(({ name }) => name === (call.upstreamKey ?? route.upstream.key))
  return route && key ? withKey(route, key) : null
}

/** One poll of a submitted task. */
async function continueTask(deps: WorkerDeps, model: MediaModel, run: Run, ref: UpstreamRef): Promise<Outcome> {
  const route = routeOfTask(model, run)
  if (!route) return upstreamFailure('The upstream of this call is no longer configured.')
  const adapter = deps.upstreams.adapterFor(route, model.modality) as TaskMediaAdapter
  try {
    failpoint('task.polling', run.call.id)
    const task = await inSpan(run, route, 'poll', () => adapter.check(ref, contextOf(route, run)))
    failpoint('task.polled', run.call.id)
    if (task.state === 'failed') {
      // Whether a failed task is billed is up to each upstream, and none reports it.
      run.spent.add(null)
      deps.log.warn({ ...aboutRun(run), upstream: route.upstream.name, err: task.error }, 'task failed')
      return upstreamFailure('The upstream could not produce the result.')
    }
    if (run.call.isDeleted) return await endDeleted(deps, model, run, route, task)
    if (task.state === 'succeeded') {
      const { asked } = ref as { asked?: AskedPictures }
      return await collectMedia(deps, model, run, { route, made: task.made, asked })
    }
    const { refusedSince: _refused, ...again } = ref
    if (task.progress !== null)
      await deps.publisher.update(run.call.replyTo, run.call.id, { type: 'progress', progress: task.progress })
    return await pending(deps, run, route, { ...task, ref: again })
  } catch (error) {
    if (run.signal.reason instanceof DeadlinePassed) await cancelTask(deps, model, run)
    if (run.signal.aborted) throw error
    // Also by an upstream that knows it no more, because an earlier run has cancelled it there.
    if (run.call.isDeleted && isRefusal(error)) return endDeleted(deps, model, run, route, null)
    const refusedSince = typeof ref.refusedSince === 'number' ? ref.refusedSince : Date.now()
    const isGivenUp = isRefusal(error) && Date.now() - refusedSince >= REFUSED_MS
    if (isGivenUp || !mayPollAgain(error)) {
      run.spent.is(run.call.costMicroUsd)
      await cancelTask(deps, model, run)
      throw error
    }
    deps.log.warn({ ...aboutRun(run), err: error }, 'poll failed')
    const again = isRefusal(error) ? { ...ref, refusedSince } : ref
    return pending(deps, run, route, { ref: again, pollAfterMs: FAILED_POLL_PAUSE_MS })
  }
}

/** Whether a task, or its file, was refused by a status: another one may come in a moment. */
const isRefusal = (error: unknown): boolean =>
  error instanceof UpstreamError &&
  (error.kind === 'rejected' || error.kind === 'not_served') &&
  (error.status !== null || (error.cause instanceof FetchFailed && error.cause.problem === 'status'))

/** Polling again costs nothing after any failure, unless the same answer would come again. */
const mayPollAgain = (error: unknown): boolean =>
  error instanceof NotStored || isRefusal(error) || (error instanceof UpstreamError && error.kind !== 'rejected')

async function pending(deps: WorkerDeps, run: Run, route: Route, polled: Polled): Promise<Outcome> {
  const againAfterMs = Math.min(polled.pollAfterMs, Math.max(0, run.call.remainingMs))
  const isOurs = await persist(deps, run, route, { ...polled, pollAfterMs: againAfterMs })
  return isOurs ? { is: 'pending', againAfterMs } : { is: 'lost' }
}

/**
 * Ends a video that its owner has deleted while an upstream had it: the task is cancelled, and paid in full. No
 * upstream states that an accepted task is not billed.
 */
async function endDeleted(
  deps: WorkerDeps,
  model: MediaModel,
  run: Run,
  route: Route,
  task: TaskState | null,
): Promise<Outcome> {
  if (task?.state === 'succeeded') run.spent.is(task.made.costMicroUsd ?? run.call.costMicroUsd)
  else {
    run.spent.add(null)
    await cancelTask(deps, model, run)
    failpoint('task.cancelled', run.call.id)
  }
  return { is: 'settled', settlement: settlementOf(run, { upstream: route.upstream.name }) }
}

/** How long cancelling a task at its upstream may take, in ms. */
const CANCEL_MS = 5000

/** Asks the upstream to stop a task whose call has ended. Failures do not matter: the credits are refunded anyway. */
export async function cancelTask(
  deps: Pick<WorkerDeps, 'upstreams' | 'log'>,
  model: Model,
  run: Pick<Run, 'call' | 'job' | 'traceparent'>,
): Promise<void> {
  const route = routeOfTask(model, run)
  if (!route || !run.call.upstreamRef) return
  if (model.modality !== 'image' && model.modality !== 'video') return
  const adapter = deps.upstreams.adapterFor(route, model.modality)
  if (adapter.kind !== 'task') return
  const context = contextOf(route, { ...run, signal: AbortSignal.timeout(CANCEL_MS) })
  await adapter
    .cancel(run.call.upstreamRef, context)
    .catch((error: unknown) => deps.log.warn({ ...aboutRun(run), err: error }, 'task not cancelled'))
}
