/**
 * Media results on their way home: from where an upstream left them into our storage.
 */
import type { MediaExtension, MediaKind, MediaName } from '../shared/media.ts'
import type { MediaStore } from './storage/media-store.ts'
import { MediaRefused } from './storage/refused.ts'
import type { MediaSource } from './upstreams/adapter.ts'
import { UpstreamError } from './upstreams/adapter.ts'

/** Largest result, in bytes. */
const MAX_BYTES: Record<MediaKind, number> = { image: 50 * 1024 * 1024, video: 512 * 1024 * 1024 }

/** Opens a result's address; only public ones and the upstreams' own are reached. */
export type OpenResult = (url: string, options: { kind: MediaKind; maxBytes: number; headers?: Record<string, string>; signal: AbortSignal }) => Promise<AsyncIterable<Uint8Array>>

export type Results = {
  /**
   * Stores a result under the name of its type.
   * @throws UpstreamError `rejected` where it is no complete image or video, `unknown` where it could not be fetched now.
   */
  keep(kind: MediaKind, source: MediaSource, name: (extension: MediaExtension) => MediaName, signal: AbortSignal): Promise<MediaName>
  /** Forgets results older than so many days. */
  sweep(days: number): Promise<number>
}

/** Results over a store and a way to fetch. */
export function createResults(store: MediaStore, open: OpenResult): Results {
  return {
    keep: async (kind, source, name, signal) => {
      try {
        const bytes = source.from === 'bytes' ? once(source.bytes) : await open(source.url, { kind, maxBytes: MAX_BYTES[kind], headers: source.headers, signal })
        return (await store.save({ kind, maxBytes: MAX_BYTES[kind], name, source: bytes })).name
      } catch (error) {
        if (error instanceof MediaRefused) throw new UpstreamError('rejected', `the result was refused: ${error.message}`, { cause: error })
        throw error
      }
    },
    sweep: (days) => store.sweep(days),
  }
}

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes
}
