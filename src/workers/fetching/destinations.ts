/** Where the addresses of a request lead: the check before they are fetched or handed on to an upstream. */
import { hasUsualPort, literalAddress, namesPublicHost } from '../../shared/requests/addresses.ts'
import type { Resolver } from './connections.ts'
import { publicAddressesOf } from './connections.ts'
import { startDeadline, unlessAborted } from './deadline.ts'
import { parseUrl } from './download.ts'
import { FetchFailed } from './failure.ts'

/**
 * - `public`: every name has addresses of the public internet alone.
 * - `unresolved`: some names have no address now, or their name servers give no answer; the rest are public.
 * - `unchecked`: some names could not be asked for in time, so nothing may be handed on.
 * - `private`: an address or a name leads to somewhere that is not public, or to a port that is not a web server's.
 */
export type Destination = 'public' | 'unresolved' | 'unchecked' | 'private'

const FROM_BEST_TO_WORST: readonly Destination[] = ['public', 'unresolved', 'unchecked', 'private']

/** The most names of one request that are looked up at once. */
const NAMES_AT_ONCE = 4

/**
 * The worst that is found at http(s) addresses. Each name is looked up once, a few at once, all of them within
 * `limitMs`.
 * @throws the signal's reason once that has aborted
 */
export async function destinationOf(
  urls: readonly string[],
  resolve: Resolver,
  limitMs: number,
  signal: AbortSignal,
): Promise<Destination> {
  const names = namesOf(urls)
  if (names === null) return 'private'
  const found = new Set<Destination>(['public'])
  const deadline = startDeadline(signal, limitMs)
  const queueWorkers = Array.from({ length: Math.min(NAMES_AT_ONCE, names.length) }, async () => {
    while (names.length > 0 && !found.has('private')) {
      if (deadline.signal.aborted) {
        found.add('unchecked')
        return
      }
      found.add(await destinationOfName(names.shift()!, resolve, deadline.signal))
    }
  })
  try {
    await Promise.all(queueWorkers)
  } finally {
    deadline.release()
  }
  signal.throwIfAborted()
  return FROM_BEST_TO_WORST.findLast((one) => found.has(one))!
}

/** The different names in addresses; null if one may not be reached by its spelling. */
function namesOf(urls: readonly string[]): string[] | null {
  const names = new Set<string>()
  for (const text of urls) {
    const url = readable(text)
    if (url === null || !namesPublicHost(url) || !hasUsualPort(url)) return null
    if (literalAddress(url) === null) names.add(url.hostname)
  }
  return [...names]
}

function readable(text: string): URL | null {
  try {
    return parseUrl(text)
  } catch {
    return null
  }
}

async function destinationOfName(name: string, resolve: Resolver, signal: AbortSignal): Promise<Destination> {
  try {
    await unlessAborted(() => publicAddressesOf(name, resolve, signal), signal)
    return 'public'
  } catch (error) {
    if (signal.aborted || !(error instanceof FetchFailed) || error.problem === 'unchecked') return 'unchecked'
    return error.problem === 'refused' ? 'private' : 'unresolved'
  }
}
