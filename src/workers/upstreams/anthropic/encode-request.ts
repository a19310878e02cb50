/**
 * From the canonical form of a chat to a request of the Messages API. Only fields that the API knows are sent, for it
 * refuses the others, and of its own fields those that the route allows. What is sent is hardly longer than what the
 * customer sent: the pre-charge counts that.
 */
import type { CanonicalChat, Tool, ToolChoice } from '../../../shared/chat/canonical.ts'
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { isFields } from '../../../shared/platform/fields.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { closedSchema } from '../../../shared/chat/schemas.ts'
import { shortUser } from '../user-ids.ts'
import { blocksOf, compact } from './blocks.ts'

/** One turn of a conversation. */
type SentTurn = { role: 'user' | 'assistant'; content: Fields[] }

/** The body of a request but for its model and its stream. */
export function bodyOf(chat: CanonicalChat, { model, allow }: Pick<Route, 'model' | 'allow'>): Fields {
  return withFewMarks({
    max_tokens: chat.maxTokens,
    ...conversationOf(chat),
    stop_sequences: chat.stop.length > 0 ? chat.stop : undefined,
    ...toolsOf(chat),
    output_config: outputConfig(chat),
    metadata: chat.user === undefined ? undefined : { user_id: shortUser(chat.user) },
    ...allowed(chat, allow),
    ...sampling(chat, model),
  })
}

/** How many marks of cached prefixes the API takes. The last ones have the longest prefixes. */
const MOST_MARKS = 4

function withFewMarks(fields: Fields): Fields {
  const { tools, system, messages } = fields
  for (const one of [...markedIn([tools, system, messages])].slice(0, -MOST_MARKS)) delete one.cache_control
  return withoutMissing(fields)
}

function* markedIn(value: unknown): Generator<Fields> {
  if (Array.isArray(value)) for (const one of value) yield* markedIn(one)
  if (!isFields(value)) return
  // Parts of this API are the client's own, and their content has no marks.
  if (value.type === undefined || value.type === 'tool_result') yield* markedIn(value.content)
  if (value.cache_control !== undefined) yield value
}

/** Of the efforts none stands for no reasoning. The description of a format is that of its schema. */
function outputConfig({ format, effort = 'none' }: CanonicalChat): Fields | undefined {
  const { schema, description } = format ?? {}
  const described = schema && description !== undefined ? { description, ...schema } : schema
  const config = {
    ...(described && { format: { type: 'json_schema', schema: closedSchema(described) } }),
    ...(effort !== 'none' && { effort: effort === 'minimal' ? 'low' : effort }),
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
function conversationOf({ turns: said }: CanonicalChat): Fields {
  const system = said.filter(({ role }) => role === 'system').flatMap(({ blocks }) => blocksOf(blocks))
  const turns = withoutTrailingSpace(mergedTurns(said))
  if (turns.length === 0)
    return { messages: [{ role: 'user', content: compact(system.length > 0 ? system : [NOTHING]) }] }
  if (turns[0]!.role === 'assistant') turns.unshift({ role: 'user', content: [NOTHING] })
  const compacted = turns.map(({ role, content }) => ({ role, content: compact(content) }))
  return { messages: compacted, system: system.length > 0 ? compact(system) : undefined }
}

/** The turns of a conversation. Users and assistants must take turns, so neighbours of one role are merged. */
function mergedTurns(said: CanonicalChat['turns']): SentTurn[] {
  const turns: SentTurn[] = []
  for (const { role, blocks } of said) {
    if (role === 'system') continue
    const content = blocksOf(blocks)
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

function toolsOf({ tools, toolChoice, oneToolAtATime }: CanonicalChat): Fields {
  if (tools.length === 0) return {}
  return { tools: tools.map(toolOf), tool_choice: choiceOf(toolChoice, oneToolAtATime === true) }
}

/** A function as a tool. Its schema must be one of an object, and closed if the model must follow it. */
function toolOf({ name, description, schema, strict, cacheMark }: Tool): Fields {
  const asked = { ...schema, type: 'object' }
  return withoutMissing({
    name,
    description,
    input_schema: strict ? closedSchema(asked) : asked,
    strict: strict ? true : undefined,
    cache_control: cacheMark ? { type: 'ephemeral' } : undefined,
  })
}

const CHOICES = { auto: 'auto', required: 'any', none: 'none' } as const

function choiceOf(choice: ToolChoice | undefined, oneAtATime: boolean): Fields | undefined {
  const only = oneAtATime && choice !== 'none' ? { disable_parallel_tool_use: true } : {}
  if (choice === undefined) return oneAtATime ? { type: 'auto', ...only } : undefined
  if (typeof choice === 'string') return { type: CHOICES[choice], ...only }
  return { type: 'tool', name: choice.tool, ...only }
}
