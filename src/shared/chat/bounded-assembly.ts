/**
 * What the assemblies of all dialects have in common: how long an answer may become, and how many words it has.
 */
import type { Fields } from '../platform/fields.ts'
import { tokensOfWords } from '../requests/token-count.ts'
import type { Assembly, CutOff } from './answer-form.ts'

/** How a dialect counts its events: what one adds to the answer and its words, in bytes; and one cut to what fits. */
export type EventCounts = {
  sizeOf: (event: Fields) => number
  wordsIn: (event: Fields) => number
  cut: (event: Fields, room: number) => Fields
}

/** An answer that is put together up to a bound. */
export abstract class BoundedAssembly implements Assembly {
  words = 0
  private bytes = 0
  private readonly maxBytes: number
  private readonly counts: EventCounts

  /** @param maxBytes how long the answer may become, as JSON in UTF-8 */
  constructor(maxBytes: number, counts: EventCounts) {
    this.maxBytes = maxBytes
    this.counts = counts
  }

  add(event: Fields): Fields {
    const { sizeOf, wordsIn, cut } = this.counts
    const size = sizeOf(event)
    const taken = this.bytes + size > this.maxBytes ? cut(event, this.maxBytes - this.bytes) : event
    this.bytes += size
    this.words += wordsIn(taken)
    this.take(taken)
    return taken
  }

  get isFull(): boolean {
    return this.bytes >= this.maxBytes
  }

  get tokens(): number {
    return tokensOfWords(this.words)
  }

  abstract get isEmpty(): boolean
  abstract answer(cutOff: CutOff): Fields
  protected abstract take(event: Fields): void
}

/** The longest prefix of a text that fits into `bytes` bytes of UTF-8. */
export const fitting = (text: string, bytes: number): string =>
  // With more to come, half a character at the end is left out.
  new TextDecoder().decode(Buffer.from(text).subarray(0, Math.max(0, bytes)), { stream: true })
