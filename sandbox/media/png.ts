import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { crc32, deflate } from 'node:zlib'
import type { PixelSize } from './size.ts'

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const COLOURS = 256
const DISC = COLOURS - 1
const MAX_CACHED = 32

const compress = promisify(deflate)
/** Compressed pixels by size. They are indexes into a palette, so a prompt changes only the palette. */
const pixelsBySize = new Map<string, Promise<Buffer>>()

/** Width and height of a PNG by its header; undefined for anything else. */
export const pngSize = (bytes: Buffer): PixelSize | undefined =>
  bytes.length >= 24 && bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)
    ? { width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
    : undefined

/** A PNG of this size: a sky with a disc, in colours that are derived from the seed. */
export async function drawPng(size: PixelSize, seed: string): Promise<Buffer> {
  return assemble(size, seed, await compressedPixels(size))
}

/** A file that begins like a PNG of this size and cannot be decoded. */
export async function drawBrokenPng(size: PixelSize, seed: string): Promise<Buffer> {
  const pixels = Buffer.from(await compressedPixels(size)).fill(0x55, 2)
  return assemble(size, seed, pixels.subarray(0, Math.ceil(pixels.length / 2)))
}

function assemble({ width, height }: PixelSize, seed: string, pixels: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  // 8 bits a pixel, palette; default compression, filter and no interlace.
  header.set([8, 3, 0, 0, 0], 8)
  return Buffer.concat([
    SIGNATURE,
    chunk('IHDR', header),
    chunk('PLTE', palette(seed)),
    chunk('IDAT', pixels),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function chunk(type: string, data: Buffer): Buffer {
  const whole = Buffer.alloc(data.length + 12)
  whole.writeUInt32BE(data.length, 0)
  whole.write(type, 4, 'latin1')
  data.copy(whole, 8)
  whole.writeUInt32BE(crc32(whole.subarray(4, data.length + 8)), data.length + 8)
  return whole
}

/** A gradient for the sky, and the opposite of its first colour for the disc. */
function palette(seed: string): Buffer {
  const from = createHash('sha256').update(seed).digest()
  const colours = Buffer.alloc(COLOURS * 3)
  for (let index = 0; index < COLOURS; index += 1) {
    for (let part = 0; part < 3; part += 1) {
      const [start, end] = [from[part]!, from[part + 3]!]
      colours[index * 3 + part] = index === DISC ? 255 - start : Math.round(start + ((end - start) * index) / DISC)
    }
  }
  return colours
}

function compressedPixels(size: PixelSize): Promise<Buffer> {
  const key = `${size.width}x${size.height}`
  const known = pixelsBySize.get(key)
  if (known) return known
  const made = compress(drawPixels(size))
  pixelsBySize.set(key, made)
  if (pixelsBySize.size > MAX_CACHED) pixelsBySize.delete([...pixelsBySize.keys()][0]!)
  return made
}

/** Rows of one filter byte (0) and one palette index a pixel. */
function drawPixels({ width, height }: PixelSize): Buffer {
  const pixels = Buffer.alloc((width + 1) * height)
  const radius = Math.min(width, height) / 4
  for (let y = 0; y < height; y += 1) {
    const row = y * (width + 1) + 1
    pixels.fill(Math.floor((y * DISC) / height), row, row + width)
    const half = Math.sqrt(Math.max(0, radius ** 2 - (y - height / 2) ** 2))
    pixels.fill(DISC, row + Math.ceil(width / 2 - half), row + Math.floor(width / 2 + half))
  }
  return pixels
}
