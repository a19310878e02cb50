/**
 * The rate limits, as atomic counters in Redis (rate-limiter-flexible): a read and a later write would let every
 * simultaneous request pass.
 */
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Config } from '../../shared/platform/config/config.ts'
import type { Allowance, NetworkLimit, Limit, Taking } from './allowances.ts'
import { secondsOf, spent } from './allowances.ts'
import { createNetworkLimit } from './network-limits.ts'

/** What `createLimits` returns. */
export type Limits = ReturnType<typeof createLimits>

/**
 * Says that an endpoint's requests count against a limit, separately for the networks of each client, each account,
 * each account by its own limit (`holder`: of a key), each user, or each key with a limit of its own. By user where an
 * account is no bound: anybody can make more of them.
 */
export type LimitUse = {
  /**
   * Counts once for each so many bytes that a body begins, for the most where its length is not stated, and once more
   * for each so many bytes that its answer has beyond the first.
   */
  perBytes?: number
  /** Answers have headers that show what is left of it. */
  shown?: boolean
} & (
  | { limit: NetworkLimits; per: 'client' }
  | { limit: Exclude<keyof Limits, NetworkLimits>; per: 'account' | 'holder' | 'user' | 'key' }
)

/** The limits that are counted by the networks of clients. */
type NetworkLimits = {
  [Name in keyof Limits]: Limits[Name] extends NetworkLimit ? Name : never
}[keyof Limits]

/** Reads of calls and models, per minute and account (docs/api.md#limits). */
const READS_PER_MINUTE = 600

/** Quotes, per minute and account. */
const QUOTES_PER_MINUTE = 600

/** Limits without a variable (docs/accounts-and-mail.md#limits). */
const FORGOTS_PER_HOUR = 60
const TEST_MAILS_PER_TEN_MINUTES = 5
const ADDRESS_CHANGES_PER_HOUR = 10
const INVITATIONS_PER_HOUR = 100
const UNPAID_INVITATIONS_PER_HOUR = 10
const REDEMPTIONS_PER_HOUR = 10
const CHECKOUTS_PER_HOUR = 100
const PAYMENT_READS_PER_MINUTE = 120
const LINKS_PER_MINUTE = 600
const WEBHOOKS_PER_MINUTE = 3000
const WEBHOOK_SENDS_PER_MINUTE = 60
const NEW_WEBHOOKS_PER_HOUR = 30
const DASHBOARD_FAILURES_PER_TEN_MINUTES = 10

/** How many different numbers of one limit are remembered: keys may have any. */
const KEPT_LIMITERS = 1000

const TEN_MINUTES = 600
const HOUR = 3600

/** All limits of the web process. A window begins with its first event. */
export function createLimits(redis: Redis, config: Config) {
  const prefixOf = (name: string) => `${config.REDIS_PREFIX}:limit:${name}`
  const counter = (name: string, points: number, seconds: number) => ({
    storeClient: redis,
    keyPrefix: prefixOf(name),
    points,
    duration: seconds,
    rejectIfRedisNotReady: true,
  })
  const limit = (name: string, points: number, seconds: number): Limit => {
    const limiter = new RateLimiterRedis(counter(name, points, seconds))
    return { take: (subject, taking) => take(limiter, points, subject, taking) }
  }
  // The console works without Redis. Until it is back each process counts for itself: more generous, never open.
  const consoleLimit = (name: string, points: number, seconds: number): Limit => {
    const options = counter(name, points, seconds)
    const limiter = new RateLimiterRedis({ ...options, insuranceLimiter: new RateLimiterMemory(options) })
    return { take: (subject, taking) => take(limiter, points, subject, taking) }
  }
  const networkLimit = (name: string, points: number, seconds: number): NetworkLimit =>
    createNetworkLimit(redis, { keyPrefix: prefixOf(name), points, seconds })
  // One counter for each whatever their limit, so that a change of the limit does not restart its window.
  const limitOfEach = (name: string, usual: number, seconds: number): Limit => {
    const limiters = new LRUCache<number, RateLimiterRedis>({ max: KEPT_LIMITERS })
    return {
      take: (subject, { points = usual, ...taking } = {}) => {
        const limiter = limiters.get(points) ?? new RateLimiterRedis(counter(name, points, seconds))
        limiters.set(points, limiter)
        return take(limiter, points, subject, taking)
      },
    }
  }
  return {
    keyCalls: limitOfEach('keycalls', config.GATEWAY_RATE_LIMIT, 60),
    calls: limitOfEach('calls', config.GATEWAY_RATE_LIMIT, 60),
    reads: limit('reads', READS_PER_MINUTE, 60),
    quotes: limit('quotes', QUOTES_PER_MINUTE, 60),
    logins: networkLimit('logins', config.LOGIN_RATE_LIMIT, TEN_MINUTES),
    registrations: networkLimit('registrations', config.REGISTER_RATE_LIMIT, HOUR),
    forgots: networkLimit('forgots', FORGOTS_PER_HOUR, HOUR),
    passwordChanges: consoleLimit('passwords', config.LOGIN_RATE_LIMIT, TEN_MINUTES),
    addressChanges: consoleLimit('addresses', ADDRESS_CHANGES_PER_HOUR, HOUR),
    invitations: consoleLimit('invitations', INVITATIONS_PER_HOUR, HOUR),
    unpaidInvitations: consoleLimit('unpaidinvitations', UNPAID_INVITATIONS_PER_HOUR, HOUR),
    links: networkLimit('links', LINKS_PER_MINUTE, 60),
    webhooks: networkLimit('webhooks', WEBHOOKS_PER_MINUTE, 60),
    testMails: consoleLimit('testmails', TEST_MAILS_PER_TEN_MINUTES, TEN_MINUTES),
    redemptions: consoleLimit('redemptions', REDEMPTIONS_PER_HOUR, HOUR),
    checkouts: consoleLimit('checkouts', CHECKOUTS_PER_HOUR, HOUR),
    paymentReads: consoleLimit('payments', PAYMENT_READS_PER_MINUTE, 60),
    webhookSends: consoleLimit('webhooksends', WEBHOOK_SENDS_PER_MINUTE, 60),
    newWebhooks: consoleLimit('newwebhooks', NEW_WEBHOOKS_PER_HOUR, HOUR),
    dashboardFailures: networkLimit('dashboard', DASHBOARD_FAILURES_PER_TEN_MINUTES, TEN_MINUTES),
  }
}

async function take(
  limiter: RateLimiterRedis,
  points: number,
  subject: string,
  { count = 1 }: Taking = {},
): Promise<Allowance> {
  try {
    return allowanceOf(await limiter.consume(subject, count), points)
  } catch (error) {
    if (!(error instanceof RateLimiterRes)) throw error
    throw spent(allowanceOf(error, points))
  }
}

const allowanceOf = (result: RateLimiterRes, limit: number): Allowance => ({
  limit,
  remaining: Math.max(0, result.remainingPoints),
  resetSeconds: secondsOf(result.msBeforeNext),
})
