/**
 * A file of sound as the walks over its frames read it: any place of it, a piece at a time.
 */

/** A file: its length in bytes, and what stands in it from a place on; fewer bytes than asked for at its end. */
export type SoundSource = { bytes: number; read: (from: number, length: number) => Promise<Buffer> }

/** How many bytes are read at once. */
const WINDOW_BYTES = 262_144

/** What a walk found: seconds that a decoder makes of the file, and what the file is. */
export type Sound = { seconds: number; kind: SoundKind }

/** The kinds of files that are taken, with the ending and the type by which upstreams know them. */
export const SOUND_KINDS = {
  wav: { extension: 'wav', type: 'audio/wav', name: 'WAV' },
  mp3: { extension: 'mp3', type: 'audio/mpeg', name: 'MP3' },
  ogg: { extension: 'ogg', type: 'audio/ogg', name: 'Ogg' },
  flac: { extension: 'flac', type: 'audio/flac', name: 'FLAC' },
  m4a: { extension: 'm4a', type: 'audio/mp4', name: 'M4A' },
  webm: { extension: 'webm', type: 'audio/webm', name: 'WebM' },
} as const

/** One of these kinds. */
export type SoundKind = keyof typeof SOUND_KINDS

/** A file that is no sound of a kind that is taken; `message` is the end of a sentence about it. */
export class NoSound extends Error {}

/** Reads a file piece by piece; of a place that was just read nothing is read again. */
export class SoundReader {
  readonly bytes: number
  private readonly source: SoundSource
  private window: Buffer = Buffer.alloc(0)
  private start = 0

  constructor(source: SoundSource) {
    this.source = source
    this.bytes = source.bytes
  }

  /** `length` bytes from a place on, or those that there are. */
  async at(from: number, length: number): Promise<Buffer> {
    const offset = from - this.start
    if (offset < 0 || offset + length > this.window.length) {
      this.window = await this.source.read(from, Math.max(length, WINDOW_BYTES))
      this.start = from
      return this.window.subarray(0, length)
    }
    return this.window.subarray(offset, offset + length)
  }

  /** The next place of these bytes, from a place on; -1 where there is none. */
  async find(mark: Buffer, from: number): Promise<number> {
    for (let place = from; place + mark.length <= this.bytes;) {
      const piece = await this.from(place, mark.length)
      const found = piece.indexOf(mark)
      if (found >= 0) return place + found
      place += piece.length - mark.length + 1
    }
    return -1
  }

  /**
   * Goes over a file between two places, without a promise for each step: whoever wrote the file chose how many.
   * @param ahead how many bytes a step looks at; fewer only at the end of the file
   * @param step gets bytes and a place in them. @returns how many bytes it takes, at least 1
   */
  async walk(
    { from, until, ahead }: { from: number; until: number; ahead: number },
    step: (bytes: Buffer, at: number) => number,
  ): Promise<void> {
    for (let place = from; place < until;) {
      const bytes = await this.from(place, Math.min(ahead, this.bytes - place))
      const isLast = place + bytes.length >= this.bytes
      const end = Math.min(until - place, isLast ? bytes.length : bytes.length - ahead + 1)
      let at = 0
      while (at < end) at += step(bytes, at)
      place += at
    }
  }

  /** What is at hand from a place on: `least` bytes at least. */
  private async from(place: number, least: number): Promise<Buffer> {
    await this.at(place, least)
    return this.window.subarray(place - this.start)
  }
}

/** The least that so many bytes can last, at the highest bit rate that is plausible for their coding. */
export const secondsAt = (bytes: number, bitsPerSecond: number): number => (bytes * 8) / bitsPerSecond
