/**
 * The rate limits, as atomic counters in Redis (rate-limiter-flexible): a read and a later write would let every
 * simultaneous request pass.
 */
import type { Redis } from 'ioredis'
import { LRUCache } from 'lru-cache'
import { RateLimiterMemory, RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import type { Config } from '../../shared/platform/config/config.ts'
import { reportDefect } from '../../shared/platform/process/defects.ts'
import type { Allowance, NetworkLimit, Limit } from './allowances.ts'
import { secondsOf, spent } from './allowances.ts'
import { allowancesOf, networksOf } from '../../shared/platform/net/networks.ts'

/** What `createLimits` returns. */
export type Limits = ReturnType<typeof createLimits>

/**
 * A limit that an endpoint's requests count against, separately for the networks of each client, each account,
 * each account by its own limit (`holder`: of a key), each user, or each key with a limit of its own. By user where an
 * account is no bound: anybody can make more of them.
 */
export type LimitUse = {
  /**
   * Bytes that count as one use: a body counts once for each started unit (as the longest, if its length is not
   * stated), and its answer once for each further unit beyond the first.
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

/** Reads of calls and models, per minute and account (docs/api/limits.md). */
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
    return { take: countingInTurns(new RateLimiterRedis(counter(name, points, seconds)), points) }
  }
  // The console works without Redis. Until it is back each process counts for itself: more generous, never open.
  const consoleLimit = (name: string, points: number, seconds: number): Limit => {
    const options = counter(name, points, seconds)
    const limiter = new RateLimiterRedis({ ...options, insuranceLimiter: new RateLimiterMemory(options) })
    return { take: countingInTurns(limiter, points) }
  }
  const networkLimit = (name: string, points: number, seconds: number): NetworkLimit =>
    createNetworkLimit(redis, { keyPrefix: prefixOf(name), points, seconds })
  // One counter for each, with any limit, so that a change of the limit does not restart its window.
  const limitOfEach = (name: string, usual: number, seconds: number): Limit => {
    const limiters = new LRUCache<number, Limit['take']>({ max: KEPT_LIMITERS })
    return {
      take: (subject, { points = usual, ...taking } = {}) => {
        const take =
          limiters.get(points) ?? countingInTurns(new RateLimiterRedis(counter(name, points, seconds)), points)
        limiters.set(points, take)
        return take(subject, taking)
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

type Waiting = { count: number; resolve: (allowance: Allowance) => void; reject: (error: unknown) => void }

/**
 * Counts all events of a subject in one turn of the event loop by one command. Each has the place in the count that it
 * would have had alone, in the order in which they came.
 */
function countingInTurns(limiter: RateLimiterRedis, limit: number): Limit['take'] {
  let waiting = new Map<string, Waiting[]>()
  const count = async (subject: string, events: Waiting[]): Promise<void> => {
    try {
      const sum = events.reduce((total, one) => total + one.count, 0)
      const { consumedPoints, msBeforeNext } = await consumed(limiter, subject, sum)
      const resetSeconds = secondsOf(msBeforeNext)
      let place = consumedPoints - sum
      for (const one of events) {
        place += one.count
        const allowance = { limit, remaining: Math.max(0, limit - place), resetSeconds }
        if (place > limit) one.reject(spent(allowance))
        else one.resolve(allowance)
      }
    } catch (error) {
      for (const one of events) one.reject(error)
    }
  }
  const countAll = (): void => {
    const subjects = waiting
    waiting = new Map()
    for (const [subject, events] of subjects) count(subject, events).catch(reportDefect)
  }
  return (subject, taking) =>
    new Promise((resolve, reject) => {
      if (waiting.size === 0) setImmediate(countAll)
      const one = { count: taking?.count ?? 1, resolve, reject }
      const events = waiting.get(subject)
      if (events) events.push(one)
      else waiting.set(subject, [one])
    })
}

/** Counts events, more of them than are left too. */
async function consumed(limiter: RateLimiterRedis, subject: string, count: number): Promise<RateLimiterRes> {
  try {
    return await limiter.consume(subject, count)
  } catch (error) {
    if (error instanceof RateLimiterRes) return error
    throw error
  }
}

/**
 * Counts one event in each network, from the narrowest to the first that has none left: what a network is refused uses
 * up nothing of the wider one, which others share. With ARGV[1] = 0 it only checks whether one is left.
 * KEYS: the counters. ARGV: the window in seconds, then how many events each may have.
 * Returns which counter decides, its value with this event, and the rest of its window in ms.
 */
const COUNT = `
local first
for index, key in ipairs(KEYS) do
  local count
  if ARGV[1] == '0' then
    count = tonumber(redis.call('GET', key) or 0) + 1
  else
    count = redis.call('INCR', key)
    if count == 1 then redis.call('EXPIRE', key, ARGV[1]) end
  end
  local standing = {index, count, redis.call('PTTL', key)}
  if count > tonumber(ARGV[index + 1]) then return standing end
  first = first or standing
end
return first`

/** The state of a counter: its index, from 1, its events with this one, and the rest of its window in ms. */
type CounterState = [index: number, count: number, restMs: number]

type Script = (keys: number, ...rest: (string | number)[]) => Promise<CounterState>

/** A counter's name, and how many events one client has in a window of `seconds`. */
type Window = { keyPrefix: string; points: number; seconds: number }

/**
 * A limit of clients by their networks: the owner of a wide network of IPv6 has all the narrower ones in it, so an
 * address is counted in each (docs/accounts-and-mail.md#limits). While Redis is unreachable each process counts for
 * itself: more generous, never open.
 */
function createNetworkLimit(redis: Redis, { keyPrefix, points, seconds }: Window): NetworkLimit {
  redis.defineCommand('countInNetworks', { lua: COUNT })
  const { countInNetworks } = redis as unknown as { countInNetworks: Script }
  const allowances = allowancesOf(points)
  const here = allowances.map((most) => new RateLimiterMemory({ keyPrefix, points: most, duration: seconds }))
  const count = async (address: string, isPeek: boolean): Promise<Allowance> => {
    const networks = networksOf(address)
    const keys = networks.map((network) => `${keyPrefix}:${network}`)
    const [index, events, restMs] = await countInNetworks
      .call(redis, keys.length, ...keys, isPeek ? 0 : seconds, ...allowances.slice(0, keys.length))
      .catch(() => countHere(here, networks, isPeek))
    const limit = allowances[index - 1]!
    const allowance = { limit, remaining: Math.max(0, limit - events), resetSeconds: secondsOf(restMs) }
    if (events > limit) throw spent(allowance)
    return allowance
  }
  return {
    take: (address) => count(address, false),
    refuseSpent: async (address) => {
      await count(address, true)
    },
  }
}

/** Does in this process what the script does in Redis. */
async function countHere(limiters: RateLimiterMemory[], networks: string[], isPeek: boolean): Promise<CounterState> {
  const standings: CounterState[] = []
  for (const [index, network] of networks.entries()) {
    const limiter = limiters[index]!
    const counted = isPeek ? await limiter.get(network) : await limiter.penalty(network)
    const events = (counted?.consumedPoints ?? 0) + (isPeek ? 1 : 0)
    standings.push([index + 1, events, counted?.msBeforeNext ?? 0])
    if (events > limiter.points) return standings.at(-1)!
  }
  return standings[0]!
}
