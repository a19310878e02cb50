/**
 * From a chat request of OpenAI's kind to one of the Messages API. Only fields that the API knows are sent, for it
 * refuses the others, and of its own fields those that the route allows. What is sent is hardly longer than what the
 * customer sent: the pre-charge counts that.
 */
import type { ChatMessage, ChatRequest } from '../../../shared/requests/requests.ts'
import type { UpstreamContext } from '../adapter.ts'
import { UpstreamError } from '../adapter.ts'
import { applyRules } from '../body-rules.ts'
import { asFields } from '../fields.ts'
import type { Fields } from '../fields.ts'
import { blocksOf, compact, requireCalls, turnOf } from './blocks.ts'
import type { Names, Turn } from './blocks.ts'
import { Alphabet } from './names.ts'

const SAMPLING = ['temperature', 'top_p', 'top_k'] as const

/**
 * The body that is sent.
 * @param names gets what is sent for the customer's ids and names
 * @throws UpstreamError `rejected` for more than one choice, which the API does not make
 */
export function outgoing(
  request: ChatRequest,
  { route }: UpstreamContext,
  stream: boolean,
  names: Names = { ids: new Alphabet(), tools: new Alphabet() },
): Fields {
  if ((request.n ?? 1) !== 1) throw new UpstreamError('rejected', 'the Messages API makes one choice')
  const { messages, max_tokens: maxTokens } = request
  return applyRules(
    withoutMissing({
      model: route.model,
      max_tokens: maxTokens,
      ...conversationOf(messages, names),
      stream,
      stop_sequences: stopSequences(request.stop),
      ...toolsOf(request, names),
      output_config: outputConfig(request.response_format),
      metadata: typeof request.user === 'string' ? { user_id: request.user } : undefined,
      ...picked(request, route.allow),
      ...sampling(request, route.model),
    }),
    route,
  )
}

const withoutMissing = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const picked = (request: ChatRequest, names: readonly string[]): Fields =>
  withoutMissing(Object.fromEntries(names.map((name) => [name, request[name] ?? undefined])))

/** What stands for a turn in which nothing is said, and that the API asks for. */
const NOTHING: Fields = { type: 'text', text: '.' }

/** What the system says stands apart from the turns; where it says everything, it says it as the user. */
function conversationOf(messages: ChatMessage[], names: Names): Fields {
  const ofSystem = messages.filter(({ role }) => role === 'system' || role === 'developer')
  const system = ofSystem.flatMap(({ content }) => blocksOf(content))
  requireCalls(messages)
  const turns = withoutTrailingSpace(mergedTurns(messages, names))
  if (turns.length === 0)
    return { messages: [{ role: 'user', content: compact(system.length > 0 ? system : [NOTHING]) }] }
  if (turns[0]!.role === 'assistant') turns.unshift({ role: 'user', content: [NOTHING] })
  const compacted = turns.map(({ role, content }) => ({ role, content: compact(content) }))
  return { messages: compacted, system: system.length > 0 ? compact(system) : undefined }
}

/** The turns of a conversation. Users and assistants must take turns, so neighbours of one role are merged. */
function mergedTurns(messages: ChatMessage[], names: Names): Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    const turn = turnOf(message, names)
    if (!turn || turn.content.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === turn.role) last.content.push(...turn.content)
    else turns.push(turn)
  }
  return turns
}

/** What an assistant has begun to say may not end in white space. */
function withoutTrailingSpace(turns: Turn[]): Turn[] {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role === 'assistant' && block?.type === 'text') block.text = String(block.text).trimEnd()
  return turns
}

/**
 * Newer Claude models refuse every sampling parameter, also at its default, so none is sent to a Claude unless the
 * route's `set` gives it. Other models that speak this protocol know temperatures up to 1.
 */
function sampling(request: ChatRequest, model: string): Fields {
  if (/claude/i.test(model)) return {}
  const given = picked(request, SAMPLING)
  return typeof given.temperature === 'number' ? { ...given, temperature: Math.min(given.temperature, 1) } : given
}

function stopSequences(stop: unknown): string[] | undefined {
  const texts = (Array.isArray(stop) ? stop : [stop]).filter((text) => typeof text === 'string' && text.trim() !== '')
  return texts.length > 0 ? (texts as string[]) : undefined
}

/** Of OpenAI's formats only the JSON schema has a counterpart. */
function outputConfig(format: unknown): Fields | undefined {
  const { type, json_schema: named } = asFields(format)
  return type === 'json_schema' ? { format: { type, schema: asFields(named).schema ?? {} } } : undefined
}

function toolsOf({ tools, tool_choice: choice, parallel_tool_calls: parallel }: ChatRequest, names: Names): Fields {
  const functions = (Array.isArray(tools) ? tools : []).filter((tool) => asFields(tool).type === 'function')
  if (functions.length === 0) return {}
  return {
    tools: functions.map((tool) => toolOf(tool, names)),
    tool_choice: toolChoice(choice, parallel === false, names),
  }
}

/** A function as a tool. Its schema must be one of an object. */
function toolOf(tool: unknown, { tools }: Names): Fields {
  const { name, description, parameters } = asFields(asFields(tool).function)
  return withoutMissing({
    name: tools.of(String(name)),
    description,
    input_schema: { ...asFields(parameters), type: 'object' },
  })
}

const CHOICES: Readonly<Record<string, string>> = { auto: 'auto', required: 'any', none: 'none' }

function toolChoice(choice: unknown, oneAtATime: boolean, { tools }: Names): Fields | undefined {
  const name = asFields(asFields(choice).function).name
  const type = typeof choice === 'string' ? CHOICES[choice] : name === undefined ? undefined : 'tool'
  const only = oneAtATime && type !== 'none' ? { disable_parallel_tool_use: true } : {}
  if (type === undefined) return oneAtATime ? { type: 'auto', ...only } : undefined
  return { type, ...(type === 'tool' && { name: tools.of(String(name)) }), ...only }
}
