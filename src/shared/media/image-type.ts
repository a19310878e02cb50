/** The types of pictures that are taken and stored, by their first bytes. Pure. */
import type { MediaExtension } from './media.ts'

/** How many bytes of a picture decide its type. */
export const IMAGE_HEAD_BYTES = 16

/** The type of a picture that begins with these bytes; null for every type that is not taken. */
export function imageTypeOf(head: Buffer): MediaExtension | null {
  const text = head.toString('latin1', 0, IMAGE_HEAD_BYTES)
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'png'
  if (text.startsWith('\xff\xd8\xff')) return 'jpg'
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'gif'
  return text.startsWith('RIFF') && text.startsWith('WEBP', 8) ? 'webp' : null
}
