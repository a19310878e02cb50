/**
 * A call's job: begin → upstream → settle or refund → reply. The only place where a worker ends calls.
 *
 * The queue may run a job twice, late, or after its call has ended; the verbs decide, never the job. A failed job
 * moves no credits.
 */
import type { Job } from 'bullmq'
import { WaitingError } from 'bullmq'
import { areUploaded, dropUploads } from '../../shared/requests/uploads.ts'
import type { Answer, LongAnswer } from '../../shared/calls/stored-answers.ts'
import type { BegunCall, Ended, RefundGuard } from '../../shared/calls/types.ts'
import { readState } from '../../shared/reports/call-records.ts'
import type { Catalogue, Model, ModelOf } from '../../shared/catalogue/catalogue.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import { findModel } from '../../shared/catalogue/catalogue.ts'
import { RUNNING_LEASE_SECONDS } from '../../shared/terms/lifecycle.ts'
import { CANCELLED_UNSENT } from '../../shared/calls/types.ts'
import { UnusableVersion } from '../../shared/catalogue/holder.ts'
import { isUnreachable, retryWhileUnreachable } from '../../shared/platform/postgres/db.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import { ApiError, gatewayError } from '../../shared/platform/errors.ts'
import { publicId } from '../../shared/platform/ids.ts'
import type { CallJob } from '../../shared/queues.ts'
import { failpoint } from '../../shared/platform/process/failpoints.ts'
import { processing } from '../../shared/platform/telemetry/telemetry.ts'
import type { SpanEnd, Telemetry } from '../../shared/platform/telemetry/telemetry.ts'
import type { WorkerDeps } from '../deps.ts'
import { AnswerRoom } from './answer-room.ts'
import { boundsOf } from './bounds.ts'
import { BEGIN_PATIENCE_MS, beginCall, comeBack, leaveToReader, giveUp, isGivenUp } from './begin.ts'
import { Spending } from './costs.ts'
import { Cancelled, DeadlinePassed, Requeued, TakenOver } from './held-calls.ts'
import type { Outcome, Run } from './run-call.ts'
import { aboutRun, failedAt, isUnsent, upstreamFailure } from './run-call.ts'
import { runChat } from './run-chat.ts'
import { runEmbedding } from './run-embedding.ts'
import { cancelTask, runMedia, triesOf } from './run-media.ts'
import { runModeration } from './run-moderation.ts'
import { runRerank } from './run-rerank.ts'
import { runSpeech } from './run-speech.ts'
import { runTranscription } from './run-transcription.ts'
import { ReferenceRefused } from './references.ts'
import { UpstreamError } from '../upstreams/adapter.ts'

/** How long a chat runs before its start is published, in ms: short chats need no updates. */
const UPDATE_AFTER_MS = 10

/** The processor of the queues of calls. */
export function createCallProcessor(deps: WorkerDeps) {
  // With a third parameter BullMQ would make an AbortController for each job.
  return (job: Job<CallJob>, token?: string): Promise<void> => {
    const handed = { job, token, traceparent: job.data.traceparent }
    return deps.places.within(job, token, () =>
      deps.telemetry ? processTraced(deps, deps.telemetry, handed) : processJob(deps, handed),
    )
  }
}

async function processTraced(deps: WorkerDeps, telemetry: Telemetry, handed: Handed): Promise<void> {
  const { job, traceparent } = handed
  const span = telemetry.begin('consumer', `process ${job.name}`, traceparent, {
    ...processing(job.queueName),
    'tollgate.call': publicId('call', job.data.callId),
  })
  let how: SpanEnd | undefined
  try {
    await processJob(deps, { ...handed, traceparent: span.traceparent }, (outcome) => {
      how = spanEnd(outcome)
    })
  } finally {
    span.end(how)
  }
}

/** What the queue hands over, and the trace context that it is processed in. */
type Handed = { job: Job<CallJob>; token: string | undefined; traceparent: string | undefined }

const spanEnd = (outcome: Outcome): SpanEnd => ({
  attributes: { 'tollgate.outcome': outcome.is },
  failure: outcome.is === 'failed' ? outcome.error.type : undefined,
})

/** How long a job waits whose call this process works on already, in ms. */
const HELD_PAUSE_MS = RUNNING_LEASE_SECONDS * 1000

/** @param report gets the outcome, before the outcome is written */
async function processJob(deps: WorkerDeps, handed: Handed, report?: (outcome: Outcome) => void): Promise<void> {
  const { job, token } = handed
  const catalogue = currentCatalogueOf(deps, job) ?? (await catalogueOf(deps, job, token))
  if (!catalogue) return publishEnd(deps, job.data)
  const held = deps.held.hold(job.data.callId)
  if (!held) return comeBack(job, token, HELD_PAUSE_MS)
  const room = new AnswerRoom(deps.answers, job.data.accountId)
  try {
    const call = await beginCall(deps, job, token)
    if (!call) {
      deps.queues.requests.drop(job.data).catch(reportDefect)
      return await publishEnd(deps, job.data)
    }
    deps.held.begun(held, call)
    await leaveToReader(deps, call, job, token)
    const model = findModel(catalogue, call.model, call.modality)
    const outcome = isGivenUp(job)
      ? await giveUp(deps, model, call, job)
      : await work(deps, model, { call, held }, { ...handed, room })
    report?.(outcome)
    await finish(deps, call, handed, outcome)
    failpoint('job.finishing', call.id)
  } catch (error) {
    if (!(error instanceof Requeued)) throw error
    await job.moveToWait(token)
    throw new WaitingError()
  } finally {
    room.close()
    deps.held.release(held)
  }
}

/** The current catalogue, at which nearly every call was opened; null if this one was not. */
function currentCatalogueOf({ catalogue }: WorkerDeps, { data: { catalogueVersion } }: Job<CallJob>): Catalogue | null {
  return catalogueVersion === catalogue.version() ? catalogue.current() : null
}

/** How long a job waits for a worker that can use the version of its call, in ms. */
const UNUSABLE_PAUSE_MS = 1000

/**
 * The catalogue that the call was opened at, before it is begun: whichever version this process has loaded since, the
 * call is served by that one. Where this release cannot use the version, another worker perhaps can, until the call has
 * ended; then null.
 */
async function catalogueOf(deps: WorkerDeps, job: Job<CallJob>, token?: string): Promise<Catalogue | null> {
  const { callId, catalogueVersion } = job.data
  try {
    return await retryWhileUnreachable(BEGIN_PATIENCE_MS, () => deps.catalogue.at(catalogueVersion))
  } catch (error) {
    if (!(error instanceof UnusableVersion || error instanceof ApiError)) throw error
    if ((await readState(deps.db, callId))?.state !== 'open') return null
    deps.log.warn({ call: publicId('call', callId), catalogueVersion, err: error }, 'call left to another worker')
    return comeBack(job, token, UNUSABLE_PAUSE_MS)
  }
}

/** The call had already ended: the waiting request may have missed its reply. */
async function publishEnd({ db, publisher }: WorkerDeps, { callId }: CallJob): Promise<void> {
  const state = await readState(db, callId)
  if (state?.state === 'ended' || state?.state === 'passing') await publisher.ended(state)
}

/** Runs a begun call under its deadline. Every expected failure is an outcome; a defect is one too, and is logged. */
async function work(
  deps: WorkerDeps,
  model: Model | null,
  { call, held }: Pick<Run, 'call' | 'held'>,
  { job, traceparent, room }: Handed & { room: AnswerRoom },
): Promise<Outcome> {
  const { request, written } = await deps.queues.requests.read(job.data)
  const { ending } = held
  // What an interrupted attempt has cost is unknown.
  const spent = new Spending(call.resumed ? null : 0)
  const run: Run = {
    call,
    job: { ...job.data, request },
    written,
    held,
    signal: ending.signal,
    maybeSent: false,
    hasBegun: false,
    upstream: call.upstream,
    key: call.upstreamKey,
    tries: triesOf(call),
    bounds: boundsOf(call, model, { ...job.data, request }),
    spent,
    room,
    traceparent,
    telemetry: deps.telemetry,
  }
  const deadline = setTimeout(() => ending.abort(new DeadlinePassed()), Math.max(0, call.remainingMs))
  const update = publishBegun(deps, call)
  try {
    const outcome = await askUpstreams(deps, model, run).catch((error: unknown) => outcomeOf(deps, run, error))
    return ended(run, outcome)
  } finally {
    clearTimeout(deadline)
    clearTimeout(update)
  }
}

/** An outcome with what is known of the tries. */
function ended(run: Run, outcome: Outcome): Outcome {
  const { key: upstreamKey, tries: all, spent, upstream } = run
  const tries = all.length > 1 || all.some(({ error }) => error !== null) ? all : undefined
  if (outcome.is === 'failed') return { ...outcome, costMicroUsd: spent.total, upstream, upstreamKey, tries }
  if (outcome.is !== 'settled') return outcome
  return { ...outcome, settlement: { ...outcome.settlement, upstreamKey, tries, session: run.session } }
}

async function askUpstreams(deps: WorkerDeps, model: Model | null, run: Run): Promise<Outcome> {
  const { call } = run
  if (!model) return upstreamFailure('The model is no longer offered.')
  if (!call.upstreamRef && !(await isWhole(deps, run))) {
    return upstreamFailure('The request was lost before it was sent to an upstream.')
  }
  if (call.remainingMs <= 0) return tooLate(deps, model, run)
  return (RUNNERS[model.modality] as Runner<Model>)(deps, model, run)
}

type Runner<M> = (deps: WorkerDeps, model: M, run: Run) => Promise<Outcome>

const RUNNERS: { [M in Modality]: Runner<ModelOf<M>> } = {
  chat: runChat,
  image: runMedia,
  video: runMedia,
  embedding: runEmbedding,
  moderation: runModeration,
  rerank: runRerank,
  speech: runSpeech,
  transcription: runTranscription,
}

/** Whether the request and the files of a job still exist. */
const isWhole = async ({ db }: WorkerDeps, { job, call }: Run): Promise<boolean> =>
  job.request !== null && (!job.files || (await areUploaded(db, call.id, job.files)))

/**
 * Publishes that a call has begun: for media at once, before their progress. Returns the timer of a later publication.
 */
function publishBegun({ publisher }: WorkerDeps, call: BegunCall): NodeJS.Timeout | undefined {
  if (call.resumed) return undefined
  const publish = (): void => {
    publisher.begun(call).catch(reportDefect)
  }
  if (call.modality === 'chat') return setTimeout(publish, UPDATE_AFTER_MS)
  publish()
}

/** A job that comes past its call's deadline is refunded unread; a task that runs on is cancelled. */
async function tooLate(deps: WorkerDeps, model: Model, run: Run): Promise<Outcome> {
  if (!run.call.upstreamRef) return upstreamFailure('The call did not start in time.')
  await cancelTask(deps, model, run)
  return upstreamFailure('The upstream did not finish in time.')
}

async function outcomeOf({ calls, log }: WorkerDeps, run: Run, error: unknown): Promise<Outcome> {
  const { call, signal } = run
  if (signal.reason instanceof TakenOver) return { is: 'lost' }
  if (signal.reason instanceof Requeued) {
    await (isUnsent(run) ? calls.requeue(call.id, call.attempt) : calls.release(call.id, call.attempt))
    throw signal.reason
  }
  if (signal.reason instanceof DeadlinePassed) return upstreamFailure('The upstream did not answer in time.')
  if (signal.reason instanceof Cancelled) return { is: 'failed', error: CANCELLED_UNSENT }
  if (error instanceof ReferenceRefused) return upstreamFailure(error.message)
  if (error instanceof UpstreamError) {
    log.warn({ ...aboutRun(run), kind: error.kind, err: error }, 'upstream failed')
    return failedAt(error, run)
  }
  // Postgres is unreachable: the queue runs the job again.
  if (isUnreachable(error)) throw error
  log.error({ ...aboutRun(run), err: error }, 'defect')
  return {
    is: 'failed',
    error: gatewayError(
      'internal_error',
      'Something went wrong on our side. The credits charged for this call were refunded.',
    ),
  }
}

/** Writes the outcome, then publishes it: never the other way round. */
async function finish(deps: WorkerDeps, call: BegunCall, { job, token }: Handed, outcome: Outcome): Promise<void> {
  switch (outcome.is) {
    case 'lost':
      return publishEnd(deps, job.data)
    case 'pending':
      // From here on only the reference in the row is needed, so the prompt is removed from Redis.
      if (job.data.request !== null) {
        await forget(deps, job.data)
        await job.updateData({ ...job.data, request: null })
      }
      return comeBack(job, token, outcome.againAfterMs)
    case 'settled':
      return publishOutcome(deps, job.data, await deps.calls.settle(call.id, call.modality, outcome.settlement))
    case 'failed':
      return publishOutcome(deps, job.data, await deps.calls.refund(call.id, outcome.error, refundOf(call, outcome)))
  }
}

const refundOf = (
  { attempt }: BegunCall,
  { costMicroUsd, upstream, upstreamKey, tries }: Outcome & { is: 'failed' },
): RefundGuard => ({ attempt, costMicroUsd, upstream, upstreamKey, tries })

/** Removes the request and the files of a job. */
async function forget({ db, queues }: WorkerDeps, job: CallJob): Promise<void> {
  await queues.requests.drop(job)
  if (job.files) await dropUploads(db, job.callId)
}

async function publishOutcome(deps: WorkerDeps, job: CallJob, ended: Ended<Answer | LongAnswer> | null): Promise<void> {
  forget(deps, job).catch(reportDefect)
  if (!ended) return publishEnd(deps, job)
  const { requestId, traceparent } = job
  const { callId, accountId, status } = ended
  const [call, account] = [publicId('call', callId), publicId('account', accountId)]
  deps.log.info({ call, account, requestId, traceparent, status }, 'call ended')
  // The end of the job follows in the same write.
  deps.publisher.ended(ended).catch(reportDefect)
}
