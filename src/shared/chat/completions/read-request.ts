/** From a chat request of OpenAI's kind to its canonical form. */
import { asFields, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatMessage, ChatRequest } from '../../requests/requests.ts'
import type { Block, CanonicalChat, Tool, ToolCall, ToolChoice, Turn } from '../canonical.ts'
import { formatOf, markOf, samplingOf } from '../canonical.ts'

const textIn = (value: unknown): string | undefined => (typeof value === 'string' && value !== '' ? value : undefined)

/** A valid request in its canonical form. */
export function canonicalChat(request: ChatRequest): CanonicalChat {
  const { messages, max_tokens: maxTokens, n = 1, tools, tool_choice: choice, stop, ...rest } = request
  const { temperature, top_p, top_k, response_format: format, reasoning_effort: effort, user, ...more } = rest
  const { parallel_tool_calls: parallel, ...further } = more
  const toolChoice = toolChoiceOf(choice)
  const { type, json_schema: named } = asFields(format)
  return {
    turns: messages.map(turnOf),
    maxTokens,
    choices: n,
    tools: listOf(tools).flatMap(toolOf),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(parallel === false && { oneToolAtATime: true as const }),
    stop: (Array.isArray(stop) ? stop : [stop]).filter((text): text is string => textIn(text) !== undefined),
    sampling: samplingOf({ temperature, top_p, top_k }),
    ...formatOf(type, asFields(named)),
    ...(typeof effort === 'string' && { effort }),
    ...(typeof user === 'string' && { user }),
    further,
  }
}

function turnOf(message: ChatMessage): Turn {
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', blocks: blocksOf(message.content) }
    case 'assistant':
      return { role: 'assistant', blocks: [...thoughtsOf(message), ...wordsOf(message), ...callsOf(message)] }
    case 'tool': {
      const callId = String(message.tool_call_id)
      return { role: 'user', blocks: [{ kind: 'tool_result', callId, blocks: blocksOf(message.content) }] }
    }
    default:
      return { role: 'user', blocks: blocksOf(message.content) }
  }
}

const wordsOf = ({ content, refusal }: ChatMessage): Block[] => [...blocksOf(content), ...textBlocks(refusal)]

const textBlocks = (text: unknown, more: { cacheMark?: true } = {}): Block[] =>
  typeof text === 'string' && text !== '' ? [{ kind: 'text', text, ...more }] : []

/** The blocks of a message's content: a text, or parts. */
const blocksOf = (content: unknown): Block[] =>
  Array.isArray(content) ? listOf(content).flatMap(blocksOfPart) : textBlocks(content)

function blocksOfPart(part: Fields): Block[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text, markOf(part))
    case 'refusal':
      return textBlocks(part.refusal)
    case 'image_url': {
      const { image_url: image } = part
      const url = String(typeof image === 'string' ? image : asFields(image).url)
      const detail = textIn(asFields(image).detail)
      return [{ kind: 'image', url, ...(detail !== undefined && { detail }), ...markOf(part) }]
    }
    default:
      return [{ kind: 'other', fields: part }]
  }
}

/** What a model thought: in OpenRouter's form with its proof, else as a text alone. */
function thoughtsOf({ reasoning_details: details, reasoning_content: content, reasoning }: ChatMessage): Block[] {
  const detailed = listOf(details).map((detail): Block => {
    const [signature, sealed, format] = [detail.signature, detail.data, detail.format].map(textIn)
    return {
      kind: 'reasoning',
      text: textIn(detail.text) ?? textIn(detail.summary) ?? '',
      ...(signature !== undefined && { signature }),
      ...(sealed !== undefined && detail.type === 'reasoning.encrypted' && { sealed }),
      ...(format !== undefined && { format }),
    }
  })
  const text = textIn(content) ?? textIn(reasoning)
  return detailed.length > 0 || text === undefined ? detailed : [{ kind: 'reasoning', text }]
}

const callsOf = ({ tool_calls: calls }: ChatMessage): ToolCall[] =>
  listOf(calls).map((call) => {
    const isCustom = call.type === 'custom'
    const { name, arguments: args, input } = asFields(isCustom ? call.custom : call.function)
    const said = isCustom ? input : args
    return {
      kind: 'tool_call',
      id: String(call.id),
      name: String(name),
      args: typeof said === 'string' ? said : JSON.stringify(said ?? {}),
      ...(isCustom && { isCustom: true as const }),
    }
  })

function toolOf(tool: Fields): Tool[] {
  if (tool.type !== 'function' && tool.type !== 'custom') return []
  const { name, description, parameters, strict, format } = asFields(tool[tool.type])
  return [
    {
      kind: tool.type,
      name: String(name),
      ...(typeof description === 'string' && { description }),
      ...(parameters !== undefined && { schema: asFields(parameters) }),
      ...(typeof strict === 'boolean' && { strict }),
      ...(format !== undefined && { format: asFields(format) }),
      ...markOf(tool),
    },
  ]
}

function toolChoiceOf(choice: unknown): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  const { function: called, custom } = asFields(choice)
  const { name } = asFields(called ?? custom)
  return typeof name === 'string' ? { tool: name } : undefined
}
