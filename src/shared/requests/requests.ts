/**
 * A validated request: the part of a job that upstream adapters read. It travels in the job; of it only the input of a
 * response that is stored rests in Postgres.
 */
import type { MediaExtension } from '../media/media.ts'
import type { EmbeddingRequest } from './embeddings.ts'
import type { ModerationRequest } from './moderations.ts'
import type { RerankRequest } from './rerank.ts'
import type { SpeechRequest } from './speech.ts'
import type { TranscriptionRequest } from './transcriptions.ts'

/** What a call asks for. */
export type CallRequest =
  | ChatRequest
  | MediaRequest
  | EmbeddingRequest
  | ModerationRequest
  | RerankRequest
  | SpeechRequest
  | TranscriptionRequest

/** One message; content is a text, an array of parts, or null for an assistant's tool calls. */
export type ChatMessage = { role: string; content?: unknown; [field: string]: unknown }

/** An address in a message: the place of its part, the path of its field there, and what stands in it. */
export type PartAddress = { at: number; field: string; url: unknown }

/**
 * The addresses in a message's parts, which an upstream would fetch: those of images, and in parts of other kinds,
 * however deep, every text in a field named for an address and every text that begins like one. A `data:` URI is an
 * address of images alone; elsewhere it is content.
 */
export function addressesOf({ content }: { content?: unknown }): PartAddress[] {
  if (!Array.isArray(content)) return []
  return (content as Record<string, unknown>[]).flatMap((part, at): PartAddress[] => {
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

/** A message with other addresses of its images: what `change` makes of what stands there. */
export function withImages(message: ChatMessage, change: (url: unknown) => unknown): ChatMessage {
  if (!Array.isArray(message.content)) return message
  const content = message.content.map((part: { type?: unknown; image_url?: unknown }) => {
    const { type, image_url: image } = part
    if (type !== 'image_url') return part
    const isObject = typeof image === 'object' && image !== null
    return { ...part, image_url: isObject ? { ...image, url: change(urlOf(image)) } : change(image) }
  })
  return { ...message, content }
}

const urlOf = (value: unknown): unknown =>
  typeof value === 'object' && value !== null ? (value as { url?: unknown }).url : value

/** Field names that upstreams look for an address under: `url`, `video_url`, `fileUri`, `urls`… */
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

/**
 * A validated body of a chat, in the dialect of its call: the fields that pass, and those that the model's upstreams
 * allow. `messages` is empty in Responses, whose turns are its `input`. `max_tokens` is always set, whatever its
 * dialect calls it: the upstream is never allowed more than the pre-charge paid for.
 */
export type ChatRequest = {
  messages: ChatMessage[]
  max_tokens: number
  temperature?: number
  n?: number
  stream?: boolean
  tools?: unknown
  [field: string]: unknown
}

/** A request as it is asked for a client that will not read its chunks. */
export function unstreamed<R extends CallRequest>(request: R): R {
  const { stream: _stream, stream_options: _options, ...whole } = request as Partial<ChatRequest>
  return whole as R
}

/** In the place of an address: a file of the form that a call came as, by its place. Clients cannot write it. */
export const uploadAddress = (place: number): string => `upload:${place}`

/** The place of the file that such an address names; null for any other address. */
export const placeOfUpload = (url: unknown): number | null =>
  typeof url === 'string' && url.startsWith('upload:') ? Number(url.slice('upload:'.length)) : null

/**
 * An image or video request. `image_url` is http(s), a `data:` image whose spelling the web has checked, or the address
 * of an upload.
 */
export type MediaRequest = PictureFields & {
  prompt: string
  image_url?: string
  /** `1K`, `720p`, `1024x1024`, `16:9`… */
  resolution?: string
  /** Videos: seconds, > 0 and ≤ 600. */
  duration?: number
}

/** A picture among the files of a call's form: its place there, and its type by its bytes. */
export type UploadedPicture = { place: number; extension: MediaExtension }

/** What pictures alone are asked for, in OpenAI's names. */
export type PictureFields = {
  /** How many; one where it is absent. */
  n?: number
  /** Width and height, `1024x1536`, in the place of a resolution; absent: the upstream's choice. */
  size?: string
  /** `low`, `high`…; absent: the upstream's choice. */
  quality?: string
  background?: string
  output_format?: string
  output_compression?: number
  moderation?: string
  style?: string
  input_fidelity?: string
  seed?: number
  user?: string
  /** The pictures to edit, in their order, and where: files of the form that the call came as. */
  images?: readonly UploadedPicture[]
  mask?: UploadedPicture
  /** How their client wants them; never sent on. */
  response_format?: 'url' | 'b64_json'
}
