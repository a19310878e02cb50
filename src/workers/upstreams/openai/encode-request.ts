/** From the canonical form of a chat to a request of chat completions, for clients of another dialect. */
import type { Block, CanonicalChat, Tool, ToolChoice, ToolResult, Turn } from '../../../shared/chat/canonical.ts'
import type { Route } from '../../../shared/catalogue/catalogue.ts'
import type { Reasoning } from '../../../shared/chat/canonical.ts'
import { CALL_SIGNATURE, CLAUDE_THOUGHTS } from '../../../shared/chat/canonical.ts'
import { fileNameOf } from '../../../shared/chat/documents.ts'
import { typedPicture } from '../../../shared/chat/picture-types.ts'
import type { Fields } from '../../../shared/platform/fields.ts'
import { argumentsSchema } from '../../../shared/chat/schemas.ts'
import { shortUser } from '../user-ids.ts'

/** What of a route decides the form of a request: OpenRouter takes cache marks and the thoughts of a Claude. */
type About = { marks: boolean }

/** The body of a request but for its model and its stream. */
export function bodyOf(chat: CanonicalChat, { upstream }: Pick<Route, 'upstream'>): Fields {
  const about = { marks: upstream.protocol === 'openrouter' }
  const { tools, toolChoice, stop, sampling, format } = chat
  const turns = upstream.systemAnywhere === false ? systemFirst(chat.turns) : chat.turns
  return {
    messages: turns.flatMap((turn) => messagesOf(turn, about)),
    max_tokens: chat.maxTokens,
    ...sampling,
    ...(stop.length > 0 && { stop }),
    ...(tools.length > 0 && { tools: tools.map((tool) => toolOf(tool, about)) }),
    ...(tools.length > 0 && toolChoice !== undefined && { tool_choice: choiceOf(toolChoice) }),
    ...(tools.length > 0 && chat.oneToolAtATime && { parallel_tool_calls: false }),
    ...(format && { response_format: formatOf(format) }),
    ...(chat.verbosity && { verbosity: chat.verbosity.level }),
    // Chat completions know none above it.
    ...(chat.effort !== undefined && { reasoning_effort: chat.effort === 'max' ? 'xhigh' : chat.effort }),
    ...(chat.user !== undefined && { user: shortUser(chat.user) }),
    ...Object.fromEntries(SAMPLING.flatMap((name) => (name in chat.further ? [[name, chat.further[name]]] : []))),
  }
}

/** The fields of sampling that other dialects have under the same name, or are read under it. */
const SAMPLING = ['seed', 'presence_penalty', 'frequency_penalty'] as const

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
      return assistantMessage(turn.blocks, about)
    case 'user': {
      const results = turn.blocks.filter((block) => block.kind === 'tool_result')
      const others = turn.blocks.filter((block) => block.kind !== 'tool_result')
      // Results of tools are texts: the pictures and documents in them are the user's.
      const files = results.flatMap(({ blocks }) =>
        blocks.filter(({ kind }) => kind === 'image' || kind === 'document'),
      )
      return [...results.map((result) => toolMessage(result, about)), ...said('user', [...files, ...others], about)]
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
    case 'image': {
      const { url, detail } = block
      // The other details are for Responses alone.
      const known = detail === 'low' || detail === 'high' || detail === 'auto' ? { detail } : {}
      return [{ type: 'image_url', image_url: { url: typedPicture(url), ...known }, ...cacheOf(block, marks) }]
    }
    case 'document':
      return [
        {
          type: 'file',
          file: { filename: fileNameOf(block), file_data: block.url },
          ...cacheOf(block, marks),
        },
      ]
    case 'special':
      return block.is === 'parts' || block.is === 'messages_parts' ? [block.fields] : []
    // What an assistant thought and called, and what tools answered, is not in the content of messages.
    case 'reasoning':
    case 'tool_call':
    case 'tool_result':
      return []
  }
}

const cacheOf = ({ cacheMark }: { cacheMark?: true }, marks: boolean): Fields =>
  cacheMark && marks ? { cache_control: { type: 'ephemeral' } } : {}

/** A turn of the assistant; none of one that only thought, without a proof. */
function assistantMessage(blocks: readonly Block[], about: About): Fields[] {
  const { marks } = about
  const text = blocks.map((block) => (block.kind === 'text' ? block.text : '')).join('')
  const thoughts = blocks.filter((block) => block.kind === 'reasoning')
  const signatures = new Map(
    thoughts.flatMap(({ format, id, sealed }) => (format === CALL_SIGNATURE ? [[id, sealed] as const] : [])),
  )
  const calls = blocks.flatMap((block) =>
    block.kind === 'tool_call'
      ? [
          {
            id: block.id,
            type: 'function',
            function: { name: block.name, arguments: block.args },
            ...(signatures.has(block.id) && {
              extra_content: { google: { thought_signature: signatures.get(block.id) } },
            }),
          },
        ]
      : [],
  )
  const thought = thoughtsOf(thoughts, marks, calls.length > 0)
  if (text === '' && calls.length === 0 && Object.keys(thought).length === 0) return []
  return [
    {
      role: 'assistant',
      content: text === '' && calls.length > 0 ? null : marked(text, blocks, about),
      ...thought,
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ]
}

/**
 * Thoughts go back to where they came from: those with a proof as OpenRouter writes them, a Claude's to OpenRouter
 * alone; those without one to models that want them between their calls of tools.
 */
function thoughtsOf(thoughts: readonly Reasoning[], marks: boolean, calls: boolean): Fields {
  const proved = thoughts.filter(({ format, signature, sealed }) => format ?? signature ?? sealed)
  if (proved.length > 0) {
    const details = proved
      .filter(({ format }) => format !== CALL_SIGNATURE && (format !== CLAUDE_THOUGHTS || marks))
      .map(detailOf)
    return details.length > 0 ? { reasoning_details: details } : {}
  }
  const text = thoughts.map((thought) => thought.text).join('')
  return calls && text !== '' ? { reasoning_content: text } : {}
}

function detailOf({ text, signature, sealed, format, id }: Reasoning, index: number): Fields {
  const named = { ...(format !== undefined && { format }), ...(id !== undefined && { id }), index }
  return sealed === undefined
    ? { type: 'reasoning.text', text, ...(signature !== undefined && { signature }), ...named }
    : { type: 'reasoning.encrypted', data: sealed, ...named }
}

/** The text of some blocks; a part of a message if one of them is marked, which texts cannot be. */
function marked(text: string, blocks: readonly Block[], { marks }: About): string | Fields[] {
  const isMarked = marks && text !== '' && blocks.some((block) => 'cacheMark' in block)
  return isMarked ? [{ type: 'text', text, ...cacheOf({ cacheMark: true }, marks) }] : text
}

function toolMessage(result: ToolResult, about: About): Fields {
  const { callId, blocks, isError } = result
  const text = blocks.flatMap((block) => (block.kind === 'text' ? [block.text] : [])).join('\n')
  const content = marked(isError ? `Error: ${text}` : text, [result, ...blocks], about)
  return { role: 'tool', tool_call_id: callId, content }
}

const toolOf = ({ name, description, schema, strict, ...tool }: Tool, { marks }: About): Fields => ({
  type: 'function',
  function: {
    name,
    ...(description !== undefined && { description }),
    parameters: argumentsSchema(schema),
    ...(strict !== undefined && { strict }),
  },
  ...cacheOf(tool, marks),
})

const choiceOf = (choice: ToolChoice): unknown =>
  typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } }

const formatOf = ({ schema, name = 'answer', description, strict }: NonNullable<CanonicalChat['format']>): Fields =>
  schema
    ? {
        type: 'json_schema',
        json_schema: {
          name,
          ...(description !== undefined && { description }),
          schema,
          ...(strict !== undefined && { strict }),
        },
      }
    : { type: 'json_object' }
