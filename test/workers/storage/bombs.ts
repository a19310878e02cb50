/** Pictures by their headers: small files of many pixels, and large files of few. */
import { crc32, deflateSync } from 'node:zlib'

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content])
  const frame = Buffer.alloc(8)
  frame.writeUInt32BE(content.length, 0)
  frame.writeUInt32BE(crc32(named), 4)
  return Buffer.concat([frame.subarray(0, 4), named, frame.subarray(4)])
}

/** A grey PNG of a declared size around any image data. */
export function pngAround(width: number, height: number, data: Buffer, ...more: Buffer[]): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(width, 0)
  header.writeUInt32BE(height, 4)
  header[8] = 8
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', header),
    ...more,
    chunk('IDAT', data),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

/** So many bytes of pixels, compressed. */
export const rows = (bytes: number): Buffer => deflateSync(Buffer.alloc(bytes))

/** A data URI of a PNG of exactly so many bytes. */
export function large(bytes: number): string {
  const filling = bytes - pngAround(1, 1, rows(2), chunk('teXt', Buffer.alloc(0))).length
  return `data:image/png;base64,${pngAround(1, 1, rows(2), chunk('teXt', Buffer.alloc(filling))).toString('base64')}`
}

const SIDE = 16_000

function gifBomb(): Buffer {
  const gif = Buffer.alloc(13)
  gif.write('GIF89a', 0, 'latin1')
  gif.writeUInt16LE(SIDE, 6)
  gif.writeUInt16LE(SIDE, 8)
  return gif
}

function jpegBomb(): Buffer {
  const frame = Buffer.from('ffc00011080000000003012200021101031101', 'hex')
  frame.writeUInt16BE(SIDE, 5)
  frame.writeUInt16BE(SIDE, 7)
  return Buffer.concat([Buffer.from('ffd8', 'hex'), frame])
}

function webpBomb(kind: 'VP8 ' | 'VP8L' | 'ANMF'): Buffer {
  const content = Buffer.alloc(32)
  if (kind === 'VP8 ') {
    content.writeUIntBE(0x9d012a, 3, 3)
    content.writeUInt16LE(SIDE, 6)
    content.writeUInt16LE(SIDE, 8)
  } else if (kind === 'VP8L') {
    content[0] = 0x2f
    content.writeUInt32LE((SIDE - 1) | ((SIDE - 1) << 14), 1)
  } else {
    content.writeUIntLE(SIDE - 1, 6, 3)
    content.writeUIntLE(SIDE - 1, 9, 3)
  }
  const head = Buffer.alloc(20)
  head.write('RIFF', 0, 'latin1')
  head.writeUInt32LE(12 + content.length, 4)
  head.write(`WEBP${kind}`, 8, 'latin1')
  head.writeUInt32LE(content.length, 16)
  return Buffer.concat([head, content])
}

/** Small files of 256 million pixels, one of each type and form. */
export const BOMBS: readonly Buffer[] = [
  pngAround(SIDE, SIDE, rows(1000)),
  gifBomb(),
  jpegBomb(),
  webpBomb('VP8 '),
  webpBomb('VP8L'),
  webpBomb('ANMF'),
]
