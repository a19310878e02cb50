/**
 * The images that one call names: fetched or decoded, found complete, and held until the call's work at its upstreams
 * has ended (docs/api/README.md#addresses-in-requests).
 */
import type { FairQueue, Share } from '../../shared/platform/fair-queue.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import type { MediaExtension, MediaType } from '../../shared/media/media.ts'
import { MEDIA_TYPES, parseDataImage } from '../../shared/media/media.ts'
import { placeOfUpload } from '../../shared/requests/requests.ts'
import { inspect } from '../storage/inspect.ts'
import { MediaRefused } from '../storage/refused.ts'
import type { Resolver } from './connections.ts'
import { destinationOf } from './destinations.ts'
import type { Destination } from './destinations.ts'
import type { Download, DownloadOptions } from './download.ts'
import { FetchFailed } from './failure.ts'
import type { RecentFailures } from './recent-failures.ts'
import { ReferenceClock } from './reference-clock.ts'
import type { ReferencePace } from './reference-clock.ts'

/** The most bytes of the images of one call together (docs/api/README.md#addresses-in-requests). */
export const MAX_REFERENCE_BYTES = 20 * 1024 * 1024

/** What an image may unpack to, in bytes: who gets it has to hold that. */
const MAX_UNPACKED_BYTES = 64 * 1024 * 1024

/** What is read of a call's images before it is counted: a server that sends nothing takes no bytes from others. */
const UNCOUNTED_BYTES = 64 * 1024

/** The most images of one call that are fetched at once. */
const AT_ONCE = 4

/** A complete image in memory. Its pieces are the whole file, in their order. */
export type FetchedImage = { pieces: Uint8Array[]; contentType: MediaType; extension: MediaExtension }

/** The call whose images they are. `signal` ends their fetching; `files`: those of its form, by their places. */
export type ImagesCall = {
  account: AccountId
  signal: AbortSignal
  files?: readonly { bytes: number; open: () => AsyncIterable<Uint8Array> }[] | undefined
}

/** What they are fetched with. */
export type ImageDeps = {
  resolve: Resolver
  open: (url: string, options: DownloadOptions) => Promise<Download>
  budget: FairQueue
  failures: RecentFailures
  pace: ReferencePace
  /** How long all names of a call may take to look up, in ms. */
  lookUpMs: number
}

/** The images of one call. Nothing is held before the first is asked for. */
export class CallImages {
  private readonly deps: ImageDeps
  private readonly call: ImagesCall
  private readonly clock: ReferenceClock
  private readonly images = new Map<string, FetchedImage>()
  private bytes = 0
  private counting: Promise<Share> | null = null
  private share: Share | null = null

  constructor(deps: ImageDeps, call: ImagesCall) {
    this.deps = deps
    this.call = call
    this.clock = new ReferenceClock(deps.pace, call.signal)
  }

  /**
   * Looks up where http(s) addresses lead, before they are fetched or handed on. What is looked up here is not looked
   * up again by `fetch`.
   * @throws FetchFailed if one leads to what is not public, or could not be looked up in time; the call's reason
   */
  check(urls: readonly string[]): Promise<void> {
    return this.failing(async () => {
      const { resolve, lookUpMs } = this.deps
      const problem = PROBLEMS[await destinationOf(urls, resolve, lookUpMs, this.clock.signal)]
      if (problem) throw new FetchFailed(problem, 'An address leads to what may not be reached.')
    })
  }

  /**
   * The images at addresses, in data URIs, or in files of the call's form. Too many at once wait for each other, in
   * the order they came, those of one account apart.
   * @throws FetchFailed; MediaRefused for what is not a complete PNG, JPEG, WebP or GIF within the limits; the call's
   *   reason
   */
  async fetch(urls: readonly string[]): Promise<ReadonlyMap<string, FetchedImage>> {
    const missing = [...new Set(urls)].filter((url) => !this.images.has(url))
    if (missing.length > 0) await this.failing(() => this.fetchAll(missing))
    return this.images
  }

  /** Gives back what they hold. */
  async release(): Promise<void> {
    this.clock.close()
    const share = await this.counting?.catch(() => null)
    share?.release()
  }

  private async fetchAll(urls: string[]): Promise<void> {
    const isOnly = urls.length === 1
    const queueWorkers = Array.from({ length: Math.min(AT_ONCE, urls.length) }, async () => {
      try {
        for (let url = urls.shift(); url !== undefined; url = urls.shift()) {
          this.images.set(url, await this.fetchOne(url, isOnly))
        }
      } catch (error) {
        // The others are of no use any more.
        this.clock.end(error as Error)
      }
    })
    await Promise.all(queueWorkers)
    this.clock.signal.throwIfAborted()
    this.share?.lowerTo(this.bytes)
  }

  private async fetchOne(url: string, isOnly: boolean): Promise<FetchedImage> {
    const source = await this.sourceOf(url, isOnly)
    const limits = { kind: 'image', maxBytes: MAX_REFERENCE_BYTES, maxUnpackedBytes: MAX_UNPACKED_BYTES } as const
    const { extension, body } = await inspect(source, limits)
    const pieces: Uint8Array[] = []
    for await (const piece of body) pieces.push(piece)
    return { pieces, contentType: MEDIA_TYPES[extension], extension }
  }

  private async sourceOf(url: string, isOnly: boolean): Promise<AsyncIterable<Uint8Array>> {
    const file = this.call.files?.[placeOfUpload(url) ?? -1]
    if (file) return this.counted(file.open(), file.bytes)
    const inline = /^data:/i.test(url) ? parseDataImage(url) : null
    if (inline && 'base64' in inline) return this.decoded(inline.base64)
    return this.clock.watched(await this.opened(url, isOnly))
  }

  private async opened(url: string, isOnly: boolean): Promise<AsyncIterable<Uint8Array>> {
    const options = { kind: 'image', maxBytes: MAX_REFERENCE_BYTES, signal: this.clock.signal } as const
    const { declaredBytes, body } = await this.deps.open(url, options)
    return this.counted(body, isOnly ? declaredBytes : null)
  }

  private async *decoded(base64: string): AsyncGenerator<Uint8Array, void, void> {
    this.bytes += Buffer.byteLength(base64, 'base64')
    await this.count(this.bytes)
    yield Buffer.from(base64, 'base64')
  }

  /** Counts the bytes of an image once there are some to speak of, by the length that its server declares. */
  private async *counted(
    source: AsyncIterable<Uint8Array>,
    declaredBytes: number | null,
  ): AsyncGenerator<Uint8Array, void, void> {
    for await (const piece of source) {
      this.bytes += piece.length
      await this.count(declaredBytes ?? MAX_REFERENCE_BYTES)
      yield piece
    }
  }

  /**
   * Takes the bytes of the whole call from the budget, once there are some to speak of: who holds bytes never waits for
   * more. @param bytes how many it will be
   */
  private async count(bytes: number): Promise<void> {
    if (this.bytes > MAX_REFERENCE_BYTES) {
      throw new MediaRefused('too_large', `The images are larger than ${MAX_REFERENCE_BYTES} bytes.`)
    }
    if (this.share || this.bytes <= UNCOUNTED_BYTES) return
    const { account, signal } = this.call
    const counting = (this.counting ??= this.deps.budget.take(account, Math.min(bytes, MAX_REFERENCE_BYTES), signal))
    this.share = await this.clock.paused(() => counting)
  }

  /** Does something that a customer's address can make fail, and counts that. */
  private async failing(work: () => Promise<void>): Promise<void> {
    const { failures } = this.deps
    const { account, signal } = this.call
    signal.throwIfAborted()
    if (failures.isOver(account)) throw new FetchFailed('too_many', 'Too many images could not be had lately.')
    try {
      await this.clock.during(work)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof FetchFailed || error instanceof MediaRefused) failures.add(account)
      throw error
    }
  }
}

const PROBLEMS: Partial<Record<Destination, 'refused' | 'unchecked'>> = { private: 'refused', unchecked: 'unchecked' }
