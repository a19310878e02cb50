/** From the canonical form of a chat to a request of chat completions, for clients of another dialect. */
import type { Block, CanonicalChat, Tool, ToolChoice, ToolResult, Turn } from '../../../shared/chat/canonical.ts'
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import { CLAUDE_THOUGHTS } from '../../../shared/chat/canonical.ts'
import type { Fields } from '../../../shared/platform/fields.ts'

/** OpenAI takes no more of them. */
const MOST_STOPS = 4

/** What of a route decides the form of a request: OpenRouter takes cache marks and the thoughts of a Claude. */
type About = { marks: boolean }

/** The body of a request but for its model and its stream. */
export function bodyOf(chat: CanonicalChat, { upstream }: Pick<Route, 'upstream'>): Fields {
  const about = { marks: upstream.protocol === 'openrouter' }
  const { tools, toolChoice, stop, sampling, format } = chat
  const turns = upstream.systemAnywhere === false ? systemFirst(chat.turns) : chat.turns
  const { temperature, top_p } = sampling
  return {
    messages: turns.flatMap((turn) => messagesOf(turn, about)),
    max_tokens: chat.maxTokens,
    ...(temperature !== undefined && { temperature }),
    ...(top_p !== undefined && { top_p }),
    ...(stop.length > 0 && { stop: stop.slice(0, MOST_STOPS) }),
    ...(tools.length > 0 && { tools: tools.map((tool) => toolOf(tool, about)) }),
    ...(tools.length > 0 && toolChoice !== undefined && { tool_choice: choiceOf(toolChoice) }),
    ...(tools.length > 0 && chat.oneToolAtATime && { parallel_tool_calls: false }),
    ...(format && { response_format: formatOf(format) }),
    ...(chat.effort !== undefined && { reasoning_effort: chat.effort }),
    ...(chat.user !== undefined && { user: chat.user }),
  }
}

/**
 * The turns with the system in front alone: its later texts are put into the user's next turn, or in one of its own at
 * the end.
 */
function systemFirst(turns: readonly Turn[]): Turn[] {
  const system: Block[] = []
  const others: Turn[] = []
  const waiting: Block[] = []
  for (const { role, blocks } of turns) {
    if (role !== 'system') others.push({ role, blocks: role === 'user' ? [...blocks, ...waiting.splice(0)] : blocks })
    else if (others.length === 0) system.push(...blocks)
    else waiting.push(...blocks.map(asReminder))
  }
  if (waiting.length > 0) others.push({ role: 'user', blocks: waiting })
  return system.length > 0 ? [{ role: 'system', blocks: system }, ...others] : others
}

/** A text of the system, marked as such within a turn of the user. */
const asReminder = (block: Block): Block =>
  block.kind === 'text' ? { ...block, text: `<system>\n${block.text}\n</system>` } : block

function messagesOf(turn: Turn, about: About): Fields[] {
  switch (turn.role) {
    case 'system':
      return said('system', turn.blocks, about)
    case 'assistant':
      return [assistantMessage(turn.blocks, about)]
    case 'user': {
      const results = turn.blocks.filter((block) => block.kind === 'tool_result')
      const others = turn.blocks.filter((block) => block.kind !== 'tool_result')
      // Results of tools are texts: the pictures in them are the user's.
      const pictures = results.flatMap(({ blocks }) => blocks.filter(({ kind }) => kind === 'image'))
      return [...results.map(toolMessage), ...said('user', [...pictures, ...others], about)]
    }
  }
}

/** A message of a text, or of parts where there is more than that; none if there is no content. */
function said(role: string, blocks: readonly Block[], about: About): Fields[] {
  const parts = blocks.flatMap((block) => partOf(block, about))
  if (parts.length === 0) return []
  const isPlain = parts.every(({ type, cache_control: cache }) => type === 'text' && cache === undefined)
  return [{ role, content: isPlain ? parts.map(({ text }) => text).join('\n\n') : parts }]
}

function partOf(block: Block, { marks }: About): Fields[] {
  switch (block.kind) {
    case 'text':
      return [{ type: 'text', text: block.text, ...cacheOf(block, marks) }]
    case 'image':
      return [{ type: 'image_url', image_url: { url: block.url }, ...cacheOf(block, marks) }]
    case 'other':
      return [block.fields]
    // What an assistant thought and called, and what tools answered, is not in the content of messages.
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return []
  }
}

const cacheOf = ({ cacheMark }: { cacheMark?: true }, marks: boolean): Fields =>
  cacheMark && marks ? { cache_control: { type: 'ephemeral' } } : {}

function assistantMessage(blocks: readonly Block[], { marks }: About): Fields {
  const text = blocks.map((block) => (block.kind === 'text' ? block.text : '')).join('')
  const calls = blocks.flatMap((block) =>
    block.kind === 'tool_call'
      ? [{ id: block.id, type: 'function', function: { name: block.name, arguments: block.args } }]
      : [],
  )
  return {
    role: 'assistant',
    content: text === '' && calls.length > 0 ? null : text,
    ...thoughtsOf(blocks, marks, calls.length > 0),
    ...(calls.length > 0 && { tool_calls: calls }),
  }
}

/**
 * Thoughts go back to where they came from: those of a Claude by OpenRouter, those without a proof to models that want
 * them between their calls of tools.
 */
function thoughtsOf(blocks: readonly Block[], marks: boolean, calls: boolean): Fields {
  const thoughts = blocks.filter((block) => block.kind === 'reasoning')
  const ofClaude = thoughts.filter(({ format }) => format === CLAUDE_THOUGHTS)
  if (ofClaude.length > 0) {
    const details = ofClaude.map(({ text, signature, sealed, format }, index) =>
      sealed === undefined
        ? { type: 'reasoning.text', text, signature, format, index }
        : { type: 'reasoning.encrypted', data: sealed, format, index },
    )
    return marks ? { reasoning_details: details } : {}
  }
  const text = thoughts.map((thought) => thought.text).join('')
  return calls && text !== '' ? { reasoning_content: text } : {}
}

function toolMessage({ callId, blocks, isError }: ToolResult): Fields {
  const text = blocks.map((block) => (block.kind === 'text' ? block.text : '')).join('\n')
  return { role: 'tool', tool_call_id: callId, content: isError ? `Error: ${text}` : text }
}

const toolOf = ({ name, description, schema, strict, ...tool }: Tool, { marks }: About): Fields => ({
  type: 'function',
  function: {
    name,
    ...(description !== undefined && { description }),
    parameters: { ...schema, type: 'object' },
    ...(strict !== undefined && { strict }),
  },
  ...cacheOf(tool, marks),
})

const choiceOf = (choice: ToolChoice): unknown =>
  typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } }

const formatOf = ({ schema, name = 'answer', strict }: NonNullable<CanonicalChat['format']>): Fields =>
  schema
    ? { type: 'json_schema', json_schema: { name, schema, ...(strict !== undefined && { strict }) } }
    : { type: 'json_object' }
