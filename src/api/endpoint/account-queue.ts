/** The queue of each account's requests: a few are worked on at once, the others wait for their turn. */
import { ApiError } from '../../shared/platform/errors.ts'

/** `atOnce`: requests of one account that are worked on. `waiting`: those that may wait beside them. */
export type QueueBounds = { atOnce: number; waiting: number }

/** When a request that cannot even wait may be sent again, in seconds. */
const RETRY_SECONDS = 2

/** Lets the requests of each account in, in the order in which they came. */
export class AccountQueue {
  private readonly bounds: QueueBounds
  private readonly accounts = new Map<string, { running: number; waiting: (() => void)[] }>()

  constructor(bounds: QueueBounds) {
    this.bounds = bounds
  }

  /**
   * Waits for the turn of a request.
   * @returns what ends it, to be called once
   * @throws ApiError rate_limited where too many wait already
   */
  async take(account: string): Promise<() => void> {
    const own = this.accounts.get(account) ?? { running: 0, waiting: [] }
    this.accounts.set(account, own)
    if (own.running < this.bounds.atOnce) own.running += 1
    else if (own.waiting.length < this.bounds.waiting) await new Promise<void>((begin) => own.waiting.push(begin))
    else {
      const message = 'Too many requests of this account at once. Wait for some of their answers.'
      throw new ApiError('rate_limited', { message, retryAfterSeconds: RETRY_SECONDS })
    }
    return () => this.end(account, own)
  }

  /** The first in the queue takes the place of the one that has ended. */
  private end(account: string, own: { running: number; waiting: (() => void)[] }): void {
    const next = own.waiting.shift()
    if (next) return next()
    own.running -= 1
    if (own.running === 0) this.accounts.delete(account)
  }
}
