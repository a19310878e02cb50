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

/** A form of IPv4 addresses that was given up (RFC 4291, 2.5.5.1). The library takes it for IPv4-mapped addresses. */
const IPV4_COMPATIBLE = /^::(0+:)*\d+\./

const PREFIX = /^(?:0|[1-9]\d{0,2})$/

/**
 * The range that a text means, as `network/prefix` without bits beyond the prefix: `10.1.2.3/8` is `10.0.0.0/8`, a bare
 * address is a range of its own, and a range of IPv4-mapped addresses is that of the IPv4 addresses. Null for any other
 * text: zones, leading zeros (which one reader takes for octal, another for decimal), white space, masks.
 */
export function parseRange(text: string): string | null {
  const [address = '', prefix, ...more] = text.split('/')
  if (more.length > 0 || (prefix !== undefined && !PREFIX.test(prefix))) return null
  // The library also reads octal and hexadecimal numbers, and zones.
  const version = isIP(address)
  if (version === 0 || address.includes('%') || IPV4_COMPATIBLE.test(address)) return null
  const width = version === 4 ? 32 : 128
  const bits = Number(prefix ?? width)
  if (bits > width) return null
  const { IPv4, IPv6 } = ipaddr
  if (version === 4) return `${IPv4.networkAddressFromCIDR(`${address}/${bits}`).toString()}/${bits}`
  const network = IPv6.networkAddressFromCIDR(`${address}/${bits}`)
  return bits >= 96 && network.isIPv4MappedAddress()
    ? `${network.toIPv4Address().toString()}/${bits - 96}`
    : `${network.toNormalizedString()}/${bits}`
}
