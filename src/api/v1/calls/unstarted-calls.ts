/**
 * Requests of calls that no worker has begun yet. Redis may lose their jobs; this process keeps the request as long as
 * a client waits here for the answer.
 */
import type { CallId } from '../../../shared/platform/ids.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { findQueued } from '../../../shared/reports/call-records.ts'
import type { Db } from '../../../shared/platform/postgres/db.ts'
import type { Log } from '../../../shared/platform/process/log.ts'

/** How many calls are enqueued again at once. */
const TOGETHER = 50

/** The calls that this process waits for, and how each is enqueued. */
export class UnstartedCalls {
  private readonly db: Db
  private readonly log: Log
  private readonly held = new Map<CallId, () => Promise<void>>()

  constructor(db: Db, log: Log) {
    this.db = db
    this.log = log
  }

  /** Keeps a request until `release`. */
  hold(callId: CallId, enqueue: () => Promise<void>): void {
    this.held.set(callId, enqueue)
  }

  /** The call was begun, has ended, or is no longer waited for here. */
  release(callId: CallId): void {
    this.held.delete(callId)
  }

  /**
   * Enqueues every call again that is still queued: a job that is there after all is not made twice, and a call is
   * begun only once. Never throws: what cannot be enqueued now is the reconciler's.
   */
  async enqueueAgain(): Promise<void> {
    const ids = [...this.held.keys()]
    if (ids.length === 0) return
    const queued = await findQueued(this.db, ids).catch(() => [])
    this.log.warn({ calls: queued.length }, 'Redis has forgotten its jobs: enqueued again')
    for (let from = 0; from < queued.length; from += TOGETHER) {
      await Promise.all(queued.slice(from, from + TOGETHER).map((id) => this.enqueue(id)))
    }
  }

  private async enqueue(id: CallId): Promise<void> {
    await this.held
      .get(id)?.()
      .catch((error: unknown) => {
        this.log.warn({ call: publicId('call', id), err: error }, 'call not enqueued again')
      })
  }
}
