/**
 * The connections that downloads go over. The check of an address is here, at the one place where a socket is opened,
 * so that no caller and no redirect can go round it: a name is resolved once, every answer is checked, and the socket
 * goes to exactly the checked addresses. A name that answers differently the next time (DNS rebinding) gains nothing.
 */
import { lookup } from 'node:dns/promises'
import type { LookupFunction } from 'node:net'
import { isIP } from 'node:net'
import { callbackify } from 'node:util'
import { Agent, buildConnector } from 'undici'
import { isPublicAddress } from '../../shared/requests/addresses.ts'
import { FetchFailed, toFetchFailed } from './failure.ts'

/** An address that a name resolves to. */
export type ResolvedAddress = { address: string; family: number }

/**
 * Finds all addresses of a host name, or fails with a code such as `ENOTFOUND`. The signal cancels it where it can be.
 */
export type Resolver = (hostname: string, signal: AbortSignal) => Promise<ResolvedAddress[]>

/**
 * The machine's own resolver, for names in the operator's configuration alone: it runs in the thread pool and cannot be
 * cancelled (see `names.ts`).
 */
export const systemResolver: Resolver = (hostname) => lookup(hostname, { all: true, verbatim: true })

/** The refusal of an address that is not public. */
export const notPublic = () => new FetchFailed('refused', 'The address leads into a network that is not public.')

/** The addresses of a name, all of them public. @throws FetchFailed `refused` if one is not, `unresolved` */
export async function publicAddressesOf(
  hostname: string,
  resolve: Resolver,
  signal: AbortSignal,
): Promise<ResolvedAddress[]> {
  const addresses = await addressesOf(hostname, resolve, signal)
  if (!addresses.every(({ address }) => isPublicAddress(address))) throw notPublic()
  return addresses
}

async function addressesOf(hostname: string, resolve: Resolver, signal: AbortSignal): Promise<ResolvedAddress[]> {
  const addresses = await resolve(hostname, signal).catch((error: unknown) => {
    throw toFetchFailed(error)
  })
  if (addresses.length === 0) throw toFetchFailed({ code: 'ENODATA' })
  return addresses
}

/** Node's form of a look-up: one address or all, by callback. */
function lookupBy(find: (hostname: string) => Promise<ResolvedAddress[]>): LookupFunction {
  const findByCallback = callbackify(find)
  return (hostname, options, callback) => {
    findByCallback(hostname, (error, addresses) => {
      if (error) callback(error, '', 0)
      else if (options.all) callback(null, addresses)
      else callback(null, addresses[0]!.address, addresses[0]!.family)
    })
  }
}

/** What cancels the look-ups of connections that outlive a single download: nothing but their own limits. */
const NEVER = new AbortController().signal

/** Where an address is found: itself, but in tests, where a local server replaces one of the public internet. */
export type Dial = (address: ResolvedAddress) => ResolvedAddress

/** Connections to the public internet only. `signal` cancels their look-ups. */
export function publicConnections(
  resolve: Resolver,
  connectMs: number,
  { signal = NEVER, dial = (address) => address }: { signal?: AbortSignal; dial?: Dial | undefined } = {},
): Agent {
  const lookUp = lookupBy(async (hostname) => (await publicAddressesOf(hostname, resolve, signal)).map(dial))
  const connect = buildConnector({ timeout: connectMs, lookup: lookUp })
  return new Agent({
    // Node calls no lookup hook for a literal address: a guard of names alone would let http://127.0.0.1 through.
    connect: (target, callback) => {
      if (isIP(target.hostname) !== 0 && !isPublicAddress(target.hostname)) callback(notPublic(), null)
      else connect(target, callback)
    },
  })
}

/** Connections to addresses of the operator's configuration. They share no socket with the others. */
export function trustedConnections(resolve: Resolver, connectMs: number): Agent {
  return new Agent({
    connect: { timeout: connectMs, lookup: lookupBy((hostname) => addressesOf(hostname, resolve, NEVER)) },
  })
}
