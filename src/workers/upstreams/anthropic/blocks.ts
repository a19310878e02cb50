/**
 * Content of messages: from OpenAI's parts and tool calls to the blocks of the Messages API.
 */
import type { ChatMessage } from '../../../shared/requests/requests.ts'
import { UpstreamError } from '../adapter.ts'
import { readCut } from '../cut-json.ts'
import { asFields, isText } from '../fields.ts'
import type { Fields } from '../fields.ts'
import type { Alphabet } from './names.ts'
import { thoughtBlocks } from './thoughts.ts'

/** One turn of a conversation. */
export type Turn = { role: 'user' | 'assistant'; content: Fields[] }

/** The ids of calls and the names of tools of one request, as the API takes them. */
export type Names = { ids: Alphabet; tools: Alphabet }

/** A text block; none for a text that is empty or only white space, which the API refuses. */
const textBlocks = (text: unknown, more: Fields = {}): Fields[] =>
  isText(text) && text.trim() !== '' ? [{ type: 'text', text, ...more }] : []

/** Content in its shorter form: a text alone needs no block around it. */
export function compact(blocks: Fields[]): Fields[] | string {
  const [first, ...others] = blocks
  if (first?.type !== 'text' || others.length > 0 || first.cache_control) return blocks
  return first.text as string
}

/**
 * The blocks of a message's content: a text, or parts. Parts that only this API knows pass as they are; the model has a
 * number for their kind, and their addresses were checked.
 */
export function blocksOf(content: unknown): Fields[] {
  return Array.isArray(content) ? content.flatMap((part) => blocksOfPart(asFields(part))) : textBlocks(content)
}

function blocksOfPart(part: Fields): Fields[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text, part.cache_control ? { cache_control: { type: 'ephemeral' } } : {})
    case 'refusal':
      return textBlocks(part.refusal)
    case 'image_url':
      return [{ type: 'image', source: imageSource(part.image_url) }]
    default:
      return [part]
  }
}

/** An image by its address, which Anthropic fetches, or out of a data URI. */
function imageSource(image: unknown): Fields {
  const url = String(typeof image === 'string' ? image : asFields(image).url)
  const inline = /^data:([^;,]{1,100});base64,/i.exec(url)
  return inline
    ? {
        type: 'base64',
        media_type: inline[1]!.toLowerCase().replace(/^image\/jpg$/, 'image/jpeg'),
        data: url.slice(inline[0].length),
      }
    : { type: 'url', url }
}

/**
 * One message as a turn of the conversation; null for a message of the system. Results of tools are the user's turn.
 * @throws UpstreamError `rejected` for a tool call that is longer than the text that was paid for (`1e20` is 21 digits)
 */
export function turnOf(message: ChatMessage, names: Names): Turn | null {
  const { content } = message
  switch (message.role) {
    case 'system':
    case 'developer':
      return null
    case 'assistant': {
      const thoughts = thoughtBlocks(message.reasoning_details)
      const words = [...blocksOf(content), ...textBlocks(message.refusal)]
      return { role: 'assistant', content: [...thoughts, ...words, ...toolUses(message.tool_calls, names)] }
    }
    case 'tool':
      return { role: 'user', content: [toolResult(message, names)] }
    default:
      return { role: 'user', content: blocksOf(content) }
  }
}

/**
 * Each result of a tool must answer a call of an assistant before it, one result per call: the API refuses others.
 * @throws UpstreamError `rejected`
 */
export function requireCalls(messages: readonly ChatMessage[]): void {
  const open = new Set<unknown>()
  for (const { role, tool_calls: calls, tool_call_id: id } of messages) {
    if (role === 'assistant' && Array.isArray(calls)) for (const call of calls) open.add(asFields(call).id)
    if (role !== 'tool' || open.delete(id)) continue
    throw new UpstreamError('rejected', 'a result of a tool has no call before it')
  }
}

function toolResult({ tool_call_id: id, content }: ChatMessage, { ids }: Names): Fields {
  const blocks = blocksOf(content)
  const result = { type: 'tool_result', tool_use_id: ids.of(String(id)) }
  return blocks.length > 0 ? { ...result, content: compact(blocks) } : result
}

function toolUses(calls: unknown, { ids, tools }: Names): Fields[] {
  if (!Array.isArray(calls)) return []
  return calls.map((call) => {
    const { id, function: called } = asFields(call)
    const { name, arguments: args } = asFields(called)
    return { type: 'tool_use', id: ids.of(String(id)), name: tools.of(String(name)), input: inputOf(args) }
  })
}

/** The arguments of a call; of those that were cut off what is complete, and of no object none. */
function inputOf(args: unknown): Fields {
  const input = typeof args === 'string' ? readCut(args) : asFields(args)
  if (JSON.stringify(input).length <= Math.max(2, JSON.stringify(args ?? '').length)) return input
  throw new UpstreamError('rejected', 'the arguments of a tool call grow when they are read')
}
