/**
 * MP3 (MPEG-1, 2 and 2.5, layers I to III): every frame says how many samples it has. The number of frames that some
 * encoders state at the beginning is not believed.
 */
import type { SoundReader } from './reader.ts'
import { NoSound, secondsAt } from './reader.ts'

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

/** The highest bit rate of any frame. */
const MOST_BITS = 448_000

/** No frame and the head of the next are longer, in bytes. */
const AHEAD_BYTES = 4096

/** The least share of a file that has to be frames: else it is something else, with some frames in it. */
const LEAST_FRAMED = 0.5

type Frame = { bytes: number; seconds: number }

/** The frame whose head stands at a place; null where none does. */
export function frameAt(bytes: Buffer, offset = 0): Frame | null {
  if (bytes.length < offset + 4 || bytes[offset] !== 0xff || (bytes[offset + 1]! & 0xe0) !== 0xe0) return null
  const [second, third] = [bytes[offset + 1]!, bytes[offset + 2]!]
  const version = (second >> 3) & 3
  const layer = 4 - ((second >> 1) & 3)
  const [bitRate, rateIndex] = [third >> 4, (third >> 2) & 3]
  if (version === 1 || layer === 4 || bitRate === 0 || bitRate === 15 || rateIndex === 3) return null
  const isFirst = version === 3
  const rate = RATES[rateIndex]! / (isFirst ? 1 : version === 2 ? 2 : 4)
  const bits = BIT_RATES[`${isFirst ? 1 : 2}-${layer}`]![bitRate - 1]! * 1000
  const samples = layer === 1 ? 384 : layer === 3 && !isFirst ? 576 : 1152
  const slot = layer === 1 ? 4 : 1
  const padding = (third >> 1) & 1
  const length = Math.floor(((samples / 8) * bits) / rate / slot + padding) * slot
  return { bytes: length, seconds: samples / rate }
}

/** The seconds of an MP3 file. @throws NoSound */
export async function mp3Seconds(file: SoundReader): Promise<number> {
  const from = await afterTags(file)
  const until = await beforeTags(file)
  let seconds = 0
  let frames = 0
  let framed = 0
  await file.walk({ from, until, ahead: AHEAD_BYTES }, (bytes, at) => {
    const frame = frameAt(bytes, at)
    // The first alone may be a chance of two bytes. Of those behind it decoders take each, whatever stands between.
    if (frame && (frames > 0 || isFollowed(bytes, at + frame.bytes))) {
      seconds += frame.seconds
      frames++
      framed += frame.bytes
      return frame.bytes
    }
    const next = bytes.indexOf(0xff, at + 1)
    return (next < 0 ? bytes.length : next) - at
  })
  if (frames < 2 || framed < LEAST_FRAMED * (until - from)) throw new NoSound('has no sound of a kind that is taken')
  return Math.max(seconds, secondsAt(until - from, MOST_BITS))
}

const isFollowed = (bytes: Buffer, place: number): boolean => place + 4 > bytes.length || frameAt(bytes, place) !== null

/** The place after tags of ID3v2, which may hold pictures. */
async function afterTags(file: SoundReader): Promise<number> {
  let place = 0
  for (;;) {
    const head = await file.at(place, 10)
    if (head.length < 10 || head.toString('latin1', 0, 3) !== 'ID3') return place
    const [a, b, c, d] = head.subarray(6, 10) as unknown as [number, number, number, number]
    place += 10 + (((a & 127) << 21) | ((b & 127) << 14) | ((c & 127) << 7) | (d & 127))
  }
}

/** The place before a tag of ID3v1. */
async function beforeTags(file: SoundReader): Promise<number> {
  if (file.bytes < 128) return file.bytes
  const tail = await file.at(file.bytes - 128, 3)
  return tail.toString('latin1') === 'TAG' ? file.bytes - 128 : file.bytes
}
