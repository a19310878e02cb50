/** Content of turns: from canonical blocks to those of the Messages API. */
import type { Block, Document, Reasoning, ToolCall, ToolResult } from '../../../shared/chat/canonical.ts'
import { imageSourceOf } from '../../../shared/chat/messages/parts.ts'
import { CLAUDE_THOUGHTS } from '../../../shared/chat/canonical.ts'
import { isByAddress, typeOfData } from '../../../shared/chat/documents.ts'
import { readCut } from '../../../shared/chat/cut-json.ts'
import type { Fields } from '../../../shared/platform/fields.ts'

/** Content in its shorter form: a text alone needs no block around it. */
export function compact(blocks: Fields[]): Fields[] | string {
  const [first, ...others] = blocks
  if (first?.type !== 'text' || others.length > 0 || first.cache_control) return blocks
  return first.text as string
}

/** The blocks of a turn. Parts of this API pass as they are: their kind is priced, and addresses were checked. */
export const blocksOf = (blocks: readonly Block[]): Fields[] => blocks.flatMap(blockOf)

function blockOf(block: Block): Fields[] {
  switch (block.kind) {
    case 'text':
      // The API refuses a text that is empty or only white space.
      return block.text.trim() === '' ? [] : [{ type: 'text', text: block.text, ...cacheOf(block) }]
    case 'image':
      return [{ type: 'image', source: imageSourceOf(block.url), ...cacheOf(block) }]
    case 'document':
      return [documentOf(block)]
    case 'reasoning':
      return thoughtOf(block)
    case 'tool_call':
      return [toolUse(block)]
    case 'tool_result':
      return [toolResult(block)]
    case 'special':
      return block.is === 'messages_parts' ? [{ ...block.fields }] : []
  }
}

const documentOf = ({ url, name, ...document }: Document): Fields => ({
  type: 'document',
  source: isByAddress(url)
    ? { type: 'url', url }
    : { type: 'base64', media_type: typeOfData(url), data: url.slice(url.indexOf(',') + 1) },
  ...(name !== undefined && { title: name }),
  ...cacheOf(document),
})

const cacheOf = ({ cacheMark }: { cacheMark?: true }): Fields =>
  cacheMark ? { cache_control: { type: 'ephemeral' } } : {}

/**
 * A thought of a Claude: the API wants it as it was, signed or sealed, in front of the calls that it led to. None of
 * another model, which cannot be verified.
 */
function thoughtOf({ text, signature, sealed, format }: Reasoning): Fields[] {
  if (format !== CLAUDE_THOUGHTS) return []
  if (sealed !== undefined) return [{ type: 'redacted_thinking', data: sealed }]
  return signature === undefined ? [] : [{ type: 'thinking', thinking: text, signature }]
}

const toolUse = ({ id, name, args, ...call }: ToolCall): Fields => ({
  type: 'tool_use',
  id,
  name,
  input: inputOf(args),
  ...cacheOf(call),
})

const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:e[+-]?\d+)?/gi

/**
 * The arguments of a call; of those that were cut off what is complete, and of no object none. A number that would be
 * longer than it was paid for (`1e20` has 21 digits), or would lose digits, is a text.
 */
export function inputOf(args: string): Fields {
  const paid = args.replace(TEXT_OR_NUMBER, (one) => (one.startsWith('"') || isExact(one) ? one : `"${one}"`))
  return readCut(paid)
}

const isExact = (number: string): boolean =>
  /^-?\d+$/.test(number) ? Number.isSafeInteger(Number(number)) : String(Number(number)).length <= number.length

function toolResult({ callId, blocks, isError, ...result }: ToolResult): Fields {
  const content = blocksOf(blocks)
  return {
    type: 'tool_result',
    tool_use_id: callId,
    ...(content.length > 0 && { content: compact(content) }),
    ...(isError && { is_error: true }),
    ...cacheOf(result),
  }
}
