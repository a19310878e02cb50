/**
 * What the answers of all dialects have in common that are put together from frames: how long one may become, and how
 * many words it has.
 */
import type { Fields } from '../platform/fields.ts'
import { tokensOfWords } from '../requests/token-count.ts'

/**
 * Why something ends an answer that its upstream did not end: as if it were whole, at a limit, or its reader
 * disconnected.
 */
export type CutOff = 'stop' | 'length' | 'cancelled'

/** An answer that is put together up to a bound. */
export abstract class Assembly {
  /** The UTF-8 bytes of the words so far. */
  words = 0
  private bytes = 0
  private readonly maxBytes: number

  /** @param maxBytes how long the answer may become, as JSON in UTF-8 */
  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
  }

  /** Takes the next frame, or the texts of it that still fit; returns what it took. */
  add(frame: Fields): Fields {
    const size = this.sizeOf(frame)
    const taken = this.bytes + size > this.maxBytes ? this.cut(frame, this.maxBytes - this.bytes) : frame
    this.bytes += size
    this.words += this.wordsIn(taken)
    this.take(taken)
    return taken
  }

  /** Whether it is as long as it may become, or something did not fit any more. */
  get isFull(): boolean {
    return this.bytes >= this.maxBytes
  }

  /** Our own count of the words so far, in tokens. */
  get tokens(): number {
    return tokensOfWords(this.words)
  }

  /** Whether nothing was produced. */
  abstract get isEmpty(): boolean
  /** What was produced so far, as an answer without `usage`. */
  abstract answer(cutOff: CutOff): Fields
  protected abstract take(frame: Fields): void
  /** What a frame adds to the answer and to its words, in bytes; and a frame cut to what fits. */
  protected abstract readonly sizeOf: (frame: Fields) => number
  protected abstract readonly wordsIn: (frame: Fields) => number
  protected abstract readonly cut: (frame: Fields, room: number) => Fields
}

/** The longest prefix of a text that fits into `bytes` bytes of UTF-8. */
export const fitting = (text: string, bytes: number): string =>
  // With more to come, half a character at the end is dropped.
  new TextDecoder().decode(Buffer.from(text).subarray(0, Math.max(0, bytes)), { stream: true })
