/** Fetches media results from the upstream's address into our storage. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Upstream } from '../../shared/catalogue/catalogue.ts'
import type { MediaExtension, MediaKind, MediaName } from '../../shared/media/media.ts'
import { MAX_BYTES } from '../fetching/download.ts'
import type { Fetcher } from '../fetching/fetcher.ts'
import { FetchFailed } from '../fetching/failure.ts'
import type { MediaStore } from '../storage/media-store.ts'
import { MediaRefused } from '../storage/refused.ts'
import type { MediaSource } from '../upstreams/adapter.ts'
import { UpstreamError } from '../upstreams/adapter.ts'

/** Pauses between tries to fetch and store a result, in ms: both are free, the result was paid for. */
const PAUSES_MS = [500, 2000]

/** A result to fetch and store. `upstream`: its own origin may be private; nothing else that is private is reached. */
type Produced = {
  kind: MediaKind
  source: MediaSource
  upstream: Upstream
  name: (extension: MediaExtension) => MediaName
}

/** Stores the files that upstreams made. */
export type Results = {
  /**
   * Stores a result under the name of its type.
   * @throws UpstreamError `rejected` if it is no complete image or video, `unknown` where it could not be fetched
   * now; NotStored where our own storage did not take it
   */
  keep(produced: Produced, signal: AbortSignal): Promise<MediaName>
  /** Deletes one result; nothing if it is gone already. */
  remove(name: MediaName): Promise<void>
  /** Deletes results older than this many days; returns how many. */
  sweep(days: number): Promise<number>
}

/** Our own storage is unreachable or full: neither the upstream's fault nor the customer's, and perhaps soon over. */
export class NotStored extends Error {}

/** Results over a store and a way to fetch. */
export function createResults(store: MediaStore, fetcher: Fetcher): Results {
  const save = async ({ kind, source, upstream, name }: Produced, signal: AbortSignal): Promise<MediaName> => {
    const bytes =
      source.from === 'bytes'
        ? once(source.bytes)
        : (
            await fetcher.download(source.url, {
              kind,
              headers: source.headers,
              trustedOrigins: [new URL(upstream.baseUrl).origin],
              signal,
            })
          ).body
    return (await store.save({ kind, maxBytes: MAX_BYTES[kind], name, source: bytes })).name
  }
  return {
    keep: async (produced, signal) => {
      for (let tries = 0; ; tries++) {
        try {
          return await save(produced, signal)
        } catch (error) {
          const meant = meaningOf(error)
          const mayHelp = meant instanceof NotStored || (error instanceof FetchFailed && error.retryable)
          if (signal.aborted) throw signal.reason
          if (!mayHelp || tries >= PAUSES_MS.length) throw meant
          await sleep(PAUSES_MS[tries]!)
        }
      }
    },
    remove: (name) => store.remove(name),
    sweep: (days) => store.sweep(days),
  }
}

function meaningOf(error: unknown): Error {
  if (error instanceof MediaRefused)
    return new UpstreamError('rejected', `The result was refused: ${error.message}`, { cause: error })
  if (error instanceof FetchFailed)
    return new UpstreamError(error.retryable ? 'unknown' : 'rejected', `The result was not fetched: ${error.message}`, {
      cause: error,
    })
  return new NotStored(`the result was not stored: ${(error as Error).message}`, { cause: error })
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
