/**
 * The frames of MP3 (MPEG-1, 2 and 2.5, layers I to III): each head states how long its frame is, and how many samples
 * it has.
 */

/** Bit rates in kbit/s, by the version of MPEG (1, or 2 and 2.5) and the layer. */
const BIT_RATES: Record<string, readonly number[]> = {
  '1-1': [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  '1-2': [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  '1-3': [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  '2-1': [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  '2-2': [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  '2-3': [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
}

const RATES = [44_100, 48_000, 32_000]

/** A frame: its length in bytes, and how long it lasts. */
export type Frame = { bytes: number; seconds: number }

/** The frame whose head is at a position; null if there is none. */
export function frameAt(bytes: Buffer, at = 0): Frame | null {
  if (bytes.length < at + 4 || bytes[at] !== 0xff || (bytes[at + 1]! & 0xe0) !== 0xe0) return null
  return FRAMES[((bytes[at + 1]! & 0x1e) << 7) | bytes[at + 2]!]!
}

/** Frames by the four bits of the version and the layer, and the byte of the rates. */
const FRAMES: readonly (Frame | null)[] = Array.from({ length: 4096 }, (_, bits) => frameOf(bits >> 8, bits & 255))

function frameOf(coding: number, rates: number): Frame | null {
  const version = coding >> 2
  const layer = 4 - (coding & 3)
  const [bitRate, rateIndex] = [rates >> 4, (rates >> 2) & 3]
  if (version === 1 || layer === 4 || bitRate === 0 || bitRate === 15 || rateIndex === 3) return null
  const isFirst = version === 3
  const rate = RATES[rateIndex]! / (isFirst ? 1 : version === 2 ? 2 : 4)
  const bits = BIT_RATES[`${isFirst ? 1 : 2}-${layer}`]![bitRate - 1]! * 1000
  const samples = layer === 1 ? 384 : layer === 3 && !isFirst ? 576 : 1152
  const slot = layer === 1 ? 4 : 1
  const padding = (rates >> 1) & 1
  const length = Math.floor(((samples / 8) * bits) / rate / slot + padding) * slot
  return { bytes: length, seconds: samples / rate }
}
