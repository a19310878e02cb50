/**
 * The one way in which workers fetch what an address names: references of customers and results of upstreams
 * (contract section 8). It reaches public addresses, and an upstream's own configured origin; nothing else.
 */
import { literalAddress, namesPublicHost } from '../../shared/addresses.ts'
import type { MediaExtension, MediaType } from '../../shared/media.ts'
import { MEDIA_TYPES, parseDataImage } from '../../shared/media.ts'
import { inspect } from '../storage/inspect.ts'
import type { Resolver } from './connections.ts'
import { publicAddressesOf, publicConnections, systemResolver, trustedConnections } from './connections.ts'
import { startDeadline, unlessAborted } from './deadline.ts'
import type { Download, DownloadOptions, FetchTimeouts } from './download.ts'
import { MAX_BYTES, download, parseUrl } from './download.ts'
import { FetchFailed } from './failure.ts'

const TIMEOUTS: FetchTimeouts = { connect: 5000, firstByte: 60_000, idle: 30_000, total: 600_000 }

/** A complete image in memory. */
export type FetchedImage = { bytes: Uint8Array; contentType: MediaType; extension: MediaExtension }

/** Fetches. Everything throws `FetchFailed`, or the signal's reason once that has aborted. */
export type Fetcher = {
  /** Opens an http(s) address and returns when the body begins. */
  download(url: string, options: DownloadOptions): Promise<Download>
  /**
   * The image that a customer's `image_url` names, fetched or decoded, and found complete.
   * @throws MediaRefused too, for what is no complete PNG, JPEG, WebP or GIF
   */
  image(imageUrl: string, signal: AbortSignal): Promise<FetchedImage>
  /**
   * Where a customer's address leads, before it is handed on to an upstream that fetches by itself: to the public
   * internet alone, to somewhere else too, or (for now) nowhere. A data URI leads nowhere else, and is public.
   */
  resolvesPublicly(imageUrl: string, signal: AbortSignal): Promise<'public' | 'private' | 'unresolved'>
  /** Closes all connections, those of downloads that still run too. */
  close(): Promise<void>
}

/** What can be put in the place of the real thing. */
export type FetcherSettings = { resolver?: Resolver; timeouts?: Partial<FetchTimeouts> }

/** A fetcher with connections of its own. Proxy variables of the environment are not obeyed. */
export function createFetcher({ resolver = systemResolver, timeouts = {} }: FetcherSettings = {}): Fetcher {
  const limits = { ...TIMEOUTS, ...timeouts }
  const agents = {
    public: publicConnections(resolver, limits.connect), trusted: trustedConnections(resolver, limits.connect),
  }
  const open: Fetcher['download'] = (url, options) => download(agents, limits, url, options)
  return {
    download: open,
    image: (imageUrl, signal) => fetchImage(open, imageUrl, signal),
    resolvesPublicly: (imageUrl, signal) => whereTo(resolver, limits.connect, imageUrl, signal),
    close: async () => {
      await Promise.all([agents.public.destroy(), agents.trusted.destroy()])
    },
  }
}

async function fetchImage(open: Fetcher['download'], imageUrl: string, signal: AbortSignal): Promise<FetchedImage> {
  const inline = parseDataImage(imageUrl)
  const source = inline ? decoded(inline.base64) : (await open(imageUrl, { kind: 'image', signal })).body
  const { extension, body } = await inspect(source, { kind: 'image', maxBytes: MAX_BYTES.image })
  const chunks: Uint8Array[] = []
  for await (const chunk of body) chunks.push(chunk)
  return { bytes: Buffer.concat(chunks), contentType: MEDIA_TYPES[extension], extension }
}

async function* decoded(base64: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(base64, 'base64')
}

async function whereTo(
  resolver: Resolver, limitMs: number, imageUrl: string, signal: AbortSignal,
): ReturnType<Fetcher['resolvesPublicly']> {
  if (parseDataImage(imageUrl)) return 'public'
  const deadline = startDeadline(signal, limitMs)
  try {
    const url = parseUrl(imageUrl)
    if (!namesPublicHost(url)) return 'private'
    if (literalAddress(url) === null) await unlessAborted(publicAddressesOf(url.hostname, resolver), deadline.signal)
    return 'public'
  } catch (error) {
    signal.throwIfAborted()
    return error instanceof FetchFailed && error.problem === 'refused' ? 'private' : 'unresolved'
  } finally {
    deadline.release()
  }
}
