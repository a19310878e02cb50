/**
 * How much of large bodies an account may have refused (docs/api/limits.md): a refusal costs nothing, but to read,
 * parse and check its body costs as much as that of a call.
 */
import type { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import type { Config } from '../../shared/platform/config/config.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { secondsOf } from './allowances.ts'
import { LARGE_BYTES } from './large-body-queue.ts'

/** Refusals of large bodies per minute and account. One counts once for each 64 kB that its body begins. */
const REFUSALS_PER_MINUTE = 600

/** Counts the large bodies that each account had refused. */
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
