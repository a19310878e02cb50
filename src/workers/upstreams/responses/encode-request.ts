/** From the canonical form of a chat to a request of the Responses API, for clients of another dialect. */
import type { Block, CanonicalChat, Tool, ToolChoice, Turn } from '../../../shared/chat/canonical.ts'
import { LEAST_LIMIT } from '../../../shared/chat/features.ts'
import { fileNameOf, isByAddress } from '../../../shared/chat/documents.ts'
import { typedPicture } from '../../../shared/chat/picture-types.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { argumentsSchema } from '../../../shared/chat/schemas.ts'
import { shortUser } from '../user-ids.ts'

/** The body of a request but for its model, its stream and what every request has. */
export function bodyOf(chat: CanonicalChat): Fields {
  const { tools, toolChoice, sampling, format, verbosity, further } = chat
  const { temperature, top_p } = sampling
  return {
    input: chat.turns.flatMap(itemsOf),
    max_output_tokens: Math.max(chat.maxTokens, LEAST_LIMIT),
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { top_p }),
    ...(tools.length > 0 && { tools: tools.map(toolOf) }),
    ...(tools.length > 0 && toolChoice !== undefined && { tool_choice: choiceOf(toolChoice) }),
    ...(tools.length > 0 && chat.oneToolAtATime && { parallel_tool_calls: false }),
    ...((format ?? verbosity) && {
      text: { ...(format && { format: formatOf(format) }), ...(verbosity && { verbosity: verbosity.level }) },
    }),
    ...(chat.effort !== undefined && { reasoning: { effort: chat.effort } }),
    ...(chat.user !== undefined && { safety_identifier: shortUser(chat.user) }),
    ...(typeof further.prompt_cache_key === 'string' && { prompt_cache_key: further.prompt_cache_key }),
  }
}

/** A turn as items, in its order: consecutive words are one message. */
function itemsOf({ role, blocks }: Turn): Fields[] {
  const items: Fields[] = []
  let parts: Fields[] = []
  const say = (): void => {
    if (parts.length > 0) items.push({ type: 'message', role, content: parts })
    parts = []
  }
  for (const block of blocks) {
    const item = itemOf(block)
    if (item) {
      say()
      items.push(item)
    } else parts.push(...partOf(block, role))
  }
  say()
  return items
}

/** The item that a block is; null for content of a message. */
function itemOf(block: Block): Fields | null {
  if (block.kind === 'tool_call')
    return { type: 'function_call', call_id: block.id, name: block.name, arguments: block.args }
  if (block.kind !== 'tool_result') return null
  const { callId, blocks, isError } = block
  const parts = [
    ...(isError ? [{ type: 'input_text', text: 'Error:' }] : []),
    ...blocks.flatMap((one) => partOf(one, 'user')),
  ]
  const isPlain = parts.every(({ type }) => type === 'input_text')
  const output = isPlain ? parts.map(({ text }) => text).join('\n') : parts
  return { type: 'function_call_output', call_id: callId, output }
}

function partOf(block: Block, role: Turn['role']): Fields[] {
  switch (block.kind) {
    case 'text':
      return [{ type: role === 'assistant' ? 'output_text' : 'input_text', text: block.text }]
    case 'image':
      return [{ type: 'input_image', image_url: typedPicture(block.url), detail: block.detail ?? 'auto' }]
    case 'document': {
      const { url } = block
      const file = isByAddress(url) ? { file_url: url } : { filename: fileNameOf(block), file_data: url }
      return [{ type: 'input_file', ...file }]
    }
    case 'special':
    // What another vendor's model thought cannot be verified here.
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return []
  }
}

const toolOf = ({ name, description, schema, strict }: Tool): Fields => ({
  type: 'function',
  name,
  ...(description !== undefined && { description }),
  parameters: argumentsSchema(schema),
  strict: strict ?? false,
})

const choiceOf = (choice: ToolChoice): unknown =>
  typeof choice === 'string' ? choice : { type: 'function', name: choice.tool }

const formatOf = ({ schema, name = 'answer', description, strict }: NonNullable<CanonicalChat['format']>): Fields =>
  schema
    ? {
        type: 'json_schema',
        name,
        ...(description !== undefined && { description }),
        schema,
        ...(strict !== undefined && { strict }),
      }
    : { type: 'json_object' }
