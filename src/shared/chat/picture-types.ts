/** The types of pictures in requests, which upstreams compare with the bytes. Pure. */
import { IMAGE_HEAD_BYTES, imageTypeOf } from '../media/image-type.ts'
import { MEDIA_TYPES } from '../media/media.ts'

/** How many characters of base64 decide the type of a picture. */
const HEAD_CHARACTERS = Math.ceil(IMAGE_HEAD_BYTES / 3) * 4

/** The type of a picture by its bytes in base64; the given one, where they are of none that is known. */
export function pictureType(data: string, given: string): string {
  const known = imageTypeOf(Buffer.from(data.slice(0, HEAD_CHARACTERS), 'base64'))
  return known === null ? given.replace(/^image\/jpg$/i, MEDIA_TYPES.jpg) : MEDIA_TYPES[known]
}

/** A picture whose `data:` URI has the type of its bytes; an address as it is. */
export function typedPicture(url: string): string {
  const inline = /^data:([^;,]{1,100});base64,/i.exec(url)
  if (!inline) return url
  const data = url.slice(inline[0].length)
  const type = pictureType(data, inline[1]!)
  return type === inline[1] ? url : `data:${type};base64,${data}`
}
