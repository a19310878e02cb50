/** The addresses in the parts of a chat's messages. */
import { isFields } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatMessage } from '../../requests/requests.ts'

/** An address in a message: the place of its part, the path of its field there, and its value. */
export type PartAddress = { at: number; field: string; url: unknown }

/**
 * The addresses in a message's parts, which an upstream would fetch: those of images, and in parts of other kinds,
 * however deep, every text in a field named for an address and every text that begins like one. A `data:` URI is an
 * address of images alone; elsewhere it is content.
 */
export function addressesOf({ content }: { content?: unknown }): PartAddress[] {
  if (!Array.isArray(content)) return []
  return (content as Fields[]).flatMap((part, at): PartAddress[] => {
    switch (part.type) {
      case 'text':
        return []
      case 'image_url':
        return [{ at, field: 'image_url', url: urlOf(part.image_url) }]
      default:
        return [...addressesWithin(part, '', '')].map(({ field, url }) => ({ at, field, url }))
    }
  })
}

/** A message with other addresses of its images: as `change` returns them. */
export function withImages(message: ChatMessage, change: (url: unknown) => unknown): ChatMessage {
  if (!Array.isArray(message.content)) return message
  const content = message.content.map((part: { type?: unknown; image_url?: unknown }) => {
    const { type, image_url: image } = part
    if (type !== 'image_url') return part
    return { ...part, image_url: isFields(image) ? { ...image, url: change(image.url) } : change(image) }
  })
  return { ...message, content }
}

/** The address of an image: a text, or an object around one. */
export const urlOf = (image: unknown): unknown => (isFields(image) ? image.url : image)

/** Names of fields in which upstreams expect an address: `url`, `video_url`, `fileUri`, `urls`… */
const ADDRESS_FIELD = /ur[il]s?$/i

/** A text that begins like an address of any scheme. */
const ADDRESS = /^[\s\p{Cc}]*[a-z][a-z0-9+.-]*:\/\//iu

function* addressesWithin(value: unknown, field: string, name: string): Generator<{ field: string; url: string }> {
  if (typeof value === 'string') {
    const isAddress = ADDRESS_FIELD.test(name) ? !/^data:/i.test(value) : name !== 'text' && ADDRESS.test(value)
    if (isAddress) yield { field, url: value }
  } else if (Array.isArray(value)) {
    for (const [index, one] of value.entries()) yield* addressesWithin(one, `${field}[${index}]`, name)
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, one] of Object.entries(value)) {
      // The address of `video_url: {url}` is named by the field that holds it, as an image's is.
      const path = field === '' ? key : key === 'url' && field.endsWith('_url') ? field : `${field}.${key}`
      yield* addressesWithin(one, path, key)
    }
  }
}
