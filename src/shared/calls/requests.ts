/**
 * What a caller asks for, once it was validated at the edge (`src/api/v1/schemas.ts`): the part of a job that upstream
 * adapters read. It travels in the job and never rests in Postgres.
 */

/** One message; content is a text, an array of parts, or null for an assistant's tool calls. */
export type ChatMessage = { role: string; content?: unknown; [field: string]: unknown }

/**
 * The addresses in a message's parts, by the part's place: `image_url`, and whatever else ends in `url` (video, audio, files):
 * an upstream of the operator's own network would fetch each of them.
 */
export function addressesOf({ content }: { content?: unknown }): { at: number; field: string; url: unknown }[] {
  if (!Array.isArray(content)) return []
  return (content as Record<string, unknown>[]).flatMap((part, at) => Object.entries(part)
    .filter(([field]) => field.endsWith('url'))
    .map(([field, value]) => ({ at, field, url: typeof value === 'object' && value !== null ? (value as { url?: unknown }).url : value })))
}

/**
 * A chat request in OpenAI's form, with every field the client sent beside the known ones. `max_tokens` is always set:
 * the upstream is never allowed more than the pre-charge paid for (contract section 5.2).
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

/** An image or video request. `image_url` is http(s) or a `data:` image whose spelling the web has checked. */
export type MediaRequest = {
  prompt: string
  image_url?: string
  /** `1K`, `720p`, `1024x1024`, `16:9`… */
  resolution?: string
  /** Videos: seconds, > 0 and ≤ 600. */
  duration?: number
}
