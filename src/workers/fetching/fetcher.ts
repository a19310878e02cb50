/**
 * The one way in which workers fetch what an address names: references of customers and results of upstreams
 * (docs/api.md#addresses-in-requests).
 * It reaches public addresses, and an upstream's own configured origin; nothing else.
 */
import type { Agent } from 'undici'
import type { MediaExtension, MediaType } from '../../shared/media/media.ts'
import { MEDIA_TYPES, parseDataImage } from '../../shared/media/media.ts'
import { inspect } from '../storage/inspect.ts'
import { ByteBudget } from './byte-budget.ts'
import type { Resolver } from './connections.ts'
import { publicConnections, systemResolver, trustedConnections } from './connections.ts'
import type { Destination } from './destinations.ts'
import { destinationOf } from './destinations.ts'
import type { Download, DownloadOptions, FetchTimeouts } from './download.ts'
import { download } from './download.ts'
import { createNameResolver, oncePerCall } from './names.ts'

const TIMEOUTS: FetchTimeouts = { connect: 5000, firstByte: 60_000, idle: 30_000, total: 600_000 }

/** The largest image that a customer's `image_url` may name, in bytes (docs/api.md#addresses-in-requests). */
export const MAX_REFERENCE_BYTES = 20 * 1024 * 1024

/** Images of customers that are in this process at once, being fetched or being sent on, in bytes. */
const REFERENCE_BYTES = 160 * 1024 * 1024

/** A complete image in memory. Its pieces are the whole file, in their order. */
export type FetchedImage = { pieces: Uint8Array[]; contentType: MediaType; extension: MediaExtension }

/** Fetches. Everything throws `FetchFailed`, or the signal's reason once that has aborted. */
export type Fetcher = {
  /** Opens the http(s) address of a result and returns when the body begins. */
  download(url: string, options: DownloadOptions): Promise<Download>
  /**
   * Gives `use` the image that a customer's `image_url` names, fetched or decoded, and found complete. `signal` is its
   * call's. Its bytes count until `use` has ended: too many images at once wait for each other, in the order they came.
   * @throws MediaRefused too, for what is no complete PNG, JPEG, WebP or GIF of at most 20 MB; whatever `use` throws
   */
  withImage<T>(imageUrl: string, signal: AbortSignal, use: (image: FetchedImage) => Promise<T>): Promise<T>
  /**
   * Where a customer's http(s) addresses lead, before they are fetched or handed on to an upstream that fetches by
   * itself. `signal` is their call's: what is looked up for it here is not looked up again by `withImage`.
   */
  destinationOf(urls: readonly string[], signal: AbortSignal): Promise<Destination>
  /** Closes all connections, those of downloads that still run too. */
  close(): Promise<void>
}

/** What can be put in the place of the real thing. */
export type FetcherSettings = {
  /** Finds names of customers and of results. */
  resolver?: Resolver
  /** Finds the names of upstreams' configured origins. */
  upstreamResolver?: Resolver
  timeouts?: Partial<FetchTimeouts>
  /** Bytes of customers' images at once: at least one of the largest. */
  referenceBytes?: number
}

/**
 * A fetcher with connections of its own. Proxy variables of the environment are not obeyed. Names of customers, names
 * of results and names of upstreams are looked up apart from each other: none waits for another kind.
 */
export function createFetcher(settings: FetcherSettings = {}): Fetcher {
  const limits = { ...TIMEOUTS, ...settings.timeouts }
  const customerNames = oncePerCall(settings.resolver ?? createNameResolver())
  const results = publicConnections(settings.resolver ?? createNameResolver(), limits.connect)
  const trusted = trustedConnections(settings.upstreamResolver ?? systemResolver, limits.connect)
  const references = new Set<Agent>()
  const budget = new ByteBudget(settings.referenceBytes ?? REFERENCE_BYTES)
  const withReferences = async (signal: AbortSignal, fetch: (open: Fetcher['download']) => Promise<FetchedImage>) => {
    const agent = publicConnections(customerNames(signal), limits.connect, signal)
    references.add(agent)
    try {
      return await fetch((url, options) => download({ public: agent, trusted }, limits, url, options))
    } finally {
      references.delete(agent)
      await agent.destroy()
    }
  }
  return {
    download: (url, options) => download({ public: results, trusted }, limits, url, options),
    withImage: async (imageUrl, signal, use) => {
      const share = await budget.take(MAX_REFERENCE_BYTES, signal)
      try {
        const image = await withReferences(signal, (open) => fetchImage(open, imageUrl, signal))
        share.lowerTo(image.pieces.reduce((sum, { length }) => sum + length, 0))
        return await use(image)
      } finally {
        share.release()
      }
    },
    destinationOf: (urls, signal) => destinationOf(urls, customerNames(signal), limits.connect, signal),
    close: async () => {
      await Promise.all([results, trusted, ...references].map((agent) => agent.destroy()))
    },
  }
}

async function fetchImage(open: Fetcher['download'], imageUrl: string, signal: AbortSignal): Promise<FetchedImage> {
  const limit = { kind: 'image', maxBytes: MAX_REFERENCE_BYTES } as const
  const inline = parseDataImage(imageUrl)
  const source = inline ? decoded(inline.base64) : (await open(imageUrl, { ...limit, signal })).body
  const { extension, body } = await inspect(source, limit)
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return { pieces, contentType: MEDIA_TYPES[extension], extension }
}

async function* decoded(base64: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(base64, 'base64')
}
