/**
 * The addresses that customers name: `image_url` of media, image parts of chats (contract section 8).
 */
import type { ChatRequest, MediaRequest } from '../shared/calls/requests.ts'
import { addressesOf } from '../shared/calls/requests.ts'
import type { Fetcher } from './fetching/fetcher.ts'
import { FetchFailed } from './fetching/failure.ts'
import { MediaRefused } from './storage/refused.ts'
import { UpstreamError } from './upstreams/adapter.ts'
import type { FetchReference } from './upstreams/references.ts'

/** The http(s) addresses of a request that an upstream would fetch, or we for it. */
export function addressesIn(request: ChatRequest | MediaRequest): string[] {
  const all = 'messages' in request
    ? (request as ChatRequest).messages.flatMap((message) => addressesOf(message).map(({ url }) => url))
    : [request.image_url]
  return all.filter((url): url is string => typeof url === 'string' && /^https?:/i.test(url))
}

/** A request names an address in a private network: nothing was sent. */
export class LeadsInside extends Error {}

/**
 * Whether a name in the request leads into a private network now. The web has checked the spelling; only here is the
 * name resolved, just before it is fetched or handed on. One that does not resolve is the fetching upstream's business.
 */
export async function leadsInside(fetcher: Fetcher, request: ChatRequest | MediaRequest, signal: AbortSignal): Promise<boolean> {
  const answers = await Promise.all(addressesIn(request).map((url) => fetcher.resolvesPublicly(url, signal)))
  return answers.includes('private')
}

/** Fetches references for adapters that send bytes. */
export function fetchReferences(fetcher: Fetcher): FetchReference {
  return async (url, signal) => {
    try {
      return await fetcher.image(url, signal)
    } catch (error) {
      if (error instanceof FetchFailed || error instanceof MediaRefused) {
        throw new UpstreamError('rejected', `image_url: ${error.message}`, { cause: error })
      }
      if (signal.aborted) throw new UpstreamError('aborted', 'ended while the reference was fetched', { cause: error })
      throw error
    }
  }
}
