/**
 * The pictures and documents in a request of the Messages API: in its turns, and in what tools answered.
 */
import { asFields } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import { bytesAsJson } from '../../platform/json-bytes.ts'
import type { CountingRules } from '../../terms/pricing.ts'
import { tokensOfPart } from '../../terms/pricing.ts'
import type { ChatMessage } from '../../requests/requests.ts'

/** A picture or a document, and the path to it, such as `messages.0.content.1`. */
export type Part = { kind: 'image' | 'document'; source: Fields; path: string }

type Body = { messages: readonly Pick<ChatMessage, 'content'>[]; system?: unknown }

/** The pictures and documents of a request, in their order. */
export const partsOf = ({ messages }: Body): Part[] =>
  messages.flatMap(({ content }, at) => partsIn(content, `messages.${at}.content`))

function partsIn(content: unknown, path: string): Part[] {
  if (!Array.isArray(content)) return []
  return content.flatMap((value, at): Part[] => {
    const block = asFields(value)
    const here = `${path}.${at}`
    if (block.type === 'tool_result') return partsIn(block.content, `${here}.content`)
    if (block.type !== 'image' && block.type !== 'document') return []
    const source = asFields(block.source)
    const inner = source.type === 'content' ? partsIn(source.content, `${here}.source.content`) : []
    return [{ kind: block.type, source, path: here }, ...inner]
  })
}

/** The blocks of all turns, those in other blocks included: counted before any of them is checked. */
export const blockCount = (messages: unknown): number =>
  Array.isArray(messages) ? messages.reduce<number>((sum, one) => sum + blocksIn(asFields(one).content), 0) : 0

function blocksIn(content: unknown): number {
  if (!Array.isArray(content)) return 0
  return content.reduce<number>((sum, value) => {
    const block = asFields(value)
    return sum + 1 + blocksIn(block.content) + blocksIn(asFields(block.source).content)
  }, 0)
}

/** Whether a document is no text: what it counts for only its model can say. */
export const isBinary = ({ kind, source }: Part): boolean =>
  kind === 'document' &&
  (source.type === 'url' || (source.type === 'base64' && !/^text\//i.test(String(source.media_type))))

/**
 * The input tokens that a part counts for in place of its bytes; null for one that counts by them, or that the model
 * does not price.
 */
export function tokensOf(part: Part, { partTokens }: CountingRules): number | null {
  if (part.kind === 'image') return tokensOfPart('image_url', partTokens)
  return partTokens !== undefined && Object.hasOwn(partTokens, 'document') ? partTokens.document! : null
}

/** The input tokens of all parts of a request that do not count by their bytes. */
export const partTokens = (body: Body, rules: CountingRules): number =>
  partsOf(body).reduce((sum, part) => sum + (tokensOf(part, rules) ?? 0), 0)

/** The bytes of a request's JSON that do not count as text: of parts with a number of tokens of their own. */
export const uncountedBytes = (body: Body, rules: CountingRules): number =>
  partsOf(body)
    .filter((part) => part.source.type === 'base64' && tokensOf(part, rules) !== null)
    .reduce((sum, { source }) => sum + bytesAsJson(source.data) - 2, 0)

/** The http(s) addresses of pictures and documents in a request. */
export const addressesIn = (body: Body): string[] =>
  partsOf(body).flatMap(({ source }) => (source.type === 'url' ? [String(source.url)] : []))

/**
 * A request with the addresses of its pictures as `change` returns them: others, or `data:` URIs.
 */
export function withPictures<B extends Body>(body: B, change: (url: string) => string): B {
  const ofBlock = (value: unknown): unknown => {
    const block = asFields(value)
    if (block.type === 'tool_result' && Array.isArray(block.content))
      return { ...block, content: block.content.map(ofBlock) }
    const source = asFields(block.source)
    if (block.type === 'document' && Array.isArray(source.content))
      return { ...block, source: { ...source, content: source.content.map(ofBlock) } }
    if (block.type !== 'image' || source.type !== 'url') return value
    return { ...block, source: imageSourceOf(change(String(source.url))) }
  }
  const messages = body.messages.map((message) =>
    Array.isArray(message.content) ? { ...message, content: message.content.map(ofBlock) } : message,
  )
  return { ...body, messages }
}

/** The source of a picture: its address, or the bytes of a `data:` URI. The API does not know `image/jpg`. */
export function imageSourceOf(url: string): Fields {
  const inline = /^data:([^;,]{1,100});base64,/i.exec(url)
  if (!inline) return { type: 'url', url }
  const mediaType = inline[1]!.toLowerCase().replace(/^image\/jpg$/, 'image/jpeg')
  return { type: 'base64', media_type: mediaType, data: url.slice(inline[0].length) }
}
