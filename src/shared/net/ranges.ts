/**
 * Ranges of IP addresses in CIDR notation. Only plain spellings are taken: what one reader takes for octal, another for
 * decimal, would be allowed by the one and refused by the other. Pure.
 */
import { isIPv4, isIPv6 } from 'node:net'

const PREFIX = /^(?:0|[1-9]\d{0,2})$/
/** ::ffff:0:0/96 as a number: the IPv6 addresses that stand for IPv4 ones. */
const MAPPED = 0xffffn << 32n

/**
 * The range that a text means, as `network/prefix` without bits beyond the prefix: `10.1.2.3/8` is `10.0.0.0/8`, a bare
 * address is a range of its own, and a range of IPv4-mapped addresses is that of the IPv4 addresses. Null for any other
 * text: zones, leading zeros, white space, masks.
 */
export function parseRange(text: string): string | null {
  const [address = '', prefix, ...more] = text.split('/')
  if (more.length > 0 || (prefix !== undefined && !PREFIX.test(prefix))) return null
  const width = isIPv4(address) ? 32 : 128
  if (width === 128 && (!isIPv6(address) || address.includes('%'))) return null
  const bits = prefix === undefined ? width : Number(prefix)
  if (bits > width) return null
  const network = masked(width === 32 ? ipv4Number(address) : ipv6Number(address), width, bits)
  if (width === 32) return `${ipv4Text(network)}/${bits}`
  if (bits >= 96 && network >> 32n === MAPPED >> 32n) return `${ipv4Text(network - MAPPED)}/${bits - 96}`
  return `${ipv6Text(network)}/${bits}`
}

const masked = (address: bigint, width: number, bits: number): bigint => {
  const rest = BigInt(width - bits)
  return (address >> rest) << rest
}

const ipv4Number = (address: string): bigint =>
  address.split('.').reduce((number, part) => (number << 8n) | BigInt(part), 0n)

const ipv4Text = (number: bigint): string => [24n, 16n, 8n, 0n].map((shift) => (number >> shift) & 255n).join('.')

function ipv6Number(address: string): bigint {
  // An IPv4 address at the end stands for the last two groups.
  const end = address.lastIndexOf(':') + 1
  const last = address.slice(end)
  const embedded = isIPv4(last) ? ipv4Number(last) : null
  const plain =
    embedded === null
      ? address
      : `${address.slice(0, end)}${(embedded >> 16n).toString(16)}:${(embedded & 0xffffn).toString(16)}`
  const [head, tail] = plain.split('::').map((part) => (part === '' ? [] : part.split(':'))) as [string[], string[]?]
  const groups = tail ? head.concat(Array<string>(8 - head.length - tail.length).fill('0'), tail) : head
  return groups.reduce((number, group) => (number << 16n) | BigInt(`0x${group}`), 0n)
}

const ipv6Text = (number: bigint): string =>
  Array.from({ length: 8 }, (_, at) => ((number >> BigInt(112 - 16 * at)) & 0xffffn).toString(16)).join(':')
