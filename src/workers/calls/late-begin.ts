/**
 * Chats whose begin is written only once they last (docs/architecture.md#begin). Most of a short call's cost is what it
 * writes; and a begin protects nothing that a chat has: it may be asked for twice, and its end is guarded.
 */
import type { Job } from 'bullmq'
import type { BegunCall, UnwrittenBegin } from '../../shared/calls/types.ts'
import type { Catalogue } from '../../shared/catalogue/catalogue.ts'
import { findModel } from '../../shared/catalogue/catalogue.ts'
import { priceVersionOf } from '../../shared/calls/price-versions.ts'
import type { ChatRequest } from '../../shared/calls/requests.ts'
import { failpoint } from '../../shared/infra/failpoints.ts'
import type { CallJob } from '../../shared/infra/queues.ts'

/** How long a chat runs before its begin is written, in ms. */
export const BEGIN_AFTER_MS = 500

/**
 * How old a job may be, in ms, by the clocks of two hosts: with BEGIN_AFTER_MS well below the lease of a queued call
 * (QUEUED_LEASE_SECONDS), after which the reconciler asks who has it.
 */
const FRESH_MS = 2000

/** How far its deadline must be, in ms: until its begin is written nobody looks at that. */
const ROOM_MS = 5000

/** Whether a job is of a chat that is answered whole. What a stream has shown its reader cannot be shown again. */
const isWholeChat = (job: Job<CallJob>): boolean =>
  job.name === 'chat' && job.data.request !== null && !(job.data.request as ChatRequest).stream

/** Whether an earlier run of this job, or of one that Redis has lost, may have asked an upstream without a begin. */
export const mayFollowUnwritten = (job: Job<CallJob>): boolean =>
  isWholeChat(job) && (job.data.again === true || job.stalledCounter > 0 || job.attemptsMade > 0)

/**
 * The call of a job whose begin can wait: the first run of a fresh job for a chat that is answered whole. What its row
 * says is taken from the job, and its price from the version of the catalogue that it was opened at.
 * @returns null where its begin must be written first.
 */
export function takeUnwritten(job: Job<CallJob>, catalogue: Catalogue): BegunCall | null {
  const { callId, accountId, row, deadlineAt } = job.data
  const now = Date.now()
  if (!row || !isWholeChat(job) || mayFollowUnwritten(job)) return null
  if (Math.abs(now - job.timestamp) > FRESH_MS || deadlineAt - now < ROOM_MS) return null
  const model = findModel(catalogue, row.model, 'chat')
  if (!model) return null
  failpoint('call.taken', callId)
  return {
    id: callId,
    accountId,
    model: row.model,
    modality: 'chat',
    price: model.price,
    charged: row.charged,
    estimate: row.estimate,
    costMicroUsd: null,
    attempt: 0,
    resumed: false,
    upstream: null,
    upstreamRef: null,
    replyTo: row.replyTo,
    startedAt: new Date(now),
    remainingMs: deadlineAt - now,
  }
}

/** The begin of a call that was taken without one. */
export class LateBegin {
  private readonly call: BegunCall
  private readonly takenAt = performance.now()
  private readonly timer: NodeJS.Timeout
  private writing: Promise<void> | undefined

  /** @param write is called with how long the call has run, in ms, once that is `afterMs`. Never throws. */
  constructor(call: BegunCall, afterMs: number, write: (ranMs: number) => Promise<void>) {
    this.call = call
    this.timer = setTimeout(() => {
      this.writing = write(this.ranMs)
    }, afterMs)
  }

  private get ranMs(): number {
    return performance.now() - this.takenAt
  }

  /**
   * To be called before the end of the call is written. From then on its begin is written, or never will be: an end
   * that names the attempt before a begin would find the one after it.
   * @returns what the end then says of the begin; null where it is written.
   */
  async stop(): Promise<UnwrittenBegin | null> {
    clearTimeout(this.timer)
    if (this.writing) await this.writing
    const { attempt, model, price } = this.call
    return attempt > 0 ? null : { ranMs: this.ranMs, priceVersion: priceVersionOf(model, price).id }
  }
}
