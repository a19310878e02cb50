/** What a request for a moderation asks for. Pure. */

/** A part of an input: a text, or a picture by its address or as a `data:` URI. */
export type ModerationPart = { type: 'text'; text: string } | { type: 'image_url'; image_url: { url: string } }

/** What is judged: a text, several texts, or parts that belong together. */
export type ModerationRequest = { input: string | string[] | ModerationPart[] }

/** The most texts or parts of a request. */
export const MAX_INPUTS = 100

const partsOf = ({ input }: ModerationRequest): ModerationPart[] =>
  typeof input === 'string' || typeof input[0] === 'string' ? [] : (input as ModerationPart[])

/** How many results a request has: one for each of several texts, and one for everything else. */
export const resultsOf = ({ input }: ModerationRequest): number =>
  Array.isArray(input) && typeof input[0] === 'string' ? input.length : 1

/** The addresses of the pictures of a request. */
export const picturesOf = (request: ModerationRequest): string[] =>
  partsOf(request).flatMap((part) => (part.type === 'image_url' ? [part.image_url.url] : []))

/** The request with its pictures as `change` returns them. */
export function withPictures(request: ModerationRequest, change: (url: string) => string): ModerationRequest {
  const parts = partsOf(request)
  if (parts.length === 0) return request
  return {
    input: parts.map((part) =>
      part.type === 'image_url' ? { ...part, image_url: { url: change(part.image_url.url) } } : part,
    ),
  }
}
