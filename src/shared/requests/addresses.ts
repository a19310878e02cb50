/**
 * Which addresses a customer may name and the workers may connect to (docs/api/README.md#addresses-in-requests). A text
 * is judged by what the WHATWG URL parser makes of it, because the same parser is used to connect: `127.1`, `0x7f.1`,
 * `2130706433` and full-width digits are all 127.0.0.1 to it. Pure: no DNS queries; what a name resolves to is checked
 * in `src/workers/fetching`.
 */
import { BlockList, isIP } from 'node:net'
import { parseDataImage } from '../media/media.ts'
import { hasAtMost } from '../platform/text-fields.ts'

/** The longest address, in characters. */
const MAX_URL_LENGTH = 2048

/**
 * IPv4 networks that are not the public internet: the IANA IPv4 Special-Purpose Address Registry, multicast, the
 * reserved class E, and 168.63.129.16, a public address that answers every Azure machine with its own configuration.
 */
const SPECIAL_IPV4: readonly (readonly [network: string, prefix: number])[] = [
  ['0.0.0.0', 8], // this network
  ['10.0.0.0', 8], // private
  ['100.64.0.0', 10], // shared by carriers (CGNAT); also a cloud's metadata address
  ['127.0.0.0', 8], // loopback
  ['168.63.129.16', 32], // Azure's host agent
  ['169.254.0.0', 16], // link-local, with the metadata address of most clouds
  ['172.16.0.0', 12], // private
  ['192.0.0.0', 24], // protocol assignments
  ['192.0.2.0', 24], // documentation
  ['192.88.99.0', 24], // former 6to4 relays
  ['192.168.0.0', 16], // private
  ['198.18.0.0', 15], // benchmarks
  ['198.51.100.0', 24], // documentation
  ['203.0.113.0', 24], // documentation
  ['224.0.0.0', 4], // multicast
  ['240.0.0.0', 4], // reserved, broadcast
]

/** Networks inside 2000::/3 that are not the public internet (IANA IPv6 Special-Purpose Address Registry). */
const SPECIAL_IPV6: readonly (readonly [network: string, prefix: number])[] = [
  ['2001::', 23], // protocol assignments: Teredo, benchmarks, ORCHID
  ['2001:db8::', 32], // documentation
  ['2002::', 16], // 6to4: an IPv4 address in disguise
  ['3fff::', 20], // documentation
]

/**
 * IPv6 prefixes whose last 32 bits are an IPv4 address that is really meant: IPv4-mapped, and the NAT64 prefix by
 * which IPv6-only hosts reach the whole IPv4 internet. Such an address is as public as the one inside it.
 */
const CARRIES_IPV4 = ['::ffff:', '64:ff9b::'] as const

const special = new BlockList()
for (const [network, prefix] of SPECIAL_IPV4) {
  special.addSubnet(network, prefix, 'ipv4')
  for (const carrier of CARRIES_IPV4) special.addSubnet(`${carrier}${network}`, 96 + prefix, 'ipv6')
}
for (const [network, prefix] of SPECIAL_IPV6) special.addSubnet(network, prefix, 'ipv6')

const routedIpv6 = new BlockList()
routedIpv6.addSubnet('2000::', 3, 'ipv6')
for (const carrier of CARRIES_IPV4) routedIpv6.addSubnet(`${carrier}0.0.0.0`, 96, 'ipv6')

/**
 * Whether an IP address (no brackets, no zone) belongs to the public internet. False for everything private, loopback,
 * link-local, shared, multicast, reserved or documentation, for such an address inside an IPv6 one, and for a text that
 * is not an IP address.
 */
export function isPublicAddress(ip: string): boolean {
  switch (isIP(ip)) {
    case 4:
      return !special.check(ip, 'ipv4')
    case 6:
      return !ip.includes('%') && routedIpv6.check(ip, 'ipv6') && !special.check(ip, 'ipv6')
    default:
      return false
  }
}

/**
 * The IP address that a URL's host is, without brackets, or null for a name. Needed because Node calls no lookup hook
 * for a literal address: a guard of names alone would let `http://127.0.0.1` through.
 */
export function literalAddress(url: URL): string | null {
  const host = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname
  return isIP(host) === 0 ? null : host
}

/** Top-level names of a private network or of the machine itself (RFC 6761, 6762, 7686, 8375; ICANN). */
const PRIVATE_SUFFIXES = [
  'localhost',
  'localdomain',
  'local',
  'internal',
  'intranet',
  'private',
  'corp',
  'home',
  'lan',
  'arpa',
  'onion',
]

/** Whether a host name, as the URL parser spells it, can name a host of the public internet. */
function isPublicName(hostname: string): boolean {
  const labels = hostname.replace(/\.$/, '').split('.')
  const wellFormed = labels.every((label) => /^[a-z0-9_-]{1,63}$/.test(label))
  return wellFormed && labels.length > 1 && hostname.length <= 253 && !PRIVATE_SUFFIXES.includes(labels.at(-1)!)
}

/**
 * Whether the host of a URL can be on the public internet, judging by its spelling: a public IP address, or a name of
 * at least two labels under no private suffix.
 */
export function namesPublicHost(url: URL): boolean {
  const literal = literalAddress(url)
  return literal === null ? isPublicName(url.hostname) : isPublicAddress(literal)
}

/** Ports that web servers have: their own two, and those above 1023, which need no privilege. */
const WEB_PORTS: readonly string[] = ['', '80', '443']

/** Whether the port of an http(s) URL is one of a web server: others are those of other services. */
export const hasUsualPort = ({ port }: URL): boolean => WEB_PORTS.includes(port) || Number(port) > 1023

const ODD_PORT = 'must name port 80, port 443 or a port above 1023'
const SPECIAL_HOST = 'must not name a private, loopback, link-local or otherwise special address'
const MALFORMED = 'must be an http(s) address or a base64 data: URI of a PNG, JPEG, WebP or GIF image'

/**
 * What is wrong with an `image_url`, as the end of a sentence about it, or null if nothing is: an http(s) address of at
 * most 2,048 characters without credentials and with a web server's port, or a base64 data URI of an image. Refuses
 * every spelling of an address that is not public, and the spellings that URL parsers disagree about (backslashes,
 * white space, missing slashes, IPv4 addresses in other forms than `a.b.c.d`): the upstream that gets the text may read
 * another host from it.
 */
export function imageUrlProblem(text: string): string | null {
  if (/^data:/i.test(text)) {
    const image = parseDataImage(text)
    return 'problem' in image ? image.problem : null
  }
  return publicUrlProblem(text, MALFORMED)
}

/**
 * What is wrong with an http(s) address that a customer names, as above. @param malformed the fault of a text that is
 * none
 */
export function publicUrlProblem(text: string, malformed: string): string | null {
  if (!hasAtMost(text, MAX_URL_LENGTH)) {
    return `must be at most ${MAX_URL_LENGTH.toLocaleString('en-US')} characters`
  }
  const authority = /^https?:\/\/([^/?#]+)/i.exec(text)?.[1]
  if (authority === undefined || /[\s\\\p{Cc}]/u.test(text) || !URL.canParse(text)) return malformed
  if (authority.includes('@')) return 'must not contain credentials'
  const url = new URL(text)
  if (!namesPublicHost(url) || isAmbiguous(authority, url)) return SPECIAL_HOST
  return hasUsualPort(url) ? null : ODD_PORT
}

/** Whether an IPv4 address is spelled ambiguously: `0127.0.0.1` is 87.0.0.1 to one parser and 127.0.0.1 to another. */
const isAmbiguous = (authority: string, url: URL): boolean =>
  isIP(url.hostname) === 4 && authority.replace(/:\d*$/, '') !== url.hostname
