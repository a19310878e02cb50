/**
 * Ranges of IP addresses in CIDR notation. Only plain spellings are taken: what one reader takes for octal, another for
 * decimal, would be allowed by the one and refused by the other. Pure.
 */
import ipaddr from 'ipaddr.js'
import { isIP } from 'node:net'

const PREFIX = /^(?:0|[1-9]\d{0,2})$/

/**
 * The range that a text means, as `network/prefix` without bits beyond the prefix: `10.1.2.3/8` is `10.0.0.0/8`, a bare
 * address is a range of its own, and a range of IPv4-mapped addresses is that of the IPv4 addresses. Null for any other
 * text: zones, leading zeros, white space, masks.
 */
export function parseRange(text: string): string | null {
  const [address = '', prefix, ...more] = text.split('/')
  if (more.length > 0 || (prefix !== undefined && !PREFIX.test(prefix))) return null
  // The library also reads octal and hexadecimal numbers, and zones.
  const version = isIP(address)
  if (version === 0 || address.includes('%')) return null
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
