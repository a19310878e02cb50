/**
 * The addresses that customers name: `image_url` of media, image parts of chats (docs/api.md#addresses-in-requests).
 */
import type { ChatRequest, MediaRequest } from '../../shared/calls/requests.ts'
import { addressesOf } from '../../shared/calls/requests.ts'
import type { Destination } from '../fetching/destinations.ts'
import type { Fetcher } from '../fetching/fetcher.ts'
import { FetchFailed } from '../fetching/failure.ts'
import { MediaRefused } from '../storage/refused.ts'
import { UpstreamError } from '../upstreams/adapter.ts'
import type { WithReference } from '../upstreams/references.ts'
import { platformSignal } from '../stop.ts'
import type { StopSignal } from '../stop.ts'

/** The http(s) addresses of a request that an upstream would fetch, or we for it. */
export function addressesIn(request: ChatRequest | MediaRequest): string[] {
  const all =
    'messages' in request
      ? (request as ChatRequest).messages.flatMap((message) => addressesOf(message).map(({ url }) => url))
      : [request.image_url]
  return all.filter((url): url is string => typeof url === 'string' && /^https?:/i.test(url))
}

/** A request names an address that may not be handed on: nothing was sent. Its message is public. */
export class AddressRefused extends Error {}

const REFUSALS: Partial<Record<Destination, string>> = {
  private: 'image_url leads to an address that is not public.',
  unchecked: 'The names in image_url could not be looked up in time.',
}

/**
 * Looks up the names in a request, just before they are fetched or passed on; the web process has checked only their
 * spelling. A name that does not resolve is left to the upstream that fetches it. `signal` is the call's.
 * @throws AddressRefused where a name leads into a private network now, or could not be looked up at all
 */
export async function checkDestinations(
  fetcher: Fetcher,
  request: ChatRequest | MediaRequest,
  signal: StopSignal,
): Promise<void> {
  const addresses = addressesIn(request)
  if (addresses.length === 0) return signal.throwIfAborted()
  const refusal = REFUSALS[await fetcher.destinationOf(addresses, platformSignal(signal))]
  if (refusal) throw new AddressRefused(refusal)
}

/** Fetches references for adapters that send bytes. */
export function referencesBy(fetcher: Fetcher): WithReference {
  return async (url, signal, send) => {
    let isSending = false
    try {
      return await fetcher.withImage(url, signal, (image) => {
        isSending = true
        return send(image)
      })
    } catch (error) {
      if (isSending) throw error
      if (error instanceof FetchFailed || error instanceof MediaRefused) {
        throw new UpstreamError('rejected', `image_url: ${error.message}`, { cause: error })
      }
      if (signal.aborted) throw new UpstreamError('aborted', 'ended while the reference was fetched', { cause: error })
      throw error
    }
  }
}
