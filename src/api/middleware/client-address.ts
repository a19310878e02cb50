/**
 * The address of the client. Each proxy appends the address it was called from to X-Forwarded-For, so it is read from
 * the right, as many hops as are trusted: everything further left is the client's own invention.
 */
import ipaddr from 'ipaddr.js'
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { Log } from '../../shared/platform/process/log.ts'
import type { ParameterizedContext } from 'koa'
import type { Device } from '../../shared/identity/sessions.ts'
import type { RequestState } from './request-context.ts'

/**
 * The client's IP address, IPv4-mapped IPv6 as IPv4, IPv6 in its canonical form without a zone; empty when it is not
 * known.
 * @param trustedHops how many proxies are in front of this process (TRUST_PROXY); 0 ignores the header.
 */
export function clientAddress(request: Pick<IncomingMessage, 'headers' | 'socket'>, trustedHops: number): string {
  const forwarded = trustedHops > 0 ? [request.headers['x-forwarded-for'] ?? []].flat().join(',').split(',') : []
  // Fewer entries than hops: the leftmost was still written by a proxy.
  const claimed = parseAddress(forwarded[Math.max(0, forwarded.length - trustedHops)] ?? '')
  return claimed ?? parseAddress(request.socket.remoteAddress ?? '') ?? ''
}

/** Warns, once a process, of a proxy that is not trusted to name its clients: all of them share one limit. */
export function warnOfProxies(
  trustedHops: number,
  log: Pick<Log, 'warn'>,
): (request: Pick<IncomingMessage, 'headers'>) => void {
  let isLogged = trustedHops > 0
  return ({ headers }) => {
    if (isLogged || headers['x-forwarded-for'] === undefined) return
    isLogged = true
    log.warn(UNTRUSTED_PROXY)
  }
}

const UNTRUSTED_PROXY =
  'A request came with X-Forwarded-For, which is ignored: TRUST_PROXY is 0. If a proxy stands before this process, ' +
  'its clients share the limits of one address; set TRUST_PROXY to the number of proxies.'

/** Parsed texts, the empty one for what is not an address. Bounded by their characters too: a header may be long. */
const parsed = new LRUCache<string, string>({
  max: 10_000,
  maxSize: 500_000,
  sizeCalculation: (address, text) => address.length + text.length + 1,
})

function parseAddress(text: string): string | null {
  let address = parsed.get(text)
  if (address === undefined) {
    address = canonicalAddress(text)
    // A copy: a part of a header would keep the whole header in memory.
    parsed.set(Buffer.from(text).toString(), address)
  }
  return address === '' ? null : address
}

/** The canonical form of an address as proxies write it: perhaps with a port, in brackets, or with a zone. */
function canonicalAddress(text: string): string {
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](:\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/, '')
  return isIP(bare) === 0 ? '' : ipaddr.process(bare).toString()
}

const USER_AGENT_LENGTH = 200

/** What a session remembers of its client. */
export function deviceOf(ctx: ParameterizedContext<RequestState>, trustedHops: number): Device {
  const userAgent = Array.from(ctx.get('user-agent').replace(/\p{Cc}/gu, ''))
    .slice(0, USER_AGENT_LENGTH)
    .join('')
  return { userAgent, ip: clientAddress(ctx.req, trustedHops) }
}
