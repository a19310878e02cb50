import { createInflate, crc32 } from 'node:zlib'
import { MediaRefused } from '../refused.ts'
import type { Format } from './reading.ts'
import { allowUnpacked, broken, pass, take, waitFor } from './reading.ts'

/** Channels by colour type, and the bit depths that each allows (the PNG standard, 11.2.1). */
const COLOUR_TYPES: Record<number, { channels: number; depths: number[] }> = {
  0: { channels: 1, depths: [1, 2, 4, 8, 16] },
  2: { channels: 3, depths: [8, 16] },
  3: { channels: 1, depths: [1, 2, 4, 8] },
  4: { channels: 2, depths: [8, 16] },
  6: { channels: 4, depths: [8, 16] },
}

/** Adam7's passes: first column, first row, and the steps between columns and rows. */
const ADAM7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const
const NOT_INTERLACED = [[0, 0, 1, 1]] as const

/** How many bytes the image data unpacks to: every row of every pass has a filter byte before its pixels. */
function unpackedSize(header: Buffer): number {
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const colours = COLOUR_TYPES[header[9]!]
  if (width === 0 || height === 0 || !colours?.depths.includes(header[8]!) || header[12]! > 1) {
    throw broken('its header is wrong')
  }
  const bits = colours.channels * header[8]!
  let size = 0
  for (const [x, y, stepX, stepY] of header[12] === 1 ? ADAM7 : NOT_INTERLACED) {
    const columns = Math.ceil((width - x) / stepX)
    const rows = Math.ceil((height - y) / stepY)
    if (columns > 0 && rows > 0) size += rows * (1 + Math.ceil((columns * bits) / 8))
  }
  return size
}

/** Unpacks the image data during the reading, to check that it is complete; what comes out is counted and dropped. */
class Pixels {
  private readonly inflate = createInflate({ chunkSize: 64 * 1024 })
  private readonly ended: Promise<void>
  private over = false
  private count = 0

  constructor(expected: number) {
    this.ended = new Promise<void>((resolve, reject) => {
      this.inflate.on('data', (part: Buffer) => {
        this.count += part.length
        if (this.count > expected) this.inflate.destroy(broken('it has more pixels than its header states'))
      })
      this.inflate.on('end', () => (this.count === expected ? resolve() : reject(broken('pixels are missing'))))
      this.inflate.on('error', (error) => {
        reject(error instanceof MediaRefused ? error : broken('its pixels do not unpack'))
      })
    }).finally(() => (this.over = true))
    // The next caller that waits gets the failure; until then it must not count as unhandled.
    this.ended.catch(() => undefined)
  }

  async write(part: Buffer): Promise<void> {
    if (this.over) return this.ended
    if (this.inflate.write(part)) return
    await Promise.race([this.ended, new Promise((resolve) => this.inflate.once('drain', resolve))])
  }

  finish(): Promise<void> {
    this.inflate.end()
    return this.ended
  }

  abandon(): void {
    this.inflate.destroy()
  }
}

/**
 * PNG: every chunk with a right CRC, IHDR first, image data that unpacks to exactly what the header promises, IEND.
 * What would be too large is refused by its header, before anything is unpacked.
 * Bytes behind IEND are no part of the picture and are let be, as by every decoder.
 */
export function* png(maxUnpacked: number): Format {
  yield* pass(8)
  const header = yield* take(25)
  if (header.toString('latin1', 4, 8) !== 'IHDR' || header.readUInt32BE(0) !== 13) throw broken('its header is missing')
  if (crc32(header.subarray(4, 21)) !== header.readUInt32BE(21)) throw broken('a checksum is wrong')
  const unpacked = unpackedSize(header.subarray(8, 21))
  allowUnpacked(unpacked, maxUnpacked)
  const pixels = new Pixels(unpacked)
  try {
    for (let type = ''; type !== 'IEND';) type = yield* chunk((part) => pixels.write(part))
    yield* waitFor(() => pixels.finish())
  } finally {
    pixels.abandon()
  }
}

/** One chunk, its checksum checked; the contents of IDAT go to `imageData`. Returns the chunk's type. */
function* chunk(imageData: (part: Buffer) => Promise<void>): Format<string> {
  const head = yield* take(8)
  const type = head.toString('latin1', 4)
  if (!/^(IDAT|PLTE|IEND|[a-z][A-Za-z]{3})$/.test(type)) throw broken('it has an unknown critical part')
  let sum = crc32(head.subarray(4))
  yield* pass(head.readUInt32BE(0), (part) => {
    sum = crc32(part, sum)
    return type === 'IDAT' ? imageData(part) : undefined
  })
  if ((yield* take(4)).readUInt32BE(0) !== sum) throw broken('a checksum is wrong')
  return type
}
