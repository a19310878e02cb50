/** The pictures and documents in a request of the Messages API: in its turns, and in what tools answered. */
import { asFields, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatMessage } from '../../requests/requests.ts'
import type { Part } from '../parts.ts'
import { typedPicture } from '../picture-types.ts'

type Body = { messages: readonly Pick<ChatMessage, 'content'>[]; system?: unknown }

/** The pictures and documents of a request, in their order. */
export const partsOf = ({ messages }: Body): Part[] =>
  messages.flatMap(({ content }, at) => partsIn(content, `messages.${at}.content`))

const partsIn = (content: unknown, path: string): Part[] =>
  listOf(content).flatMap((block, at) => {
    const here = `${path}.${at}`
    if (block.type === 'tool_result') return partsIn(block.content, `${here}.content`)
    if (block.type !== 'image' && block.type !== 'document') return []
    const source = asFields(block.source)
    const inner = source.type === 'content' ? partsIn(source.content, `${here}.source.content`) : []
    return [partOf(block.type, source, `${here}.source`), ...inner]
  })

function partOf(kind: Part['kind'], { type, url, media_type: named, data }: Fields, path: string): Part {
  if (type === 'url') return { kind, path, urlPath: `${path}.url`, url: String(url), data: null }
  const mediaType = String(named)
  const isInline = type === 'base64'
  return {
    kind,
    path,
    urlPath: path,
    url: null,
    data: isInline ? String(data) : null,
    isText: !isInline || /^text\//i.test(mediaType),
    ...(isInline && { mediaType }),
  }
}

/** The blocks of all turns, those in other blocks included: counted before any of them is checked. */
export const blockCount = (messages: unknown): number =>
  listOf(messages).reduce((sum, { content }) => sum + blocksIn(content), 0)

const blocksIn = (content: unknown): number =>
  listOf(content).reduce(
    (sum, block) => sum + 1 + blocksIn(block.content) + blocksIn(asFields(block.source).content),
    0,
  )

/** A request with the addresses of its pictures as `change` returns them: others, or `data:` URIs. */
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

/** The source of a picture: its address, or the bytes of a `data:` URI under the type that they have. */
export function imageSourceOf(url: string): Fields {
  const typed = typedPicture(url)
  const inline = /^data:([^;,]{1,100});base64,/i.exec(typed)
  if (!inline) return { type: 'url', url }
  return { type: 'base64', media_type: inline[1]!.toLowerCase(), data: typed.slice(inline[0].length) }
}
