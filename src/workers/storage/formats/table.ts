/** Which bytes are which type: the one table of the formats that are stored. */
import { imageTypeOf } from '../../../shared/media/image-type.ts'
import type { MediaExtension } from '../../../shared/media/media.ts'
import { gif } from './gif.ts'
import { jpeg } from './jpeg.ts'
import { mp4 } from './mp4.ts'
import { png } from './png.ts'
import type { Format } from './reading.ts'
import { docTypeOf, webm } from './webm.ts'
import { webp } from './webp.ts'

/**
 * How each stored type is read, from its first byte to its last. `maxUnpacked`: the most bytes that an image may unpack
 * to, by its header.
 */
export const FORMATS: Record<MediaExtension, (maxUnpacked: number) => Format> = {
  png,
  jpg: jpeg,
  webp,
  gif,
  mp4,
  mov: mp4,
  webm,
}

/** How many bytes of a file decide its type. */
export const SNIFF_BYTES = 1024

/** Brands of the same container that are a still image (HEIF, AVIF) or sound, and so no video. */
const NO_VIDEO = /^(avif|avis|mif1|msf1|miaf|hei[cmsx]|hev[cmsx]|jxl |jpg[12x]|M4[AB] )$/

/** The type that a file's first `SNIFF_BYTES` show, or null for every type that is not stored. */
export function sniff(head: Buffer): MediaExtension | null {
  const image = imageTypeOf(head)
  if (image !== null) return image
  const text = head.toString('latin1', 0, 16)
  if (text.startsWith('ftyp', 4)) return brandOf(text.slice(8, 12))
  if (text.startsWith('\x1a\x45\xdf\xa3')) return docTypeOf(head) === 'webm' ? 'webm' : null
  return null
}

function brandOf(brand: string): MediaExtension | null {
  if (NO_VIDEO.test(brand)) return null
  return brand === 'qt  ' ? 'mov' : 'mp4'
}
