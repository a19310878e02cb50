/** FLAC (RFC 9639): each frame states its number of samples. That of the head is not trusted. */
import type { SoundReader } from './reader.ts'
import { NoSound, secondsAt } from './reader.ts'

/** Blocks before the first frame. */
const MAX_BLOCKS = 1000

/** The longest head of a frame, in bytes. */
const HEAD_BYTES = 16

/** What a frame takes besides its samples where nothing can be pressed, as a share of them. */
const OVERHEAD = 1.05

/** The seconds of a FLAC file. @throws NoSound */
export function flacSeconds(file: SoundReader): number {
  const { from, rate, bitsPerSecond } = headOf(file)
  let seconds = 0
  file.walk({ from, until: file.bytes, ahead: HEAD_BYTES }, (bytes, at) => {
    const head = beginsFrame(bytes, at) ? frameHead(bytes, at) : null
    // Decoders go by the rate of a frame where it has one of its own.
    if (head) seconds += head.samples / Math.min(head.rate || rate, rate)
    const next = bytes.indexOf(0xff, at + (head?.bytes ?? 1))
    return (next < 0 ? bytes.length : next) - at
  })
  if (seconds === 0) throw new NoSound('is a FLAC file without sound')
  return Math.max(seconds, secondsAt(file.bytes - from, bitsPerSecond * OVERHEAD))
}

/** As strict as decoders, which otherwise search the file for another format. */
function headOf(file: SoundReader): { from: number; rate: number; bitsPerSecond: number } {
  const info = file.at(4, 38)
  const isInfo = info.length === 38 && (info[0]! & 0x7f) === 0 && info.readUIntBE(1, 3) === 34
  const least = isInfo ? info.readUInt16BE(4) : 0
  if (least < 16 || info.readUInt16BE(6) < least) throw new NoSound('is a FLAC file with a broken head')
  const packed = info.readUInt32BE(14)
  const rate = packed >>> 12
  const channels = ((packed >>> 9) & 7) + 1
  const bits = ((packed >>> 4) & 31) + 1
  if (rate < 4000 || rate > 655_350) throw new NoSound('is a FLAC file with a broken head')
  let place = 4
  for (let blocks = 0; blocks < MAX_BLOCKS; blocks++) {
    const head = file.at(place, 4)
    if (head.length < 4) break
    place += 4 + head.readUIntBE(1, 3)
    if (head[0]! & 0x80) return { from: place, rate, bitsPerSecond: rate * channels * bits }
  }
  throw new NoSound('is a FLAC file with a broken head')
}

const beginsFrame = (bytes: Buffer, at: number): boolean => bytes[at] === 0xff && (bytes[at + 1]! & 0xfe) === 0xf8

/**
 * The head of a frame: how long it is, how many samples its frame has, and how many of them a second; 0: as the file
 * states. Null if there is none here.
 */
function frameHead(bytes: Buffer, at: number): { bytes: number; samples: number; rate: number } | null {
  if (bytes.length < at + 6) return null
  const [sizeCode, rateCode, layout] = [bytes[at + 2]! >> 4, bytes[at + 2]! & 15, bytes[at + 3]!]
  if (sizeCode === 0 || rateCode === 15 || (layout & 1) !== 0 || layout >> 4 > 10) return null
  // Its number is written as a character of UTF-8 would be.
  const ones = Math.clz32(~(bytes[at + 4]! << 24))
  if (ones === 1 || ones > 7) return null
  let place = at + 4 + Math.max(1, ones)
  const sizeBytes = sizeCode === 6 ? 1 : sizeCode === 7 ? 2 : 0
  const rateBytes = rateCode === 12 ? 1 : rateCode > 12 ? 2 : 0
  if (bytes.length < place + sizeBytes + rateBytes + 1) return null
  const stated = sizeBytes === 0 ? 0 : bytes.readUIntBE(place, sizeBytes)
  place += sizeBytes
  const rate = rateBytes === 0 ? RATES[rateCode]! : bytes.readUIntBE(place, rateBytes) * RATE_UNITS[rateCode - 12]!
  place += rateBytes
  if (crc8(bytes, at, place) !== bytes[place]) return null
  return { bytes: place + 1 - at, samples: sizeBytes > 0 ? stated + 1 : SIZES[sizeCode]!, rate }
}

/** Samples a second by the code of a frame's rate; 0: as the file states. */
const RATES = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]

/** In what the three codes behind these state a rate, in Hz. */
const RATE_UNITS = [1000, 1, 10]

/** Samples of a frame by the code of its size. */
const SIZES = [0, 192, 576, 1152, 2304, 4608, 0, 0, 256, 512, 1024, 2048, 4096, 8192, 16_384, 32_768]

/** The polynomial x^8 + x^2 + x + 1, by byte. */
const CRC8 = Uint8Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? ((crc << 1) ^ 7) & 0xff : crc << 1
  return crc
})

/** The check sum of a frame's head, which is between two positions. */
export function crc8(bytes: Uint8Array, from = 0, until = bytes.length): number {
  let crc = 0
  for (let at = from; at < until; at++) crc = CRC8[crc ^ bytes[at]!]!
  return crc
}
