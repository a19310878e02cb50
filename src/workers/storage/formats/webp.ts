import type { Format } from './reading.ts'
import { allowUnpacked, broken, pass, take } from './reading.ts'

/** How the data of a picture begins, and what it unpacks to, in bytes. */
type PictureStart = { bytes: number; isRight: (start: Buffer) => boolean; unpacked: (start: Buffer) => number }

/**
 * VP8's start code behind the frame tag, with colours at half the resolution; VP8L's signature byte, and a frame of an
 * animation, with four bytes a pixel.
 */
const PICTURE_STARTS: Record<string, PictureStart> = {
  'VP8 ': {
    bytes: 10,
    isRight: (start) => start.readUIntBE(3, 3) === 0x9d012a,
    unpacked: (start) => 1.5 * (start.readUInt16LE(6) & 0x3fff) * (start.readUInt16LE(8) & 0x3fff),
  },
  VP8L: {
    bytes: 5,
    isRight: (start) => start[0] === 0x2f,
    unpacked: (start) => 4 * (1 + (start.readUInt32LE(1) & 0x3fff)) * (1 + ((start.readUInt32LE(1) >>> 14) & 0x3fff)),
  },
  ANMF: {
    bytes: 24,
    isRight: () => true,
    unpacked: (start) => 4 * (1 + start.readUIntLE(6, 3)) * (1 + start.readUIntLE(9, 3)),
  },
}

/**
 * WebP: RIFF chunks that fill exactly the length that the file announces, a picture or a frame among them. All that
 * unpacks counts together.
 */
export function* webp(maxUnpacked: number): Format {
  const head = yield* take(12)
  let left = head.readUInt32LE(4) - 4
  let pictures = 0
  let unpacked = 0
  while (left > 0) {
    if (left < 8) throw broken('its lengths do not add up')
    const chunk = yield* take(8)
    const size = chunk.readUInt32LE(4)
    left -= 8 + size + (size % 2)
    if (left < 0) throw broken('its lengths do not add up')
    const picture = PICTURE_STARTS[chunk.toString('latin1', 0, 4)]
    if (picture) {
      const start = size >= picture.bytes ? yield* take(picture.bytes) : null
      if (!start || !picture.isRight(start)) throw broken('its picture does not begin')
      pictures += 1
      unpacked += picture.unpacked(start)
      allowUnpacked(unpacked, maxUnpacked)
    }
    yield* pass(size + (size % 2) - (picture?.bytes ?? 0))
  }
  if (pictures === 0) throw broken('it has no picture')
}
