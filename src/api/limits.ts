/**
 * The rate limits, as atomic counters in Redis (rate-limiter-flexible): a read and a later write would let every
 * simultaneous request pass.
 */
import type { Redis } from 'ioredis'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Config } from '../shared/config.ts'
import { ApiError } from '../shared/errors.ts'

/** Where a counter stands after this request. Times in whole seconds. */
export type Allowance = { limit: number; remaining: number; resetSeconds: number }

/** `points`: events of somebody in a window, where that is not the same for all. `count`: 1 where absent. */
export type Taking = { points?: number; count?: number }

/** One limit. `take` counts one event of `who`, or `count` of them. */
export type Limit = {
  /** @throws ApiError rate_limited, with `Retry-After`. */
  take: (who: string, taking?: Taking) => Promise<Allowance>
}

/** A limit of failures alone. `take` counts one, `refuseSpent` asks whether anything is left. */
export type FailureLimit = Limit & {
  /** @throws ApiError rate_limited, with `Retry-After`, where nothing is left. */
  refuseSpent: (who: string) => Promise<void>
}

/** What `createLimits` returns. */
export type Limits = ReturnType<typeof createLimits>

/**
 * Says that an endpoint's requests count against a limit, separately for each client network, each account, or each key
 * with a limit of its own.
 */
export type LimitUse = {
  limit: keyof Limits
  per: 'client' | 'account' | 'key'
  /** Counts once for each so many bytes of a body that it begins, and for the most where its length is not said. */
  perBytes?: number
  /** Answers have headers that show what is left of it. */
  shown?: boolean
}

/** Reads of calls, per minute and account (docs/api.md#limits). */
const CALL_READS_PER_MINUTE = 600

/** Quotes, per minute and account. */
const QUOTES_PER_MINUTE = 600

/** Limits without a variable (docs/accounts-and-mail.md#limits). */
const FORGOTS_PER_HOUR = 60
const TEST_MAILS_PER_TEN_MINUTES = 5
const ADDRESS_CHANGES_PER_HOUR = 10
const REDEMPTIONS_PER_HOUR = 10
const CHECKOUTS_PER_HOUR = 100
const PAYMENT_READS_PER_MINUTE = 120
const LINKS_PER_MINUTE = 600
const WEBHOOKS_PER_MINUTE = 3000
const DASHBOARD_FAILURES_PER_TEN_MINUTES = 10

const TEN_MINUTES = 600
const HOUR = 3600

/** All limits of the web process. A window begins with its first event. */
export function createLimits(redis: Redis, config: Config) {
  const counter = (name: string, points: number, seconds: number) => ({
    storeClient: redis,
    keyPrefix: `${config.REDIS_PREFIX}:limit:${name}`,
    points,
    duration: seconds,
    rejectIfRedisNotReady: true,
  })
  const limit = (name: string, points: number, seconds: number): Limit => {
    const limiter = new RateLimiterRedis(counter(name, points, seconds))
    return { take: (who, taking) => take(limiter, points, who, taking) }
  }
  // The console works without Redis. Until it is back each process counts for itself: more generous, never open.
  const consoleLimit = (name: string, points: number, seconds: number): Limit => {
    const options = counter(name, points, seconds)
    const limiter = new RateLimiterRedis({ ...options, insuranceLimiter: new RateLimiterMemory(options) })
    return { take: (who, taking) => take(limiter, points, who, taking) }
  }
  const failureLimit = (name: string, points: number, seconds: number): FailureLimit => {
    const limiter = new RateLimiterRedis(counter(name, points, seconds))
    return {
      take: (who, taking) => take(limiter, points, who, taking),
      refuseSpent: (who) => refuseSpent(limiter, points, who),
    }
  }
  // One counter for a key whatever its limit, so that a change of the limit does not restart its window.
  const limitOfEach = (name: string, usual: number, seconds: number): Limit => {
    const limiters = new Map<number, RateLimiterRedis>()
    return {
      take: (who, { points = usual, ...taking } = {}) => {
        const limiter = limiters.get(points) ?? new RateLimiterRedis(counter(name, points, seconds))
        limiters.set(points, limiter)
        return take(limiter, points, who, taking)
      },
    }
  }
  return {
    keyCalls: limitOfEach('keycalls', config.GATEWAY_RATE_LIMIT, 60),
    calls: limit('calls', config.GATEWAY_RATE_LIMIT, 60),
    callReads: limit('reads', CALL_READS_PER_MINUTE, 60),
    quotes: limit('quotes', QUOTES_PER_MINUTE, 60),
    logins: consoleLimit('logins', config.LOGIN_RATE_LIMIT, TEN_MINUTES),
    registrations: consoleLimit('registrations', config.REGISTER_RATE_LIMIT, HOUR),
    forgots: consoleLimit('forgots', FORGOTS_PER_HOUR, HOUR),
    passwordChanges: consoleLimit('passwords', config.LOGIN_RATE_LIMIT, TEN_MINUTES),
    addressChanges: consoleLimit('addresses', ADDRESS_CHANGES_PER_HOUR, HOUR),
    links: consoleLimit('links', LINKS_PER_MINUTE, 60),
    webhooks: consoleLimit('webhooks', WEBHOOKS_PER_MINUTE, 60),
    testMails: consoleLimit('testmails', TEST_MAILS_PER_TEN_MINUTES, TEN_MINUTES),
    redemptions: consoleLimit('redemptions', REDEMPTIONS_PER_HOUR, HOUR),
    checkouts: consoleLimit('checkouts', CHECKOUTS_PER_HOUR, HOUR),
    paymentReads: consoleLimit('payments', PAYMENT_READS_PER_MINUTE, 60),
    dashboardFailures: failureLimit('dashboard', DASHBOARD_FAILURES_PER_TEN_MINUTES, TEN_MINUTES),
  }
}

async function take(
  limiter: RateLimiterRedis,
  points: number,
  who: string,
  { count = 1 }: Taking = {},
): Promise<Allowance> {
  try {
    return allowanceOf(await limiter.consume(who, count), points)
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error
    throw spent(allowanceOf(error, points))
  }
}

async function refuseSpent(limiter: RateLimiterRedis, points: number, who: string): Promise<void> {
  const counted = await limiter.get(who)
  if (counted && counted.consumedPoints >= points) throw spent(allowanceOf(counted, points))
}

const spent = (allowance: Allowance): ApiError =>
  new ApiError('rate_limited', { retryAfterSeconds: allowance.resetSeconds, headers: allowanceHeaders(allowance) })

const allowanceOf = (result: RateLimiterRes, limit: number): Allowance => ({
  limit,
  remaining: Math.max(0, result.remainingPoints),
  resetSeconds: Math.max(1, Math.ceil(result.msBeforeNext / 1000)),
})

/** OpenAI's names of the headers below. */
export const ALLOWANCE_HEADERS = [
  'X-RateLimit-Limit-Requests',
  'X-RateLimit-Remaining-Requests',
  'X-RateLimit-Reset-Requests',
] as const

/** The allowance, for the client. */
export const allowanceHeaders = (allowance: Allowance): Record<(typeof ALLOWANCE_HEADERS)[number], string> => ({
  'X-RateLimit-Limit-Requests': String(allowance.limit),
  'X-RateLimit-Remaining-Requests': String(allowance.remaining),
  'X-RateLimit-Reset-Requests': `${allowance.resetSeconds}s`,
})
