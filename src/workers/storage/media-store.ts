/**
 * The writing side of the media storage: what every driver promises. The reading side is `src/shared/media/reader.ts`.
 */
import type { MediaExtension, MediaName, MediaType } from '../../shared/media/media.ts'
import type { MediaExpectation } from './inspect.ts'

/** A result to store. */
export type SaveRequest = MediaExpectation & {
  /** The name for the type that the bytes turn out to be: `(extension) => mediaName(secret, callId, 0, extension)`. */
  name: (extension: MediaExtension) => MediaName
  source: AsyncIterable<Uint8Array>
}

/** A stored result. */
export type SavedMedia = { name: MediaName; contentType: MediaType; bytes: number }

/** Stores media results. */
export type MediaStore = {
  /**
   * Stores a result of any size in constant memory. When it returns, the result is complete, durable and
   * readable under its name; when it throws, nothing is. Saving under a name again replaces what was there.
   * @throws MediaRefused for bytes that are no complete file of the expected kind; what the source throws
   */
  save(request: SaveRequest): Promise<SavedMedia>
  /** Forgets a result; none under that name is no error. */
  remove(name: MediaName): Promise<void>
  /** Removes results older than `olderThanDays`, and the remains of failed saves. Returns how many results. */
  sweep(olderThanDays: number): Promise<number>
}
