/** From a request of the Responses API to its canonical form. */
import { asFields, isText, listOf } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { ChatRequest } from '../../requests/requests.ts'
import type { Block, CanonicalChat, Tool, ToolChoice, Turn } from '../canonical.ts'
import { formatOf, markOf, proofOf, samplingOf, verbosityOf } from '../canonical.ts'
import { fileBlocks } from '../documents.ts'
import type { Open } from '../seal.ts'
import { itemsOf, toolsOf } from './parts.ts'

/** A valid request in its canonical form. @param open opens what was sealed for the route that is asked */
export function canonicalResponses(request: ChatRequest, open: Open): CanonicalChat {
  const {
    instructions,
    max_tokens: maxTokens,
    messages: _messages,
    input: _input,
    tools: _tools,
    tool_choice: choice,
    ...rest
  } = request
  const { temperature, top_p, text, reasoning, user, safety_identifier: safety, ...more } = rest as Fields
  const { parallel_tool_calls: parallel, ...further } = more
  const toolChoice = toolChoiceOf(choice)
  const { format, verbosity } = asFields(text)
  const { effort } = asFields(reasoning)
  const asker = isText(user) ? user : safety
  const said: Turn[] = isText(instructions) ? [{ role: 'system', blocks: [{ kind: 'text', text: instructions }] }] : []
  return {
    turns: [...said, ...turnsOf(itemsOf(request), open)],
    maxTokens,
    choices: 1,
    tools: allowedTools(onceEach(toolsOf(request).flatMap(toolOf)), choice),
    ...(toolChoice !== undefined && { toolChoice }),
    ...(parallel === false && { oneToolAtATime: true as const }),
    stop: [],
    sampling: samplingOf({ temperature, top_p }),
    ...formatOf(asFields(format).type, asFields(format), 'text.format'),
    ...verbosityOf(verbosity, 'text.verbosity'),
    ...(isText(effort) && { effort }),
    ...(isText(asker) && { user: asker }),
    further,
  }
}

/**
 * Items as turns: what an assistant writes, thinks and calls in a row is one turn, and so is what its tools answer.
 * What comes between calls and their results is moved behind these, for results follow their calls everywhere else.
 */
function turnsOf(items: readonly Fields[], open: Open): Turn[] {
  const answered = new Set(items.filter(isOutput).map(({ call_id: id }) => id))
  const waitedFor = new Set<unknown>()
  const turns: Turn[] = []
  let later: Turn[] = []
  for (const [index, item] of items.entries()) {
    const turn = turnOf(item, open, `input.${index}`)
    if (turn === null) continue
    if (isCall(item) && answered.has(item.call_id)) waitedFor.add(item.call_id)
    if (isOutput(item)) waitedFor.delete(item.call_id)
    if (waitedFor.size > 0 && isSaid(item)) later.push(turn)
    else append(turns, turn, item)
    if (waitedFor.size > 0) continue
    turns.push(...later)
    later = []
  }
  return [...turns, ...later]
}

const isCall = ({ type }: Fields): boolean => type === 'function_call' || type === 'custom_tool_call'
const isOutput = ({ type }: Fields): boolean => type === 'function_call_output' || type === 'custom_tool_call_output'
const isSaid = ({ type, role }: Fields): boolean => (type ?? 'message') === 'message' && role !== 'assistant'

function append(turns: Turn[], turn: Turn, item: Fields): void {
  const last = turns.at(-1)
  const goesOn = turn.role === 'assistant' || (isOutput(item) && last?.blocks[0]?.kind === 'tool_result')
  if (last?.role === turn.role && goesOn) last.blocks.push(...apart(last.blocks, turn.blocks))
  else turns.push(turn)
}

/** Blocks behind others: a blank line parts the texts of two messages. */
function apart(before: readonly Block[], [first, ...rest]: readonly Block[]): Block[] {
  if (first?.kind !== 'text' || !before.some(({ kind }) => kind === 'text')) return first ? [first, ...rest] : []
  return [{ ...first, text: `\n\n${first.text}` }, ...rest]
}

/** The turn that an item is a part of; null for what only its vendor knows. @param at the path of the item */
function turnOf(item: Fields, open: Open, at: string): Turn | null {
  switch (item.type ?? 'message') {
    case 'message': {
      const { role, content } = item
      const isSystem = role === 'system' || role === 'developer'
      const blocks = blocksOf(content, `${at}.content`)
      return { role: isSystem ? 'system' : role === 'assistant' ? 'assistant' : 'user', blocks }
    }
    case 'reasoning':
      return { role: 'assistant', blocks: thoughtsOf(item, open) }
    case 'function_call':
    case 'custom_tool_call':
      return { role: 'assistant', blocks: [callOf(item, at)] }
    case 'function_call_output':
    case 'custom_tool_call_output': {
      const blocks = blocksOf(item.output, `${at}.output`)
      return { role: 'user', blocks: [{ kind: 'tool_result', callId: String(item.call_id), blocks, at }] }
    }
    case 'configuration_update':
      return { role: 'user', blocks: [{ kind: 'special', is: 'configuration', at, fields: item }] }
    default:
      return null
  }
}

const blocksOf = (content: unknown, at: string): Block[] =>
  typeof content === 'string'
    ? textBlocks(content)
    : listOf(content).flatMap((part, index) => blockOf(part, `${at}.${index}`))

const textBlocks = (text: unknown, mark: { cacheMark?: true } = {}): Block[] =>
  isText(text) ? [{ kind: 'text', text, ...mark }] : []

function blockOf(part: Fields, at: string): Block[] {
  const mark = markOf({ cache_control: part.prompt_cache_breakpoint })
  switch (part.type) {
    case 'refusal':
      return textBlocks(part.refusal)
    case 'input_image':
      return [
        { kind: 'image', url: String(part.image_url), ...(isText(part.detail) && { detail: part.detail }), ...mark },
      ]
    case 'input_file': {
      const [data, url, name] = [part.file_data, part.file_url, part.filename].map((text) =>
        isText(text) ? text : undefined,
      )
      return fileBlocks({ at, data: url === undefined ? data : undefined, url, name, ...mark })
    }
    default:
      return textBlocks(part.text, mark)
  }
}

/** What a model thought: with its proof where it is opened for the route that made it, else as a text alone. */
function thoughtsOf({ summary, content, encrypted_content: sealed }: Fields, open: Open): Block[] {
  const proof = isText(sealed) ? open(sealed) : null
  if (proof) return [{ kind: 'reasoning', text: isText(proof.text) ? proof.text : '', ...proofOf(proof) }]
  const text = [...listOf(summary), ...listOf(content)].map((part) => part.text).join('\n\n')
  return text === '' ? [] : [{ kind: 'reasoning', text }]
}

const namespaceOf = ({ namespace }: Fields) => isText(namespace) && { namespace }

const callOf = (item: Fields, at: string): Block => ({
  kind: 'tool_call',
  id: String(item.call_id),
  name: String(item.name),
  args: item.type === 'custom_tool_call' ? String(item.input) : String(item.arguments) || '{}',
  ...(item.type === 'custom_tool_call' && { isCustom: true as const }),
  at,
  ...namespaceOf(item),
})

/** A tool that the client runs, or those of a namespace; none of a kind that only its vendor knows. */
function toolOf(tool: Fields): Tool[] {
  const { type, name, description, parameters, strict, format } = tool
  if (type === 'namespace')
    return listOf(tool.tools).flatMap((member) => toolOf(member).map((one) => ({ ...one, namespace: String(name) })))
  if (type !== 'function' && type !== 'custom') return []
  return [
    {
      kind: type,
      name: String(name),
      ...(isText(description) && { description }),
      ...(type === 'function' && { schema: asFields(parameters) }),
      ...(typeof strict === 'boolean' && { strict }),
      ...(format !== undefined && format !== null && { format: asFields(format) }),
    },
  ]
}

function toolChoiceOf(choice: unknown): ToolChoice | undefined {
  if (choice === 'auto' || choice === 'none' || choice === 'required') return choice
  const { type, name, mode, ...rest } = asFields(choice)
  if (type === 'allowed_tools') return mode === 'required' ? 'required' : 'auto'
  return isText(name) ? { tool: name, ...namespaceOf(rest) } : undefined
}

/** The tools that a choice leaves. */
function allowedTools(tools: Tool[], choice: unknown): Tool[] {
  const { type, tools: allowed } = asFields(choice)
  if (type !== 'allowed_tools') return tools
  const names = new Set(listOf(allowed).map(({ name }) => name))
  return tools.filter(({ name, namespace = name }) => names.has(name) || names.has(namespace))
}

/** The tools of different names: a search may find what is offered anyway. */
const onceEach = (tools: Tool[]): Tool[] => [
  ...new Map(tools.map((tool) => [`${tool.namespace ?? ''} ${tool.name}`, tool])).values(),
]
