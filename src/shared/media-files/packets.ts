/** How long the packets of Opus and Vorbis last, in whichever file they are. */
import { NoSound, secondsAt } from './reader.ts'
import type { VorbisModes } from './vorbis-setup.ts'
import { modesOf } from './vorbis-setup.ts'

/** Counts the packets of one stream. */
export type PacketClock = {
  /**
   * Takes the next packet: where it begins, of which at least `HEAD_BYTES` are there, and its length. One whose
   * beginning is not there (null) lasts as long as one can.
   */
  take: (head: Buffer | null, at: number, bytes: number) => void
  /** The seconds that all of them last. */
  seconds: () => number
}

/** How many of a packet's first bytes a clock reads. */
export const HEAD_BYTES = 8

/** The highest bit rate that is plausible: Opus has at most 510 kbit/s a pair of channels, Vorbis about the same. */
const MOST_BITS = 1_500_000

/** What a frame of Opus lasts in ms, by its configuration (RFC 6716, 3.1). */
const FRAME_MS = [
  ...[1, 2, 3].flatMap(() => [10, 20, 40, 60]),
  ...[1, 2].flatMap(() => [10, 20]),
  ...[1, 2, 3, 4].flatMap(() => [2.5, 5, 10, 20]),
]

/** The longest packet, in ms. */
const LONGEST_OPUS = 120

/** How long a packet of Opus lasts, in ms: its first bytes state it, and a decoder goes by them alone. */
function opusMs(head: Buffer | null, at: number, bytes: number): number {
  if (!head) return LONGEST_OPUS
  if (bytes === 0) return 0
  const code = head[at]! & 3
  const frames = code === 0 ? 1 : code < 3 ? 2 : bytes < 2 ? 0 : head[at + 1]! & 63
  return Math.min(frames * FRAME_MS[head[at]! >> 3]!, LONGEST_OPUS)
}

/** Counts packets of Opus. */
export function opusClock(): PacketClock {
  let ms = 0
  let all = 0
  return {
    take: (head, at, bytes) => {
      ms += opusMs(head, at, bytes)
      all += bytes
    },
    seconds: () => Math.max(ms / 1000, secondsAt(all, MOST_BITS)),
  }
}

/**
 * Counts packets of Vorbis: each states its mode, and the setup header the size of a mode's blocks. A packet lasts a
 * quarter of its block and of the one before it (Vorbis I, 4.3.8); the first of a stream nothing.
 * @param identification the first packet of the stream. @param setup the third
 * @throws NoSound if a decoder could not read them
 */
export function vorbisClock(identification: Buffer, setup: Buffer): PacketClock {
  if (identification.length < 30) throw new NoSound('has a broken head of Vorbis')
  const [channels, rate] = [identification[11]!, identification.readUInt32LE(12)]
  const [short, long] = [1 << (identification[28]! & 15), 1 << (identification[28]! >> 4)]
  if (channels === 0 || rate < 4000 || rate > 200_000 || short < 64 || long < short || long > 8192)
    throw new NoSound('has a broken head of Vorbis')
  const modes = modesOf(setup, channels)
  let [samples, all, before] = [0, 0, 0]
  return {
    take: (head, at, bytes) => {
      if (bytes === 0) return
      const first = head?.[at] ?? null
      // An odd first byte is that of a header, not of audio.
      if (first !== null && (first & 1) !== 0) return refuseHeader(head!, at)
      const block = first === null || isLong(modes, first) ? long : short
      if (before > 0) samples += (before + block) / 4
      before = block
      all += bytes
    },
    seconds: () => Math.max(samples / rate, secondsAt(all, MOST_BITS)),
  }
}

/** Behind the bit that marks audio there is the number of the mode, in as few bits as all of them need. */
function isLong(modes: VorbisModes, first: number): boolean {
  const mode = (first >> 1) & ((1 << modes.bits) - 1)
  return modes.long[mode] ?? true
}

/** Decoders go on with the blocks of the headers that came last. @throws NoSound */
function refuseHeader(head: Buffer, at: number): void {
  const isHeader = head.toString('latin1', at + 1, at + 7) === 'vorbis'
  if (isHeader) throw new NoSound('has a stream of Vorbis that begins twice')
}
