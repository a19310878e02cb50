/**
 * An audio file as its parsers read it: any position, one window at a time. Reading is synchronous: files are measured
 * in threads of their own (docs/architecture.md#threads).
 */

/** A file: its length in bytes, and `length` bytes from a position on, or fewer at its end. */
export type SoundSource = { bytes: number; read: (from: number, length: number) => Buffer }

/** How many bytes are read at once. */
const WINDOW_BYTES = 262_144

/**
 * What was measured: the seconds that a decoder makes of the file, its format, and at which byte the audio begins. What
 * precedes that byte is a tag, which was not measured and must not be sent on.
 */
export type Sound = { seconds: number; kind: SoundKind; from: number }

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
  /** What was read last. */
  window: Buffer = Buffer.alloc(0)
  private readonly source: SoundSource
  private start = 0

  constructor(source: SoundSource) {
    this.source = source
    this.bytes = source.bytes
  }

  /** `length` bytes from a position on, or those that there are. */
  at(from: number, length: number): Buffer {
    const offset = this.seek(from, length)
    return this.window.subarray(offset, offset + length)
  }

  /**
   * Has `window` contain `length` bytes from a position on, or those that there are, for a step that makes no objects.
   * @returns where in `window` they begin
   */
  seek(from: number, length: number): number {
    const wanted = Math.max(0, Math.min(length, this.bytes - from))
    const offset = from - this.start
    if (offset >= 0 && offset + wanted <= this.window.length) return offset
    this.window = this.source.read(from, Math.max(wanted, WINDOW_BYTES))
    this.start = from
    return 0
  }

  /** The next place of these bytes, from a place on; -1 if there is none. */
  find(mark: Buffer, from: number): number {
    for (let place = from; place + mark.length <= this.bytes;) {
      const piece = this.from(place, mark.length)
      const found = piece.indexOf(mark)
      if (found >= 0) return place + found
      place += piece.length - mark.length + 1
    }
    return -1
  }

  /**
   * Steps through a file between two positions.
   * @param ahead how many bytes a step reads; fewer only at the end of the file
   * @param step gets bytes and a place in them. @returns how many bytes it takes, at least 1
   */
  walk(
    { from, until, ahead }: { from: number; until: number; ahead: number },
    step: (bytes: Buffer, at: number) => number,
  ): void {
    for (let place = from; place < until;) {
      const bytes = this.from(place, Math.min(ahead, this.bytes - place))
      const isLast = place + bytes.length >= this.bytes
      const end = Math.min(until - place, isLast ? bytes.length : bytes.length - ahead + 1)
      let at = 0
      while (at < end) at += step(bytes, at)
      place += at
    }
  }

  /** What is at hand from a place on: `least` bytes at least. */
  private from(place: number, least: number): Buffer {
    this.at(place, least)
    return this.window.subarray(place - this.start)
  }
}

/** The least that this many bytes can last, at the highest bit rate that is plausible for their coding. */
export const secondsAt = (bytes: number, bitsPerSecond: number): number => (bytes * 8) / bitsPerSecond
