import type { Format } from './reading.ts'
import { allowUnpacked, broken, pass, take } from './reading.ts'

const EXTENSION = 0x21
const IMAGE = 0x2c
const TRAILER = 0x3b

/** The bytes of a colour table, as a packed field announces it. */
const tableSize = (packed: number) => (packed & 0x80 ? 3 * 2 ** ((packed & 7) + 1) : 0)

/** Passes over data sub-blocks and the empty one that ends them; returns how many bytes they held. */
function* subBlocks(): Format<number> {
  let total = 0
  for (let size = -1; size !== 0;) {
    size = (yield* take(1))[0]!
    yield* pass(size)
    total += size
  }
  return total
}

/**
 * GIF: blocks in order, at least one image with data, and the trailer. A pixel of its screen, and of each
 * image, is a byte.
 */
export function* gif(maxUnpacked: number): Format {
  const screen = yield* take(13)
  if (screen.readUInt16LE(6) === 0 || screen.readUInt16LE(8) === 0) throw broken('it has no size')
  let unpacked = screen.readUInt16LE(6) * screen.readUInt16LE(8)
  allowUnpacked(unpacked, maxUnpacked)
  yield* pass(tableSize(screen[10]!))
  let images = 0
  for (;;) {
    const block = (yield* take(1))[0]!
    if (block === TRAILER) break
    if (block === EXTENSION) {
      yield* pass(1)
      yield* subBlocks()
    } else if (block === IMAGE) {
      const image = yield* take(9)
      unpacked += image.readUInt16LE(4) * image.readUInt16LE(6)
      allowUnpacked(unpacked, maxUnpacked)
      yield* pass(tableSize(image[8]!) + 1)
      if ((yield* subBlocks()) === 0) throw broken('an image is empty')
      images += 1
    } else {
      throw broken('it has an unknown block')
    }
  }
  if (images === 0) throw broken('it has no picture')
}
