/**
 * The webhook workers: a job is a round of one webhook, whose due deliveries it takes from their rows. So a receiver
 * that hangs holds one place of a worker, and what else is due for it waits in Postgres.
 */
import type { Job, Processor } from 'bullmq'
import { DelayedError } from 'bullmq'
import type { WebhookId } from '../../shared/platform/ids.ts'
import { publicId } from '../../shared/platform/ids.ts'
import { retryWhileUnreachable } from '../../shared/platform/postgres/db.ts'
import type { WebhookJob } from '../../shared/queues.ts'
import { webhookRound } from '../../shared/queues.ts'
import type { ClaimedDelivery } from '../../shared/webhooks/deliveries.ts'
import { claimDelivery, dueWebhooks, failDelivery, finishDelivery } from '../../shared/webhooks/deliveries.ts'
import type { SecretBox } from '../../shared/webhooks/secrets.ts'
import { EVENT_HEADERS, createSecretBox, signedHeaders } from '../../shared/webhooks/secrets.ts'
import type { FailureNote } from '../../shared/webhooks/tries.ts'
import type { WorkerDeps } from '../deps.ts'
import type { FetchProblem } from '../fetching/failure.ts'
import { FetchFailed } from '../fetching/failure.ts'
import type { Schedule } from './schedule.ts'
import { SCHEDULE, retryAfterMsOf } from './schedule.ts'
import { createRoundPlaces } from './round-places.ts'

/** `schedule` is SCHEDULE if absent. */
export type WebhookDeps = Pick<WorkerDeps, 'config' | 'db' | 'log' | 'fetcher' | 'queues'> & { schedule?: Schedule }

/** How long a receiver has to answer, in ms (docs/webhooks.md#tries). */
const ANSWER_MS = 15_000

/** How long a claim holds, in seconds: longer than a try and the note of its outcome take. */
const LEASE_SECONDS = 60

/** How long to keep trying to record an outcome while Postgres is down, in ms. */
const NOTE_PATIENCE_MS = 28_000

/** How many deliveries of one webhook are on their way at once; the slow lane tries one in a round. */
const AT_ONCE = 4

/** How long a round begins further deliveries, in ms: then it is another webhook's turn. */
const ROUND_MS = 5000

/** The processor of the webhook queue. */
export function createWebhookProcessor(deps: WebhookDeps): Processor<WebhookJob> {
  const box = createSecretBox(deps.config)
  const places = createRoundPlaces(deps.config, deps.queues)
  return async (job: Job<WebhookJob>, token?: string, shutdown?: AbortSignal): Promise<void> => {
    const { webhookId, isSlow } = job.data
    await places.within(job, token, async () => {
      const until = isSlow ? 0 : performance.now() + ROUND_MS
      const tries = async (): Promise<void> => {
        do {
          const delivery = shutdown?.aborted ? null : await claimDelivery(deps.db, webhookId, LEASE_SECONDS)
          if (delivery === null || !(await deliver(deps, box, { ...delivery, isSlow }, shutdown ?? NEVER))) return
        } while (performance.now() < until)
      }
      await Promise.all(Array.from({ length: isSlow ? 1 : AT_ONCE }, tries))
    })
    await goOn(deps, job, webhookId, token)
  }
}

const NEVER = new AbortController().signal

/** Puts the job behind those of other webhooks if more is due. */
async function goOn(
  { db }: WebhookDeps,
  job: Job<WebhookJob>,
  webhookId: WebhookId,
  token: string | undefined,
): Promise<void> {
  const [due] = await dueWebhooks(db, 1, webhookId)
  if (!due) return
  const { data, priority } = webhookRound(due)
  await job.updateData(data)
  await job.changePriority({ priority })
  await job.moveToDelayed(Date.now(), token)
  throw new DelayedError()
}

/** One try, in the slow lane or not. @returns whether it was a success */
async function deliver(
  deps: WebhookDeps,
  box: SecretBox,
  delivery: ClaimedDelivery & { isSlow: boolean },
  shutdown: AbortSignal,
): Promise<boolean> {
  const { db, log } = deps
  const { isSlow } = delivery
  const begun = performance.now()
  const outcome = await attempt(deps, box, delivery, shutdown)
  const ms = Math.round(performance.now() - begun)
  const about = {
    webhook: publicId('webhook', delivery.webhookId),
    delivery: publicId('delivery', delivery.id),
    type: delivery.type,
    try: delivery.tries,
    answer: outcome.status,
    ms,
  }
  if (outcome.note === null) {
    await retryWhileUnreachable(NOTE_PATIENCE_MS, () =>
      finishDelivery(db, delivery, { status: outcome.status, ms, isSlow }),
    )
    log.info(about, 'event delivered')
    return true
  }
  const { note, start, retryAfterMs, isGone } = outcome
  const pauseMs =
    isGone && delivery.isCallback ? null : (deps.schedule ?? SCHEDULE).pauseMs(delivery.tries, retryAfterMs)
  const disabled = await retryWhileUnreachable(NOTE_PATIENCE_MS, () =>
    failDelivery(db, delivery, { status: outcome.status, ms, start, note, pauseMs, isGone }),
  )
  log.warn({ ...about, note, againInMs: pauseMs, disabled }, 'event not delivered')
  return false
}

type Outcome = {
  status: number | null
  /** How the answer began, of a failure. */
  start: string | null
  note: FailureNote | null
  retryAfterMs: number
  isGone: boolean
}

const unanswered = (note: FailureNote): Outcome => ({ status: null, start: null, note, retryAfterMs: 0, isGone: false })

/** Why there was no answer, by why nothing was fetched; what is not listed is `no_answer`. */
const NOTES: Partial<Record<FetchProblem, FailureNote>> = {
  refused: 'not_allowed',
  unresolved: 'unresolved',
  unchecked: 'unresolved',
  unreachable: 'unreachable',
  untrusted: 'untrusted',
  timeout: 'timeout',
}

async function attempt(
  { config, fetcher }: WebhookDeps,
  box: SecretBox,
  { webhookId, eventId, body, url, secret, previousSecret }: ClaimedDelivery,
  signal: AbortSignal,
): Promise<Outcome> {
  const current = box.open(webhookId, secret)
  if (current === null) return unanswered('no_secret')
  const previous = previousSecret && box.open(webhookId, previousSecret)
  const signed = { id: publicId('event', eventId), timestamp: Math.floor(Date.now() / 1000), body }
  try {
    const { status, start, isTaken, isGone, retryAfter } = await fetcher.post(url, {
      headers: { ...EVENT_HEADERS, ...signedHeaders(signed, previous ? [current, previous] : [current]) },
      body,
      limitMs: ANSWER_MS,
      allowPrivate: config.WEBHOOK_ALLOW_PRIVATE === 'on',
      signal,
    })
    const retryAfterMs = retryAfterMsOf(retryAfter, Date.now())
    return { status, start, note: isTaken ? null : 'refused', retryAfterMs, isGone }
  } catch (error) {
    return unanswered((error instanceof FetchFailed && NOTES[error.problem]) || 'no_answer')
  }
}

/** The most webhooks that one sweep enqueues. */
const SWEEP = 1000

/** Enqueues the webhooks that have deliveries due. One that has a job keeps it. @returns how many were due */
export async function enqueueDueWebhooks({ db, queues }: Pick<WorkerDeps, 'db' | 'queues'>): Promise<number> {
  const due = await dueWebhooks(db, SWEEP)
  if (due.length > 0) await queues.enqueueWebhooks(due)
  return due.length
}
