/**
 * Limits of clients by their networks: the owner of a wide network of IPv6 has all the narrower ones in it, so an
 * address is counted in each (docs/accounts-and-mail.md#limits).
 */
import type { Redis } from 'ioredis'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { allowancesOf, networksOf } from '../../shared/platform/net/networks.ts'
import type { Allowance, NetworkLimit } from './allowances.ts'
import { secondsOf, spent } from './allowances.ts'

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
type Standing = [index: number, count: number, restMs: number]

type Script = (keys: number, ...rest: (string | number)[]) => Promise<Standing>

/** A counter's name, and how many events one client has in a window of `seconds`. */
export type Window = { keyPrefix: string; points: number; seconds: number }

/** A limit of clients. While Redis is unreachable each process counts for itself: more generous, never open. */
export function createNetworkLimit(redis: Redis, { keyPrefix, points, seconds }: Window): NetworkLimit {
  redis.defineCommand('countInNetworks', { lua: COUNT })
  const { countInNetworks } = redis as unknown as { countInNetworks: Script }
  const allowances = allowancesOf(points)
  const here = allowances.map((most) => new RateLimiterMemory({ keyPrefix, points: most, duration: seconds }))
  const count = async (address: string, looks: boolean): Promise<Allowance> => {
    const networks = networksOf(address)
    const keys = networks.map((network) => `${keyPrefix}:${network}`)
    const [index, events, restMs] = await countInNetworks
      .call(redis, keys.length, ...keys, looks ? 0 : seconds, ...allowances.slice(0, keys.length))
      .catch(() => countHere(here, networks, looks))
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
async function countHere(limiters: RateLimiterMemory[], networks: string[], looks: boolean): Promise<Standing> {
  const standings: Standing[] = []
  for (const [index, network] of networks.entries()) {
    const limiter = limiters[index]!
    const counted = looks ? await limiter.get(network) : await limiter.penalty(network)
    const events = (counted?.consumedPoints ?? 0) + (looks ? 1 : 0)
    standings.push([index + 1, events, counted?.msBeforeNext ?? 0])
    if (events > limiter.points) return standings.at(-1)!
  }
  return standings[0]!
}
