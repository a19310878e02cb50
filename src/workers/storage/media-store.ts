/**
 * The writing side of the media storage: what every driver promises. The reading side is `src/shared/media/reader.ts`.
 */
import type { MediaExtension, MediaName, MediaType } from '../../shared/media/media.ts'
import type { MediaExpectation } from './inspect.ts'

/** A result to be kept. */
export type SaveRequest = MediaExpectation & {
  /** The name for the type that the bytes turn out to be: `(extension) => mediaName(secret, callId, 0, extension)`. */
  name: (extension: MediaExtension) => MediaName
  source: AsyncIterable<Uint8Array>
}

/** A result that is kept. */
export type SavedMedia = { name: MediaName; contentType: MediaType; bytes: number }

/** Keeps media results. */
export type MediaStore = {
  /**
   * Keeps a result, in constant memory however large it is. When it returns, the result is complete, durable and
   * readable under its name; when it throws, nothing is. Saving under a name again replaces what was there.
   * @throws MediaRefused for bytes that are no complete file of the expected kind; whatever the source throws
   */
  save(request: SaveRequest): Promise<SavedMedia>
  /** Forgets a result; none under that name is no error. */
  remove(name: MediaName): Promise<void>
  /** Forgets what was saved longer ago than so many days, and what broken-off saves left. Returns how many results. */
  sweep(olderThanDays: number): Promise<number>
}
