/** From a chat request of OpenAI's kind to its canonical form. */
import { asFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatMessage, ChatRequest } from '../../requests/requests.ts'
import type { Block, CanonicalChat, Reasoning, Tool, ToolCall, ToolChoice, Turn } from '../canonical.ts'
import { CALL_SIGNATURE, formatOf, markOf, proofOf, samplingOf, verbosityOf } from '../canonical.ts'
import { fileBlocks } from '../documents.ts'

/** A valid request in its canonical form. */
export function canonicalChat(request: ChatRequest): CanonicalChat {
  const { messages, max_tokens: maxTokens, n = 1, tools, tool_choice: choice, stop, ...rest } = request
  const { temperature, top_p, top_k, response_format: format, reasoning_effort: effort, user, ...more } = rest
  const { parallel_tool_calls: parallel, functions, function_call: called, ...others } = more
  const { verbosity, safety_identifier: safety, ...further } = others
  const isLegacy = isLegacyChat(request)
  const toolChoice = toolChoiceOf(choice ?? (isText(asFields(called).name) ? { function: called } : called))
  const { type, json_schema: named } = asFields(format)
  const asker = [user, safety].find(isText)
  const offered = [...listOf(tools), ...listOf(functions).map((one) => ({ type: 'function', function: one }))]
  return {
    turns: turnsOf(messages),
    maxTokens,
    choices: n,
    tools: allowedTools(offered.flatMap(toolOf), choice),
    ...(toolChoice !== undefined && { toolChoice }),
    ...((parallel === false || isLegacy) && { oneToolAtATime: true as const }),
    stop: (Array.isArray(stop) ? stop : [stop]).filter(isText),
    sampling: samplingOf({ temperature, top_p, top_k }),
    ...formatOf(type, asFields(named), 'response_format'),
    ...verbosityOf(verbosity, 'verbosity'),
    ...(isText(effort) && { effort }),
    ...(asker !== undefined && { user: asker }),
    ...(isLegacy && { isLegacy }),
    further,
  }
}

/** Whether the tools of a chat are the `functions` of older clients. */
export const isLegacyChat = ({ tools, functions }: ChatRequest): boolean =>
  listOf(tools).length === 0 && listOf(functions).length > 0

/**
 * Messages as turns. A result of a function of older clients answers the last call of that name, and one without an id
 * the first call without one that has no result yet.
 */
function turnsOf(messages: readonly ChatMessage[]): Turn[] {
  const called = new Map<unknown, string>()
  const unnamed: string[] = []
  return messages.map((message, index) => {
    const { role, function_call: call, tool_calls: calls, tool_call_id: id, name } = message
    if (call) called.set(asFields(call).name, legacyId(index))
    unnamed.push(...listOf(calls).flatMap((one, at) => (isText(one.id) ? [] : [callId(index, at)])))
    const answered = role === 'function' ? called.get(name) : role !== 'tool' || isText(id) ? id : unnamed.shift()
    const turn = withMark(turnOf(message, index, isText(answered) ? answered : legacyId(index)), message)
    return isText(name) && role !== 'function' && role !== 'tool' ? { ...turn, name } : turn
  })
}

/** The id of a call that has none. */
const callId = (index: number, at: number): string => `call_${index}_${at}`

/** The turn of a message: what marks a message marks its last block. */
function withMark(turn: Turn, message: ChatMessage): Turn {
  const last = turn.blocks.at(-1)
  if (!last || last.kind === 'reasoning' || last.kind === 'special') return turn
  return { ...turn, blocks: [...turn.blocks.slice(0, -1), { ...last, ...markOf(message) }] }
}

const legacyId = (index: number): string => `function_${index}`

/** @param answered the call that a result answers */
function turnOf(message: ChatMessage, index: number, answered: string): Turn {
  const at = `messages[${index}]`
  switch (message.role) {
    case 'system':
    case 'developer':
      return { role: 'system', blocks: blocksOf(message.content, at) }
    case 'assistant': {
      const calls = [...callsOf(message, index), ...legacyCallOf(message, index)]
      const thoughts = [...thoughtsOf(message), ...signaturesOf(message, index)]
      return { role: 'assistant', blocks: [...thoughts, ...wordsOf(message, at), ...calls] }
    }
    case 'tool':
    case 'function':
      return {
        role: 'user',
        blocks: [{ kind: 'tool_result', callId: answered, blocks: blocksOf(message.content, at), at }],
      }
    default:
      return { role: 'user', blocks: blocksOf(message.content, at) }
  }
}

const wordsOf = ({ content, refusal }: ChatMessage, at: string): Block[] => [
  ...blocksOf(content, at),
  ...textBlocks(refusal),
]

const textBlocks = (text: unknown, more: { cacheMark?: true } = {}): Block[] =>
  isText(text) ? [{ kind: 'text', text, ...more }] : []

/** The blocks of a message's content: a text, or parts. @param at the path of the message */
const blocksOf = (content: unknown, at: string): Block[] =>
  Array.isArray(content)
    ? listOf(content).flatMap((part, index) => blocksOfPart(part, `${at}.content[${index}]`))
    : textBlocks(content)

function blocksOfPart(part: Fields, at: string): Block[] {
  switch (part.type) {
    case 'text':
      return textBlocks(part.text, markOf(part))
    case 'refusal':
      return textBlocks(part.refusal)
    case 'image_url': {
      const { image_url: image } = part
      const url = String(typeof image === 'string' ? image : asFields(image).url)
      const { detail } = asFields(image)
      return [{ kind: 'image', url, ...(isText(detail) && { detail }), ...markOf(part) }]
    }
    case 'file': {
      const { filename, file_data: data } = asFields(part.file)
      const name = isText(filename) ? filename : undefined
      return isText(data)
        ? fileBlocks({ at, ...(/^https?:/i.test(data) ? { url: data } : { data }), name, ...markOf(part) })
        : [{ kind: 'special', is: 'parts', at, fields: part }]
    }
    case 'document':
    case 'search_result':
      return [{ kind: 'special', is: 'messages_parts', at, fields: part }]
    default:
      return [{ kind: 'special', is: 'parts', at, fields: part }]
  }
}

/** What a model thought: in OpenRouter's form with its proof, else as a text alone. */
function thoughtsOf({ reasoning_details: details, reasoning_content: content, reasoning }: ChatMessage): Block[] {
  const detailed = listOf(details).map((detail): Reasoning => {
    const { type, data, text, summary } = detail
    const sealed = type === 'reasoning.encrypted' ? data : undefined
    const words = [text, summary].find(isText) ?? ''
    return { kind: 'reasoning', text: words, ...proofOf({ ...detail, sealed }) }
  })
  const text = [content, reasoning].find(isText)
  return detailed.length > 0 || text === undefined ? detailed : [{ kind: 'reasoning', text }]
}

/** What Gemini wants back with its calls. */
const signaturesOf = ({ tool_calls: calls }: ChatMessage, index: number): Reasoning[] =>
  listOf(calls).flatMap(({ id, extra_content: extra }, at) => {
    const { thought_signature: sealed } = asFields(asFields(extra).google)
    if (!isText(sealed)) return []
    return [{ kind: 'reasoning', text: '', sealed, format: CALL_SIGNATURE, id: isText(id) ? id : callId(index, at) }]
  })

const callsOf = ({ tool_calls: calls }: ChatMessage, index: number): ToolCall[] =>
  listOf(calls).map((call, at) => {
    const isCustom = call.type === 'custom'
    const { name, arguments: args, input } = asFields(isCustom ? call.custom : call.function)
    const said = isCustom ? input : args || '{}'
    return {
      kind: 'tool_call',
      id: isText(call.id) ? call.id : callId(index, at),
      name: String(name),
      args: typeof said === 'string' ? said : JSON.stringify(said ?? {}),
      at: `messages[${index}].tool_calls[${at}]`,
      ...(isCustom && { isCustom: true as const }),
    }
  })

/** The call of a function of older clients, which has no id. */
function legacyCallOf({ function_call: call }: ChatMessage, index: number): ToolCall[] {
  if (!call) return []
  const { name, arguments: args } = asFields(call)
  const at = `messages[${index}].function_call`
  return [{ kind: 'tool_call', id: legacyId(index), name: String(name), args: isText(args) ? args : '{}', at }]
}

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
  const { type, allowed_tools: allowed, function: called, custom } = asFields(choice)
  if (type === 'allowed_tools') return asFields(allowed).mode === 'required' ? 'required' : 'auto'
  const { name } = asFields(called ?? custom)
  return typeof name === 'string' ? { tool: name } : undefined
}

/** The tools that a choice leaves. */
function allowedTools(tools: Tool[], choice: unknown): Tool[] {
  const { type, allowed_tools: allowed } = asFields(choice)
  if (type !== 'allowed_tools') return tools
  const names = new Set(listOf(asFields(allowed).tools).map((one) => asFields(one.function ?? one.custom).name))
  return tools.filter(({ name }) => names.has(name))
}
