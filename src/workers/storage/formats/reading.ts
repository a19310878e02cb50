/**
 * Reading a file format from a stream, in one pass and constant memory. A format is a generator that asks for what
 * it needs next (`take` these bytes, `pass` over those); a `Reading` feeds it with chunks as they come. So a format
 * is written down as straight code, and no chunk border can fall where it was not thought of.
 */
import { MediaRefused } from '../refused.ts'

/** What a format asks for. `pass` hands the bytes to `sink` as they come; `until` passes up to a byte and over it. */
type Need =
  | { kind: 'take'; bytes: number; orEnd: boolean }
  | { kind: 'pass'; bytes: number; sink?: (part: Buffer) => void | Promise<void> }
  | { kind: 'until'; byte: number }
  | { kind: 'wait'; work: () => Promise<void> }

/** A format, or a part of one. It returns when the file is complete and throws `MediaRefused` when it is broken. */
export type Format<Result = void> = Generator<Need, Result, Buffer | null>

/** The file ended in the middle. */
export const cutShort = () => new MediaRefused('damaged', 'The file is cut short.')

/** Refuses what unpacks to more than allowed: beyond it, the file is a bomb rather than a picture. */
export function allowUnpacked(bytes: number, most: number): void {
  if (bytes > most) throw new MediaRefused('too_large', 'The image has too many pixels.')
}

/** The file contradicts its own format. */
export const broken = (what: string) => new MediaRefused('damaged', `The file is damaged: ${what}.`)

/** The next bytes. Only for small counts: they are held in memory. */
export function* take(bytes: number): Format<Buffer> {
  return (yield { kind: 'take', bytes, orEnd: false })!
}

/** The next bytes, or null if the file ends exactly here. */
export function* takeOrEnd(bytes: number): Format<Buffer | null> {
  return yield { kind: 'take', bytes, orEnd: true }
}

/** Passes over bytes, any number; `Infinity` is all the rest of the file. */
export function* pass(bytes: number, sink?: (part: Buffer) => void | Promise<void>): Format {
  yield { kind: 'pass', bytes, sink }
}

/** Passes over everything up to a byte and over that byte. */
export function* passUntil(byte: number): Format {
  yield { kind: 'until', byte }
}

/** Waits for work that runs during the reading. */
export function* waitFor(work: () => Promise<void>): Format {
  yield { kind: 'wait', work }
}

/** One file on its way through a format. */
export class Reading {
  private readonly format: Format
  private need: Need | null = null
  private taken = Buffer.alloc(0)
  private done = 0

  constructor(format: Format) {
    this.format = format
    this.next(null)
  }

  /** @throws MediaRefused as soon as the bytes cannot become a complete file any more */
  async write(chunk: Uint8Array): Promise<void> {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    let offset = 0
    while (this.need && offset < bytes.length) {
      if (this.need.kind === 'wait') await this.settle(this.need.work)
      else offset = await this.feed(this.need, bytes, offset)
    }
  }

  /** Ends the file. @throws MediaRefused if the format still needs something */
  async end(): Promise<void> {
    while (this.need) {
      if (this.need.kind === 'wait') await this.settle(this.need.work)
      else if (this.need.kind === 'take' && this.need.orEnd && this.done === 0) this.next(null)
      else if (this.need.kind === 'pass' && this.need.bytes === Infinity) this.next(null)
      else throw cutShort()
    }
  }

  /** Lets the format free what it holds. Safe at any time, also after the end. */
  abandon(): void {
    this.need = null
    this.format.return()
  }

  /** Gives a chunk's bytes from `offset` on to a need; returns the offset of the first unused byte. */
  private async feed(need: Exclude<Need, { kind: 'wait' }>, bytes: Buffer, offset: number): Promise<number> {
    if (need.kind === 'until') {
      const found = bytes.indexOf(need.byte, offset)
      if (found < 0) return bytes.length
      this.next(null)
      return found + 1
    }
    const part = bytes.subarray(offset, offset + Math.min(need.bytes - this.done, bytes.length - offset))
    if (need.kind === 'take') part.copy(this.taken, this.done)
    else await need.sink?.(part)
    this.done += part.length
    if (this.done === need.bytes) this.next(need.kind === 'take' ? this.taken : null)
    return offset + part.length
  }

  private async settle(work: () => Promise<void>): Promise<void> {
    await work()
    this.next(null)
  }

  /** Moves the format on to its next need that is not met by nothing at all. */
  private next(answer: Buffer | null): void {
    let step = this.format.next(answer)
    while (!step.done && isEmpty(step.value)) step = this.format.next(Buffer.alloc(0))
    this.need = step.done ? null : step.value
    this.done = 0
    if (this.need?.kind === 'take') this.taken = Buffer.alloc(this.need.bytes)
  }
}

const isEmpty = (need: Need) => (need.kind === 'take' || need.kind === 'pass') && need.bytes === 0
