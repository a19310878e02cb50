import { crc32, inflateSync } from 'node:zlib'

/** Decodes a palette PNG, and throws where a viewer would. Returns its size. */
export function decodePng(bytes: Buffer): { width: number; height: number; palette: Buffer } {
  if (bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n') throw new Error('no PNG signature')
  const chunks = new Map<string, Buffer>()
  for (let at = 8; at < bytes.length;) {
    const length = bytes.readUInt32BE(at)
    const type = bytes.toString('latin1', at + 4, at + 8)
    const sum = bytes.readUInt32BE(at + 8 + length)
    if (crc32(bytes.subarray(at + 4, at + 8 + length)) !== sum) throw new Error('bad CRC')
    chunks.set(type, bytes.subarray(at + 8, at + 8 + length))
    at += length + 12
    if (type === 'IEND') break
  }
  const header = chunks.get('IHDR')!
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const pixels = inflateSync(chunks.get('IDAT')!)
  if (pixels.length !== (width + 1) * height || !chunks.has('IEND')) throw new Error('pixels missing')
  return { width, height, palette: chunks.get('PLTE')! }
}
