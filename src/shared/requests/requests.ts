/**
 * A validated request: the part of a job that upstream adapters read. It travels in the job; only the input of a stored
 * response is stored in Postgres.
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

/**
 * A validated body of a chat, in the dialect of its call: the fields that pass, and those that the model's upstreams
 * allow. `messages` is empty in Responses, whose turns are its `input`. `max_tokens` is always set, under any name that
 * its dialect has for it: the upstream is never allowed more than the pre-charge paid for.
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

/** A picture of an edit: a file of its form, or the address of one, as `image_url` has it. */
export type EditedPicture = UploadedPicture | string

/** The addresses of the pictures that a request for media names, in their order. */
export const addressesOf = ({ image_url: url, images = [], mask }: MediaRequest): string[] =>
  [url, ...images, mask].filter((one) => typeof one === 'string')

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
  /** The pictures to edit, in their order, and where: files of the form that the call came as, or addresses. */
  images?: readonly EditedPicture[]
  mask?: EditedPicture
  /** How their client wants them; never sent on. */
  response_format?: 'url' | 'b64_json'
}
