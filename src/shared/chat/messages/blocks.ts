/** The blocks of a message, and the events that report them: each begins empty, and its content follows in deltas. */
import { isFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'

/** What a block of words has none of as it begins, by its type. */
export const BLANK: Readonly<Record<string, Fields>> = {
  text: { text: '' },
  thinking: { thinking: '', signature: '' },
  tool_use: { input: {} },
  server_tool_use: { input: {} },
  mcp_tool_use: { input: {} },
}

/** Whether blocks of a type are calls, whose input comes as pieces of JSON. */
export const isCall = (type: unknown): boolean => 'input' in (BLANK[String(type)] ?? {})

/** The deltas that make up what a block has. */
function deltasOf({ type, text, thinking, signature, input, citations }: Fields): Fields[] {
  if (type === 'text') {
    const words = isText(text) ? [{ type: 'text_delta', text }] : []
    return [...words, ...listOf(citations).map((citation) => ({ type: 'citations_delta', citation }))]
  }
  if (type === 'thinking') {
    const words = isText(thinking) ? [{ type: 'thinking_delta', thinking }] : []
    return isText(signature) ? [...words, { type: 'signature_delta', signature }] : words
  }
  if (!isCall(type)) return []
  // Some encode the input a second time.
  if (isText(input)) return [{ type: 'input_json_delta', partial_json: input }]
  const json = isFields(input) ? JSON.stringify(input) : '{}'
  return json === '{}' ? [] : [{ type: 'input_json_delta', partial_json: json }]
}

/** A block without its content; the block itself where it has none. */
function begunBlock(block: Fields, hasContent: boolean): Fields {
  const blank = BLANK[String(block.type)] ?? {}
  const isBegun = !hasContent && Object.keys(blank).every((name) => (block[name] ?? null) !== null)
  return isBegun ? block : { ...block, ...blank, ...('citations' in block && { citations: [] }) }
}

/** The events that begin a block and report what it has, up to its end. */
export function eventsOfBlock(block: Fields, index: number): Fields[] {
  const deltas = deltasOf(block)
  return [
    { type: 'content_block_start', index, content_block: begunBlock(block, deltas.length > 0) },
    ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
  ]
}
