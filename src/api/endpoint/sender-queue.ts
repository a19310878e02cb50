/** The queue of each sender's requests: a few are worked on at once, the others wait for their turn. */
import { ApiError } from '../../shared/platform/errors.ts'

/** `atOnce`: requests of one sender that are worked on. `waiting`: those that may wait beside them. */
export type QueueBounds = { atOnce: number; waiting: number }

/** When a request that cannot even wait may be sent again, in seconds. */
const RETRY_SECONDS = 2

/** Lets the requests of each sender in, in the order in which they came. */
export class SenderQueue {
  private readonly bounds: QueueBounds
  private readonly senders = new Map<string, { running: number; waiting: (() => void)[] }>()

  constructor(bounds: QueueBounds) {
    this.bounds = bounds
  }

  /**
   * Waits for the turn of a request.
   * @returns what ends it, to be called once
   * @throws ApiError rate_limited where too many wait already
   */
  async take(sender: string): Promise<() => void> {
    const own = this.senders.get(sender) ?? { running: 0, waiting: [] }
    this.senders.set(sender, own)
    if (own.running < this.bounds.atOnce) own.running += 1
    else if (own.waiting.length < this.bounds.waiting) await new Promise<void>((begin) => own.waiting.push(begin))
    else {
      const message = 'Too many requests at once. Wait for some of their answers.'
      throw new ApiError('rate_limited', { message, retryAfterSeconds: RETRY_SECONDS })
    }
    return () => this.end(sender, own)
  }

  /** The first in the queue takes the place of the one that has ended. */
  private end(sender: string, own: { running: number; waiting: (() => void)[] }): void {
    const next = own.waiting.shift()
    if (next) return next()
    own.running -= 1
    if (own.running === 0) this.senders.delete(sender)
  }
}
