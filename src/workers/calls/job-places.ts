/**
 * The places of this process' queues, shared out among accounts (`src/workers/fair-places.ts`). A job whose account has
 * its share here waits in Redis, not in a place that others need (docs/operations.md#scale).
 */
import type { Job, Queue } from 'bullmq'
import { DelayedError, Job as QueueJob } from 'bullmq'
import type { Config } from '../../shared/platform/config/config.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import type { Queues } from '../../shared/queues.ts'
import type { Modality } from '../../shared/calls/lifecycle.ts'
import { Places } from '../fair-places.ts'
import type { Waiting } from '../fair-places.ts'

/**
 * When a parked job comes back by itself, in ms: its account's places may be in a process that has died, or be free in
 * another one by now. The more jobs wait, the later they come back, so that they do not all come at once.
 */
const BACK_AFTER_MS = 5000
const EACH_MS = 10

/** What `createJobPlaces` returns. */
export type JobPlaces = ReturnType<typeof createJobPlaces>

/** What a job has to say. */
type Placed = { accountId: AccountId }

type Settings = Pick<
  Config,
  | 'ACCOUNT_SHARE'
  | 'CHAT_CONCURRENCY'
  | 'IMAGE_CONCURRENCY'
  | 'VIDEO_CONCURRENCY'
  | 'EMBEDDING_CONCURRENCY'
  | 'MODERATION_CONCURRENCY'
  | 'RERANK_CONCURRENCY'
  | 'SPEECH_CONCURRENCY'
  | 'TRANSCRIPTION_CONCURRENCY'
>

/** The places of this process, none taken yet. */
export function createJobPlaces(config: Settings, queues: Pick<Queues, 'queue'>) {
  const placesOf = (modality: Modality, total: number) =>
    new QueuePlaces(config.ACCOUNT_SHARE, total, () => queues.queue(modality))
  const places: Record<Modality, QueuePlaces> = {
    chat: placesOf('chat', config.CHAT_CONCURRENCY),
    image: placesOf('image', config.IMAGE_CONCURRENCY),
    video: placesOf('video', config.VIDEO_CONCURRENCY),
    embedding: placesOf('embedding', config.EMBEDDING_CONCURRENCY),
    moderation: placesOf('moderation', config.MODERATION_CONCURRENCY),
    rerank: placesOf('rerank', config.RERANK_CONCURRENCY),
    speech: placesOf('speech', config.SPEECH_CONCURRENCY),
    transcription: placesOf('transcription', config.TRANSCRIPTION_CONCURRENCY),
  }
  return {
    /**
     * Does the work of a job in a place of its account.
     * @throws DelayedError where the account has its share: the job is parked, comes back when one of the account's
     * places here is free, and by itself some seconds later
     */
    within: (job: Job<Placed>, token: string | undefined, work: () => Promise<void>): Promise<void> =>
      places[job.queueName as Modality].within(job, token, work),
  }
}

class QueuePlaces {
  private readonly places: Places
  private readonly total: number
  private readonly queue: () => Queue
  private readonly parked = new Map<string, () => void>()

  constructor(share: number, total: number, queue: () => Queue) {
    this.places = new Places(share)
    this.total = total
    this.queue = queue
  }

  async within(job: Job<Placed>, token: string | undefined, work: () => Promise<void>): Promise<void> {
    const { accountId: account } = job.data
    // It has come back, one way or another.
    this.parked.get(job.id!)?.()
    if (!this.places.take(account, this.total)) return this.park(job, token, account)
    try {
      await work()
    } finally {
      this.places.give(account)
      this.callNext(account)
    }
  }

  /**
   * Puts a job aside. It waits from before it is moved, so that a place that is given back meanwhile is not missed;
   * called before it is there, it is fetched as soon as it is.
   */
  private async park(job: Job<Placed>, token: string | undefined, account: AccountId): Promise<never> {
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
      this.fetch(id, account).catch(reportDefect)
    }
    const waiting: Waiting = { account, total: this.total, enter }
    const timer = setTimeout(forget, backAfterMs).unref()
    this.parked.set(id, forget)
    this.places.wait(waiting)
    try {
      await job.moveToDelayed(Date.now() + backAfterMs, token)
    } catch (error) {
      forget()
      if (state.isCalled) this.callNext(account)
      throw error
    }
    state.isMoved = true
    if (state.isCalled) enter()
    throw new DelayedError()
  }

  /** Brings a parked job back now. If it is no longer parked, or Redis is unreachable, the next one gets the place. */
  private async fetch(id: string, account: AccountId): Promise<void> {
    try {
      await new QueueJob(this.queue(), '', null, undefined, id).promote()
    } catch {
      this.callNext(account)
    }
  }

  private callNext(account: AccountId): void {
    this.places.next(account)?.enter()
  }
}
