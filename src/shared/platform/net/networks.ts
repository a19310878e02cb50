/**
 * The networks that a client address is in, as limits and queues count them (docs/accounts-and-mail.md#limits). Pure.
 */
import ipaddr from 'ipaddr.js'
import { isIP } from 'node:net'

/** The prefixes of IPv6 that are counted, the narrowest first: one customer may have any of them. */
const PREFIXES = [64, 56, 48] as const

/** How many times as much each wider network has as the one inside it. */
const WIDER = 4

/** The events that the networks of a client may have, in the order of `networksOf`, where a single client has `one`. */
export const allowancesOf = (one: number): number[] => PREFIXES.map((_, index) => one * WIDER ** index)

/**
 * The networks of a client, the narrowest first: an IPv4 address by itself, or of an IPv6 address its /64, /56 and /48.
 * `unknown` for an address that is not known.
 */
export function networksOf(address: string): [string, ...string[]] {
  if (isIP(address) !== 6) return [address === '' ? 'unknown' : address]
  const groups = ipaddr.parse(address).toNormalizedString().split(':').slice(0, 4)
  const [widest, last] = [groups.slice(0, 3).join(':'), Number.parseInt(groups[3]!, 16)]
  return [`${groups.join(':')}::/64`, `${widest}:${(last & 0xff00).toString(16)}::/56`, `${widest}::/48`]
}

/** The part of an address that one client has: an IPv6 network of /64, whose addresses cost nothing. */
export const networkOf = (address: string): string => networksOf(address)[0]
