/**
 * Turns of large bodies. To parse and check one takes several turns of the event loop, of some hundred milliseconds for
 * the longest, and several times its bytes: so one account has one of them in work at a time, the process has no more
 * of them than a small heap can hold, and between two turns everybody else has theirs.
 */
import { ApiError } from '../../shared/platform/errors.ts'
import { FairQueue } from '../../shared/platform/fair-queue.ts'
import type { Bounds } from './quota.ts'
import { Quota } from './quota.ts'
import type { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { Config } from '../../shared/platform/config/config.ts'
import { secondsOf } from './allowances.ts'

const MEGABYTE = 1024 * 1024

/** A body with more bytes than this is large. */
export const LARGE_BYTES = 65_536

/** How many bytes of bodies may wait for their turn: two of the longest that an endpoint takes, and four in all. */
export const waitingBounds = (longest: number): Bounds => ({
  perAccount: Math.max(64 * MEGABYTE, 2 * longest),
  perProcess: Math.max(128 * MEGABYTE, 4 * longest),
})

/** How many bytes of bodies may be in work at once; one body may, however long it is. */
const BYTES_IN_WORK = 40 * MEGABYTE

/** When a body that cannot even wait may be sent again, in seconds. */
const RETRY_SECONDS = 2

/** Gives the large bodies of each sender their turns, in the order in which they came. */
export class LargeBodies {
  private readonly turns: FairQueue
  private readonly waiting: Quota

  constructor(bounds: Bounds, bytesInWork = BYTES_IN_WORK) {
    this.waiting = new Quota(bounds)
    this.turns = new FairQueue({ perHolder: 0 }, new FairQueue({ perHolder: bytesInWork }))
  }

  /**
   * Waits for the turn of a body.
   * @returns what ends it
   * @throws ApiError rate_limited if too many bytes wait already
   */
  async turnOf(sender: string, bytes: number): Promise<() => void> {
    if (!this.waiting.take(sender, bytes)) {
      const message = 'Too many bytes of request bodies wait to be read. Send fewer large ones at once.'
      throw new ApiError('rate_limited', { message, retryAfterSeconds: RETRY_SECONDS })
    }
    const { release } = await this.turns.take(sender, bytes)
    this.waiting.give(sender, bytes)
    return release
  }
}

/** Refusals of large bodies per minute and account. One counts once for each 64 kB that its body begins. */
const REFUSALS_PER_MINUTE = 600

/**
 * Counts the large bodies that each account had refused (docs/api/limits.md): a refusal costs nothing, but to read,
 * parse and check its body costs as much as that of a call.
 */
export class LargeRefusals {
  private readonly limiter: RateLimiterRedis

  constructor(redis: Redis, { REDIS_PREFIX }: Pick<Config, 'REDIS_PREFIX'>) {
    this.limiter = new RateLimiterRedis({
      storeClient: redis,
      keyPrefix: `${REDIS_PREFIX}:limit:refusals`,
      points: REFUSALS_PER_MINUTE,
      duration: 60,
      rejectIfRedisNotReady: true,
    })
  }

  /** @throws ApiError rate_limited if an account has had as much refused as it may */
  async requireLeft(account: string): Promise<void> {
    const counted = await this.limiter.get(account)
    if (counted === null || counted.consumedPoints < REFUSALS_PER_MINUTE) return
    throw new ApiError('rate_limited', {
      message: 'Too many large requests of this account were refused. Send smaller ones, or wait.',
      retryAfterSeconds: secondsOf(counted.msBeforeNext),
    })
  }

  /** Counts a body that was refused. Never throws: the client gets its refusal even if it cannot be counted. */
  async add(account: string, bytes: number): Promise<void> {
    await this.limiter.penalty(account, Math.ceil(bytes / LARGE_BYTES)).catch(() => {})
  }
}
