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

  /** The next place of a byte, from a place on; -1 where there is none. */
  async find(byte: number, from: number): Promise<number> {
    for (let place = from; place < this.bytes; place += WINDOW_BYTES) {
      const piece = await this.at(place, Math.min(WINDOW_BYTES, this.bytes - place))
      const found = piece.indexOf(byte)
      if (found >= 0) return place + found
    }
    return -1
  }
}

/** The least that so many bytes can last, at the highest bit rate that is plausible for their coding. */
export const secondsAt = (bytes: number, bitsPerSecond: number): number => (bytes * 8) / bitsPerSecond
