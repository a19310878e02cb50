/**
 * Guesses at the password of one address, from all networks. Whether the address has an account is not read here, so
 * that a pause does not reveal it (docs/accounts-and-mail.md#guesses).
 */
import { createHmac } from 'node:crypto'
import type { Redis } from 'ioredis'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import type { Config } from '../../shared/platform/config/config.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import { networkOf } from '../../shared/platform/net/networks.ts'
import type { Guesses } from '../../shared/identity/login.ts'
import { secondsOf } from './allowances.ts'

/** Failures before the first pause, and the most that those of one network alone count as. */
const FREE = 10
const FREE_ALONE = 5

/** Pauses, in ms: the first, doubled with every further failure, and the longest. */
const FIRST_PAUSE_MS = 10_000
const LONGEST_PAUSE_MS = 900_000

/** How long failures are remembered after the last one, in ms: before the first pause, and from then on. */
const FEW_MS = 3_600_000
const MANY_MS = 86_400_000

/**
 * Counts a guess as a failure, unless there is a pause. One network alone has a limit of its own: its failures never
 * pause it, and count as a few for others.
 * KEYS[1]: the counter. ARGV: the network, empty where only the pause is asked for; then the numbers above.
 * Returns the rest of the pause in ms; 0 without a pause.
 */
const GUESS = `
local network, free, alone, first, longest, few, many = unpack(ARGV)
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', KEYS[1], 'failures', 'until', 'network')
local rest = tonumber(known[2] or 0) - now
if rest > 0 then return rest end
if network == '' then return 0 end
local failures = tonumber(known[1] or 0) + 1
local only = (known[3] or network) == network and network or ''
if only ~= '' then failures = math.min(failures, tonumber(alone)) end
local beyond = failures - free
local pause = 0
if beyond > 0 then pause = math.min(longest, first * 2 ^ (beyond - 1)) end
redis.call('HSET', KEYS[1], 'failures', failures, 'until', string.format('%.0f', now + pause), 'network', only)
redis.call('PEXPIRE', KEYS[1], beyond > 0 and many or few)
return 0`

type Script = (key: string, ...rest: (string | number)[]) => Promise<number>

const NUMBERS = [FREE, FREE_ALONE, FIRST_PAUSE_MS, LONGEST_PAUSE_MS, FEW_MS, MANY_MS]

/**
 * The guesses of all web processes. While Redis is unreachable each process counts for itself, without pauses that
 * grow.
 */
export function createGuesses(
  redis: Redis,
  { APP_SECRET, REDIS_PREFIX }: Pick<Config, 'APP_SECRET' | 'REDIS_PREFIX'>,
): Guesses {
  redis.defineCommand('countGuess', { lua: GUESS, numberOfKeys: 1 })
  const { countGuess } = redis as unknown as { countGuess: Script }
  const here = new RateLimiterMemory({ points: FREE, duration: LONGEST_PAUSE_MS / 1000 })
  const hashOf = (address: string) =>
    createHmac('sha256', APP_SECRET).update(`tollgate guesses\n${address}`).digest('base64url')
  const keyOf = (address: string) => `${REDIS_PREFIX}:guesses:${hashOf(address)}`
  const refuse = async (address: string, network: string): Promise<void> => {
    const restMs = await countGuess
      .call(redis, keyOf(address), network, ...NUMBERS)
      .catch(() => countHere(here, hashOf(address), network !== ''))
    if (restMs > 0) throw new ApiError('rate_limited', { message: PAUSED, retryAfterSeconds: secondsOf(restMs) })
  }
  return {
    refusePaused: (address) => refuse(address, ''),
    count: (address, client) => refuse(address, networkOf(client)),
    forget: async (address) => {
      await here.delete(hashOf(address))
      // Redis is unreachable: the failures expire by themselves.
      await redis.del(keyOf(address)).catch(() => {})
    },
  }
}

const PAUSED = 'Too many wrong passwords for this address. Wait, or log in from where you have logged in before.'

/** The rest of the pause in ms. */
async function countHere(limiter: RateLimiterMemory, key: string, counts: boolean): Promise<number> {
  const counted = counts ? await limiter.penalty(key) : await limiter.get(key)
  const events = (counted?.consumedPoints ?? 0) + (counts ? 0 : 1)
  return events > limiter.points ? counted!.msBeforeNext : 0
}
