/**
 * From the canonical form of a chat to a request of the Messages API. Only fields that the API knows are sent, for it
 * refuses the others, and of its own fields those that the route allows. What is sent is hardly longer than what the
 * customer sent: the pre-charge counts that.
 */
import type { CanonicalChat, Tool, ToolChoice } from '../../../shared/chat/canonical.ts'
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { UpstreamError } from '../adapter.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { blocksOf, compact, requireCalls } from './blocks.ts'
import type { Names } from './blocks.ts'
import { SafeNames } from './safe-names.ts'

/** One turn of a conversation. */
type SentTurn = { role: 'user' | 'assistant'; content: Fields[] }

/**
 * The body of a request but for its model and its stream.
 * @param names gets what is sent for the customer's ids and names
 * @throws UpstreamError `rejected` for more than one choice, which the API does not make
 */
export function bodyOf(
  chat: CanonicalChat,
  { model, allow }: Pick<Route, 'model' | 'allow'>,
  names: Names = { ids: new SafeNames(), tools: new SafeNames() },
): Fields {
  if (chat.choices !== 1) throw new UpstreamError('rejected', 'the Messages API makes one choice')
  const stops = chat.stop.filter((text) => text.trim() !== '')
  return withoutMissing({
    max_tokens: chat.maxTokens,
    ...conversationOf(chat, names),
    stop_sequences: stops.length > 0 ? stops : undefined,
    ...toolsOf(chat, names),
    output_config: outputConfig(chat, allow),
    metadata: chat.user === undefined ? undefined : { user_id: chat.user },
    ...allowed(chat, allow),
    ...sampling(chat, model),
  })
}

/** In a route's `allow`: its model takes an effort of reasoning. Others refuse it. */
const EFFORT = 'output_config.effort'

/** Of the formats only a schema has a counterpart, and of the efforts none for no reasoning. */
function outputConfig({ format, effort = 'none' }: CanonicalChat, allow: readonly string[]): Fields | undefined {
  const config = {
    ...(format?.schema && { format: { type: 'json_schema', schema: format.schema } }),
    ...(effort !== 'none' && allow.includes(EFFORT) && { effort: effort === 'minimal' ? 'low' : effort }),
  }
  return Object.keys(config).length > 0 ? config : undefined
}

const withoutMissing = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

const allowed = ({ further }: CanonicalChat, names: readonly string[]): Fields =>
  withoutMissing(Object.fromEntries(names.map((name) => [name, further[name] ?? undefined])))

/** The content of an empty turn, where the API requires one. */
const NOTHING: Fields = { type: 'text', text: '.' }

/** The system's text is separate from the turns; if there is nothing else, it is sent as the user's. */
function conversationOf({ turns: said }: CanonicalChat, names: Names): Fields {
  requireCalls(said)
  const system = said.filter(({ role }) => role === 'system').flatMap(({ blocks }) => blocksOf(blocks, names))
  const turns = withoutTrailingSpace(mergedTurns(said, names))
  if (turns.length === 0)
    return { messages: [{ role: 'user', content: compact(system.length > 0 ? system : [NOTHING]) }] }
  if (turns[0]!.role === 'assistant') turns.unshift({ role: 'user', content: [NOTHING] })
  const compacted = turns.map(({ role, content }) => ({ role, content: compact(content) }))
  return { messages: compacted, system: system.length > 0 ? compact(system) : undefined }
}

/** The turns of a conversation. Users and assistants must take turns, so neighbours of one role are merged. */
function mergedTurns(said: CanonicalChat['turns'], names: Names): SentTurn[] {
  const turns: SentTurn[] = []
  for (const { role, blocks } of said) {
    if (role === 'system') continue
    const content = blocksOf(blocks, names)
    if (content.length === 0) continue
    const last = turns.at(-1)
    if (last?.role === role) last.content.push(...content)
    else turns.push({ role, content })
  }
  return turns
}

/** The beginning of an assistant's answer may not end in white space. */
function withoutTrailingSpace(turns: SentTurn[]): SentTurn[] {
  const last = turns.at(-1)
  const block = last?.content.at(-1)
  if (last?.role === 'assistant' && block?.type === 'text') block.text = String(block.text).trimEnd()
  return turns
}

/**
 * Newer Claude models refuse every sampling parameter, also at its default, so none is sent to a Claude unless the
 * route's `set` gives it. Other models that speak this protocol know temperatures up to 1.
 */
function sampling({ sampling: given }: CanonicalChat, model: string): Fields {
  if (/claude/i.test(model)) return {}
  return given.temperature === undefined ? given : { ...given, temperature: Math.min(given.temperature, 1) }
}

function toolsOf({ tools, toolChoice, oneToolAtATime }: CanonicalChat, names: Names): Fields {
  const functions = tools.filter(({ kind }) => kind === 'function')
  if (functions.length === 0) return {}
  return {
    tools: functions.map((tool) => toolOf(tool, names)),
    tool_choice: choiceOf(toolChoice, oneToolAtATime === true, names),
  }
}

/** A function as a tool. Its schema must be one of an object. */
const toolOf = ({ name, description, schema, cacheMark }: Tool, { tools }: Names): Fields =>
  withoutMissing({
    name: tools.of(name),
    description,
    input_schema: { ...schema, type: 'object' },
    cache_control: cacheMark ? { type: 'ephemeral' } : undefined,
  })

const CHOICES = { auto: 'auto', required: 'any', none: 'none' } as const

function choiceOf(choice: ToolChoice | undefined, oneAtATime: boolean, { tools }: Names): Fields | undefined {
  const only = oneAtATime && choice !== 'none' ? { disable_parallel_tool_use: true } : {}
  if (choice === undefined) return oneAtATime ? { type: 'auto', ...only } : undefined
  if (typeof choice === 'string') return { type: CHOICES[choice], ...only }
  return { type: 'tool', name: tools.of(choice.tool), ...only }
}
