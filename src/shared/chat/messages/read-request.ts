/** From a request of the Messages API to its canonical form. */
import { asFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { Block, CanonicalChat, Tool, ToolChoice, Turn } from '../canonical.ts'
import { CLAUDE_THOUGHTS, markOf, samplingOf } from '../canonical.ts'

/** A valid request in its canonical form. */
export function canonicalMessages(request: ChatRequest): CanonicalChat {
  const {
    messages,
    max_tokens: maxTokens,
    system,
    tools,
    tool_choice: choice,
    stop_sequences: stops,
    ...rest
  } = request
  const { temperature, top_p, top_k, output_config: config, metadata, ...further } = rest as Fields
  const { effort, format } = asFields(config)
  const { user_id: user } = asFields(metadata)
  const ofSystem = blocksOf(Array.isArray(system) ? listOf(system).filter((block) => !isBillingHeader(block)) : system)
  const toolChoice = toolChoiceOf(choice)
  return {
    turns: [...(ofSystem.length > 0 ? [{ role: 'system' as const, blocks: ofSystem }] : []), ...messages.map(turnOf)],
    maxTokens,
    choices: 1,
    tools: listOf(tools).flatMap(toolOf),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(asFields(choice).disable_parallel_tool_use === true && { oneToolAtATime: true as const }),
    stop: Array.isArray(stops) ? stops.filter(isText) : [],
    sampling: samplingOf({ temperature, top_p, top_k }),
    ...(asFields(format).schema !== undefined && { format: { schema: asFields(asFields(format).schema) } }),
    ...(isText(effort) && { effort }),
    ...(isText(user) && { user }),
    further,
  }
}

/** A line of the system by which Claude Code names to its vendor the customer to bill: it is not for the model. */
export const isBillingHeader = ({ text }: Fields): boolean =>
  isText(text) && text.startsWith('x-anthropic-billing-header')

const turnOf = ({ role, content }: Fields): Turn => ({
  role: role === 'assistant' || role === 'system' ? role : 'user',
  blocks: blocksOf(content),
})

const blocksOf = (content: unknown): Block[] =>
  typeof content === 'string'
    ? content === ''
      ? []
      : [{ kind: 'text', text: content }]
    : listOf(content).flatMap(blockOf)

function blockOf(block: Fields): Block[] {
  switch (block.type) {
    case 'text':
      return isText(block.text) ? [{ kind: 'text', text: block.text, ...markOf(block) }] : []
    case 'image':
      return [{ kind: 'image', url: urlOf(asFields(block.source)), ...markOf(block) }]
    case 'thinking': {
      const { thinking, signature } = block
      const signed = isText(signature) ? { signature, format: CLAUDE_THOUGHTS } : {}
      return [{ kind: 'reasoning', text: isText(thinking) ? thinking : '', ...signed }]
    }
    case 'redacted_thinking':
      return [{ kind: 'reasoning', text: '', sealed: String(block.data), format: CLAUDE_THOUGHTS }]
    case 'tool_use':
      return [
        {
          kind: 'tool_call',
          id: String(block.id),
          name: String(block.name),
          args: argsOf(block.input),
          ...markOf(block),
        },
      ]
    case 'tool_result':
      return [
        {
          kind: 'tool_result',
          callId: String(block.tool_use_id),
          blocks: blocksOf(block.content),
          ...(block.is_error === true && { isError: true as const }),
          ...markOf(block),
        },
      ]
    case 'document':
      return documentOf(block)
    case 'search_result':
      return [{ kind: 'text', text: [String(block.title), ...blocksOf(block.content).map(textOf)].join('\n') }]
    default:
      // Changes of tools in the middle of a conversation are for the vendor's own models.
      return []
  }
}

/** Arguments are an object: a client sends an empty text back where a call had none. */
const argsOf = (input: unknown): string => JSON.stringify(input === '' ? {} : (input ?? {}))

const textOf = (block: Block): string => (block.kind === 'text' ? block.text : '')

/** An image's source as an address: its own, or a data URI. */
const urlOf = ({ type, url, media_type: mediaType, data }: Fields): string =>
  type === 'base64' ? `data:${String(mediaType)};base64,${String(data)}` : String(url)

/** A document: its text, or a file. */
function documentOf(block: Fields): Block[] {
  const { type, data, content, media_type: mediaType, url } = asFields(block.source)
  const title = isText(block.title) ? block.title : 'document'
  if (type === 'text') return [{ kind: 'text', text: String(data), ...markOf(block) }]
  if (type === 'content') return blocksOf(content)
  const file =
    type === 'base64'
      ? { filename: title, file_data: `data:${String(mediaType)};base64,${String(data)}` }
      : { file_url: url }
  return [{ kind: 'other', fields: { type: 'file', file } }]
}

/** A tool that the client runs. One of the vendor's own kinds, such as its editor, has no schema of its own. */
function toolOf(tool: Fields): Tool[] {
  const { name, description, input_schema: schema, strict } = tool
  return [
    {
      kind: 'function',
      name: String(name),
      ...(isText(description) && { description }),
      schema: schema === undefined ? { type: 'object' } : asFields(schema),
      ...(typeof strict === 'boolean' && { strict }),
      ...markOf(tool),
    },
  ]
}

const CHOICES: Readonly<Record<string, ToolChoice>> = { auto: 'auto', any: 'required', none: 'none' }

function toolChoiceOf(choice: unknown): ToolChoice | undefined {
  const { type, name } = asFields(choice)
  return type === 'tool' ? { tool: String(name) } : CHOICES[String(type)]
}
