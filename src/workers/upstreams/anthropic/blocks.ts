/** Content of turns: from canonical blocks to those of the Messages API. */
import type { Block, Reasoning, ToolCall, ToolResult, Turn } from '../../../shared/chat/canonical.ts'
import { imageSourceOf } from '../../../shared/chat/messages/parts.ts'
import { CLAUDE_THOUGHTS } from '../../../shared/chat/canonical.ts'
import { UpstreamError } from '../adapter.ts'
import { readCut } from '../../../shared/chat/cut-json.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import type { SafeNames } from './safe-names.ts'

/** The ids of calls and the names of tools of one request, as the API takes them. */
export type Names = { ids: SafeNames; tools: SafeNames }

/** Content in its shorter form: a text alone needs no block around it. */
export function compact(blocks: Fields[]): Fields[] | string {
  const [first, ...others] = blocks
  if (first?.type !== 'text' || others.length > 0 || first.cache_control) return blocks
  return first.text as string
}

/**
 * The blocks of a turn. Parts that only this API knows pass as they are; the model has a number for their kind, and
 * their addresses were checked.
 * @throws UpstreamError `rejected` for a tool call that is longer than the text that was paid for (`1e20` is 21 digits)
 */
export const blocksOf = (blocks: readonly Block[], names: Names): Fields[] =>
  blocks.flatMap((block) => blockOf(block, names))

function blockOf(block: Block, names: Names): Fields[] {
  switch (block.kind) {
    case 'text':
      // The API refuses a text that is empty or only white space.
      return block.text.trim() === '' ? [] : [{ type: 'text', text: block.text, ...cacheOf(block) }]
    case 'image':
      return [{ type: 'image', source: imageSourceOf(block.url), ...cacheOf(block) }]
    case 'reasoning':
      return thoughtOf(block)
    case 'tool_call':
      return [toolUse(block, names)]
    case 'tool_result':
      return [toolResult(block, names)]
    case 'other':
      return [block.fields]
  }
}

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

const toolUse = ({ id, name, args, ...call }: ToolCall, { ids, tools }: Names): Fields => ({
  type: 'tool_use',
  id: ids.of(id),
  name: tools.of(name),
  input: inputOf(args),
  ...cacheOf(call),
})

/** The arguments of a call; of those that were cut off what is complete, and of no object none. */
function inputOf(args: string): Fields {
  const input = readCut(args)
  if (JSON.stringify(input).length <= Math.max(2, JSON.stringify(args).length)) return input
  throw new UpstreamError('rejected', 'the arguments of a tool call grow when they are read')
}

function toolResult({ callId, blocks, isError, ...result }: ToolResult, names: Names): Fields {
  const content = blocksOf(blocks, names)
  return {
    type: 'tool_result',
    tool_use_id: names.ids.of(callId),
    ...(content.length > 0 && { content: compact(content) }),
    ...(isError && { is_error: true }),
    ...cacheOf(result),
  }
}

/**
 * Each result of a tool must answer a call of an assistant before it, one result per call: the API refuses others.
 * @throws UpstreamError `rejected`
 */
export function requireCalls(turns: readonly Turn[]): void {
  const open = new Set<string>()
  for (const block of turns.flatMap(({ blocks }) => blocks)) {
    if (block.kind === 'tool_call') open.add(block.id)
    if (block.kind !== 'tool_result' || open.delete(block.callId)) continue
    throw new UpstreamError('rejected', 'a result of a tool has no call before it')
  }
}
