/**
 * Custom tools of a chat, which take one text that is no JSON, at an upstream that knows functions alone: a function
 * of one text replaces each, and its calls come back as calls of the custom tool.
 */
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { ChatAdapter, TakeEvent, UpstreamContext } from './adapter.ts'
import { readCut } from '../../shared/chat/cut-json.ts'
import { asFields, listOf } from '../../shared/platform/fields.ts'
import type { Fields } from '../../shared/platform/fields.ts'

/**
 * The adapter, with functions in the place of custom tools where an upstream knows functions alone. Other dialects than
 * chat completions are translated: in their messages `custom` is the type of an ordinary tool.
 */
export const withCustomTools = (adapter: ChatAdapter): ChatAdapter => ({
  ...adapter,

  async chat(request, context) {
    if (knowsCustomTools(context)) return adapter.chat(request, context)
    const names = customNames(request)
    const { answer, ...rest } = await adapter.chat(asFunctions(request), context)
    if (names.size === 0) return { ...rest, answer }
    const choices = listOf(answer.choices).map((choice) => ({ ...choice, message: messageOf(choice.message, names) }))
    return { ...rest, answer: { ...answer, choices } }
  },

  streamChat(request, context, take) {
    if (knowsCustomTools(context)) return adapter.streamChat(request, context, take)
    const names = customNames(request)
    return adapter.streamChat(asFunctions(request), context, names.size === 0 ? take : takingCustomCalls(names, take))
  },
})

const knowsCustomTools = ({ dialect = 'chat', route }: UpstreamContext): boolean =>
  dialect !== 'chat' || route.upstream.customTools !== false

const isCustom = ({ type }: Fields): boolean => type === 'custom'

const nameOf = ({ custom }: Fields): unknown => asFields(custom).name

const customNames = ({ tools }: ChatRequest): ReadonlySet<unknown> =>
  new Set(listOf(tools).filter(isCustom).map(nameOf))

/** The request with functions alone. */
function asFunctions(request: ChatRequest): ChatRequest {
  const messages = request.messages.map((message) =>
    listOf(message.tool_calls).some(isCustom)
      ? { ...message, tool_calls: listOf(message.tool_calls).map(calledFunction) }
      : message,
  )
  if (customNames(request).size === 0) return { ...request, messages }
  return {
    ...request,
    messages,
    tools: listOf(request.tools).map(functionTool),
    ...(request.tool_choice !== undefined && { tool_choice: chosenFunction(request.tool_choice) }),
  }
}

/** The schema of a function that takes one text. */
export const ONE_TEXT = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] }

function functionTool(tool: Fields): Fields {
  if (!isCustom(tool)) return tool
  const { name, description, format } = asFields(tool.custom)
  const { custom: _custom, ...rest } = tool
  const described = withFormat(description, format)
  const about = described === undefined ? {} : { description: described }
  return { ...rest, type: 'function', function: { name, ...about, parameters: ONE_TEXT } }
}

/**
 * The description of a custom tool, and of the format that its text follows. A grammar is included as it is, not as
 * JSON, which would make more words of it than were held.
 */
export function withFormat(description: unknown, format: unknown): string | undefined {
  const { grammar, ...flat } = asFields(format)
  const { syntax, definition } = grammar === undefined ? flat : asFields(grammar)
  const said =
    typeof definition === 'string'
      ? `The input follows this grammar (${textOf(syntax)}):\n${definition}`
      : format && `The input follows this format: ${JSON.stringify(format)}`
  const all = [description, said].filter(Boolean)
  return all.length > 0 ? all.join('\n\n') : undefined
}

function calledFunction(call: Fields): Fields {
  if (!isCustom(call)) return call
  const { custom, ...rest } = call
  const { name, input } = asFields(custom)
  return { ...rest, type: 'function', function: { name, arguments: JSON.stringify({ input }) } }
}

function chosenFunction(choice: unknown): unknown {
  const { type, custom, allowed_tools: allowed } = asFields(choice)
  if (type === 'custom') return { type: 'function', function: custom }
  if (type !== 'allowed_tools') return choice
  return { type, allowed_tools: { ...asFields(allowed), tools: listOf(asFields(allowed).tools).map(chosenFunction) } }
}

/** A message whose calls of functions that replace custom tools are calls of those again. */
function messageOf(message: unknown, names: ReadonlySet<unknown>): unknown {
  const fields = asFields(message)
  if (!listOf(fields.tool_calls).some((call) => names.has(asFields(call.function).name))) return message
  return { ...fields, tool_calls: listOf(fields.tool_calls).map((call) => customCall(call, names)) }
}

function customCall(call: Fields, names: ReadonlySet<unknown>): Fields {
  const { function: called, ...rest } = call
  const { name, arguments: args } = asFields(called)
  return names.has(name) ? { ...rest, type: 'custom', custom: { name, input: inputOf(args) } } : call
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * The one text of the arguments of a function that replaces a custom tool, also of arguments that were cut off or have
 * another name for it, and of a JSON text; all of them if the model has written something else.
 */
export function inputOf(args: unknown): string {
  const text = textOf(args)
  const { input, ...others } = readCut(text)
  const [only, ...more] = Object.values(others)
  if (typeof input === 'string') return input
  if (typeof only === 'string' && more.length === 0) return only
  return text.trim() === '{}' ? '' : textIn(text)
}

/** The text that a JSON text is; the text itself where it is none. */
function textIn(text: string): string {
  try {
    return textOf(JSON.parse(text)) || text
  } catch {
    return text
  }
}

/**
 * Takes the events of a stream. The arguments of a function that replaces a custom tool come in pieces of JSON, from
 * which the text cannot be taken: the call is held back until its choice ends, and sent whole.
 */
function takingCustomCalls(names: ReadonlySet<unknown>, take: TakeEvent): TakeEvent {
  const held = new Map<string, Fields>()
  return (event) =>
    take(event.type === 'usage' ? event : { type: 'frame', frame: withHeldCalls(event.frame, names, held) })
}

function withHeldCalls(chunk: Fields, names: ReadonlySet<unknown>, held: Map<string, Fields>): Fields {
  const choices = listOf(chunk.choices).map((choice) => {
    const { tool_calls: pieces, ...delta } = asFields(choice.delta)
    const passing = listOf(pieces).filter((piece) => !isHeld(piece, String(choice.index), names, held))
    const ended = typeof choice.finish_reason === 'string' ? callsOf(String(choice.index), names, held) : []
    const calls = [...passing, ...ended]
    return { ...choice, delta: calls.length > 0 ? { ...delta, tool_calls: calls } : delta }
  })
  return { ...chunk, choices }
}

/** Holds back a piece of a call of a function that replaces a custom tool. */
function isHeld(piece: Fields, choice: string, names: ReadonlySet<unknown>, held: Map<string, Fields>): boolean {
  const key = `${choice} ${String(piece.index)}`
  const { name, arguments: args } = asFields(piece.function)
  const known = held.get(key)
  if (!known && !names.has(name)) return false
  const before = asFields(known?.function)
  const called = { name: before.name ?? name, arguments: `${textOf(before.arguments)}${textOf(args)}` }
  held.set(key, { ...(known ?? piece), function: called })
  return true
}

function callsOf(choice: string, names: ReadonlySet<unknown>, held: Map<string, Fields>): Fields[] {
  const keys = [...held.keys()].filter((key) => key.startsWith(`${choice} `))
  const calls = keys.map((key) => customCall(held.get(key)!, names))
  for (const key of keys) held.delete(key)
  return calls
}
