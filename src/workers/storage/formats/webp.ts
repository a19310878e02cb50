import type { Format } from './reading.ts'
import { broken, pass, take } from './reading.ts'

/** How the data of a picture begins: VP8's start code behind the frame tag, VP8L's signature byte. */
const PICTURE_STARTS: Record<string, { bytes: number; isRight: (start: Buffer) => boolean }> = {
  'VP8 ': { bytes: 10, isRight: (start) => start.readUIntBE(3, 3) === 0x9d012a },
  VP8L: { bytes: 5, isRight: (start) => start[0] === 0x2f },
  ANMF: { bytes: 24, isRight: () => true },
}

/** WebP: RIFF chunks that fill exactly the length that the file announces, a picture or a frame among them. */
export function* webp(): Format {
  const head = yield* take(12)
  let left = head.readUInt32LE(4) - 4
  let pictures = 0
  while (left > 0) {
    if (left < 8) throw broken('its lengths do not add up')
    const chunk = yield* take(8)
    const size = chunk.readUInt32LE(4)
    left -= 8 + size + (size % 2)
    if (left < 0) throw broken('its lengths do not add up')
    const picture = PICTURE_STARTS[chunk.toString('latin1', 0, 4)]
    if (picture) {
      const isRight = size >= picture.bytes && picture.isRight(yield* take(picture.bytes))
      if (!isRight) throw broken('its picture does not begin')
      pictures += 1
    }
    yield* pass(size + (size % 2) - (picture?.bytes ?? 0))
  }
  if (pictures === 0) throw broken('it has no picture')
}
