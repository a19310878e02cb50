/**
 * The places of a queue in this process, shared out among accounts (`platform/places.ts`). A job that may have none now
 * waits in Redis, not in a place that others need.
 */
import type { Job, Queue } from 'bullmq'
import { DelayedError, Job as QueueJob } from 'bullmq'
import type { AccountId } from '../shared/platform/ids.ts'
import { Places } from '../shared/platform/places.ts'
import type { Waiting } from '../shared/platform/places.ts'
import { reportDefect } from '../shared/platform/process/defects.ts'
import type { ConfigWith } from '../shared/platform/config/config.ts'
import { jobsAtOnce } from '../shared/platform/config/config.ts'
import type { Queues } from '../shared/queues.ts'
import type { Modality, QUEUES } from '../shared/terms/kinds.ts'
import { mapKinds } from '../shared/terms/kinds.ts'

/**
 * When a parked job comes back by itself, in ms: its account's places may be in a process that has died, or be free in
 * another one by now. The more jobs wait, the later they come back, so that they do not all come at once.
 */
const BACK_AFTER_MS = 5000
const EACH_MS = 10

/** Places for the jobs of a queue in this process, none taken yet. */
export class QueuePlaces {
  private readonly places: Places
  private readonly total: number
  private readonly queue: () => Queue
  private readonly parked = new Map<string, () => void>()

  /** @param share what one account may have of `total`: above 0, at most 1 */
  constructor(share: number, total: number, queue: () => Queue) {
    this.places = new Places(share)
    this.total = total
    this.queue = queue
  }

  /**
   * Does the work of a job in a place of its account.
   * @throws DelayedError if no place is free, or the account has its share: the job is parked, comes back when it
   * may have a place here, and by itself some seconds later
   */
  async within(job: Job, token: string | undefined, account: AccountId, work: () => Promise<void>): Promise<void> {
    // It has come back, one way or another.
    this.parked.get(job.id!)?.()
    if (!this.places.take(account, this.total)) {
      // It may have been called for a place that another account can have.
      this.callNext()
      return this.park(job, token, account)
    }
    try {
      await work()
    } finally {
      this.places.give(account)
      this.callNext()
    }
  }

  /**
   * Puts a job aside. It waits from before it is moved, so that a place that is given back meanwhile is not missed;
   * called before it is there, it is fetched as soon as it is.
   */
  private async park(job: Job, token: string | undefined, account: AccountId): Promise<never> {
    const id = job.id!
    const backAfterMs = BACK_AFTER_MS + EACH_MS * this.parked.size
    const state = { isMoved: false, isCalled: false }
    const forget = (): void => {
      clearTimeout(timer)
      this.places.leave(waiting)
      if (this.parked.get(id) === forget) this.parked.delete(id)
    }
    const enter = (): void => {
      state.isCalled = true
      if (!state.isMoved) return
      forget()
      this.fetch(id).catch(reportDefect)
    }
    const waiting: Waiting = { account, total: this.total, enter }
    const timer = setTimeout(forget, backAfterMs).unref()
    this.parked.set(id, forget)
    this.places.wait(waiting)
    try {
      await job.moveToDelayed(Date.now() + backAfterMs, token)
    } catch (error) {
      forget()
      if (state.isCalled) this.callNext()
      throw error
    }
    state.isMoved = true
    if (state.isCalled) enter()
    throw new DelayedError()
  }

  /** Brings a parked job back now. If it is no longer parked, or Redis is unreachable, the next one gets the place. */
  private async fetch(id: string): Promise<void> {
    try {
      await new QueueJob(this.queue(), '', null, undefined, id).promote()
    } catch {
      this.callNext()
    }
  }

  private callNext(): void {
    this.places.next()?.enter()
  }
}

/** What `createJobPlaces` returns. */
export type JobPlaces = ReturnType<typeof createJobPlaces>

/** The field of a job that is needed. */
type Placed = { accountId: AccountId }

/** The places of the queues of calls in this process, none taken yet (docs/operations.md#scale). */
export function createJobPlaces(config: ConfigWith<typeof QUEUES>, queues: Pick<Queues, 'queue'>) {
  const places = mapKinds(
    (_kind, modality) =>
      new QueuePlaces(config.ACCOUNT_SHARE, jobsAtOnce(config, modality), () => queues.queue(modality)),
  )
  return {
    /**
     * Does the work of a job in a place of its account.
     * @throws DelayedError if the account has its share: the job is parked, comes back when one of the account's
     * places here is free, and by itself some seconds later
     */
    within: (job: Job<Placed>, token: string | undefined, work: () => Promise<void>): Promise<void> =>
      places[job.queueName as Modality].within(job, token, job.data.accountId, work),
  }
}
