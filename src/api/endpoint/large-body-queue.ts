/**
 * Turns of large bodies. To parse and check one takes the event loop for some milliseconds, and nobody else is served
 * meanwhile: so one account has one of them in work at a time, and between two everybody else has their turn.
 */
import { ApiError } from '../../shared/platform/errors.ts'
import type { Bounds } from './quota.ts'
import { Quota } from './quota.ts'
import { SenderQueue } from './sender-queue.ts'

const MEGABYTE = 1024 * 1024

/** A body is large beyond so many bytes. */
export const LARGE_BYTES = 65_536

/** How many bytes of bodies may wait for their turn: two of the longest that an endpoint takes, and four in all. */
export const waitingBounds = (longest: number): Bounds => ({
  perAccount: Math.max(64 * MEGABYTE, 2 * longest),
  perProcess: Math.max(128 * MEGABYTE, 4 * longest),
})

/** When a body that cannot even wait may be sent again, in seconds. */
const RETRY_SECONDS = 2

/** Gives the large bodies of each sender their turns, in the order in which they came. */
export class LargeBodies {
  private readonly turns = new SenderQueue({ atOnce: 1, waiting: Infinity })
  private readonly waiting: Quota

  constructor(bounds: Bounds) {
    this.waiting = new Quota(bounds)
  }

  /**
   * Waits for the turn of a body, which lasts for the rest of this turn of the event loop. One that is not large has it
   * at once.
   * @throws ApiError rate_limited where too many bytes wait already
   */
  async turnOf(sender: string, bytes: number): Promise<void> {
    if (bytes <= LARGE_BYTES) return
    if (!this.waiting.take(sender, bytes)) {
      const message = 'Too many bytes of request bodies wait to be read. Send fewer large ones at once.'
      throw new ApiError('rate_limited', { message, retryAfterSeconds: RETRY_SECONDS })
    }
    const end = await this.turns.take(sender)
    this.waiting.give(sender, bytes)
    setImmediate(end)
  }
}
