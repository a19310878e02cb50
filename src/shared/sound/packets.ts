/**
 * How long the packets of Opus and Vorbis last, in whichever file they are.
 */
import { NoSound, secondsAt } from './reader.ts'

/** What counts the packets of one stream. */
export type PacketClock = {
  /** Takes the beginning of the next packet, and its length. */
  take: (head: Buffer, bytes: number) => void
  /** The seconds that all of them last. @param stated what the file says */
  seconds: (stated: number) => number
}

/** The highest bit rate that is plausible: Opus has at most 510 kbit/s a pair of channels, Vorbis about the same. */
const MOST_BITS = 1_500_000

/** Samples of a frame of Opus in ms, by its configuration (RFC 6716, 3.1). */
function frameMs(config: number): number {
  if (config < 12) return [10, 20, 40, 60][config % 4]!
  return config < 16 ? [10, 20][config % 2]! : [2.5, 5, 10, 20][config % 4]!
}

/** How long a packet of Opus lasts, in ms: its first bytes say it, and a decoder goes by them alone. */
export function opusMs(head: Buffer): number {
  if (head.length === 0) return 0
  const code = head[0]! & 3
  const frames = code === 0 ? 1 : code < 3 ? 2 : (head[1] ?? 0) & 63
  return Math.min(frames * frameMs(head[0]! >> 3), 120)
}

/** Counts packets of Opus. */
export function opusClock(): PacketClock {
  let ms = 0
  let all = 0
  return {
    take: (head, bytes) => {
      ms += opusMs(head)
      all += bytes
    },
    seconds: () => Math.max(ms / 1000, secondsAt(all, MOST_BITS)),
  }
}

/**
 * Counts packets of Vorbis. Which of its two sizes a block has stands in no head: where the file states less than if
 * half of the blocks were long and the others nothing, it is not believed.
 * @param identification the first packet of the stream
 */
export function vorbisClock(identification: Buffer): PacketClock {
  if (identification.length < 30) throw new NoSound('has a broken head of Vorbis')
  const rate = identification.readUInt32LE(12)
  const long = 1 << (identification[28]! >> 4)
  if (rate < 4000 || rate > 200_000 || long < 64 || long > 8192) throw new NoSound('has a broken head of Vorbis')
  let packets = 0
  let all = 0
  return {
    take: (head, bytes) => {
      // An odd first byte is that of a head, not of sound.
      if (bytes === 0 || (head[0]! & 1) !== 0) return
      packets++
      all += bytes
    },
    seconds: (stated) => {
      const most = (packets * (long / 2)) / rate
      return Math.max(Math.min(stated, most), most / 2, secondsAt(all, MOST_BITS))
    },
  }
}
