/**
 * The canonical form of a chat: the reader of each dialect turns a body into it, and the encoder of each upstream
 * protocol turns it into the wire form. N readers and M encoders, and no converter for a pair
 * (docs/architecture.md#dialects).
 */
import { asFields } from '../platform/fields.ts'
import type { Fields } from '../platform/fields.ts'

/** The end of a prefix that the upstream is asked to keep in its cache, for five minutes. */
type Marked = { cacheMark?: true }

/** The mark of a part or tool with `cache_control`, as dialects call it alike. */
export const markOf = ({ cache_control: cache }: Fields): Marked => (cache ? { cacheMark: true } : {})

/** What OpenRouter calls the form of a Claude's thoughts in `reasoning_details`: its docs, "Reasoning tokens". */
export const CLAUDE_THOUGHTS = 'anthropic-claude-v1'

/** What a model thought: `text`, with the `signature` that proves it, or `sealed` as a whole. Both are its vendor's. */
export type Reasoning = { kind: 'reasoning'; text: string; signature?: string; sealed?: string; format?: string }

/**
 * A call of a tool. `args`: JSON text of an object; of a custom tool (`isCustom`) one text that need not be JSON.
 * `namespace`: the group of tools that has the name.
 */
export type ToolCall = {
  kind: 'tool_call'
  id: string
  name: string
  namespace?: string
  args: string
  isCustom?: true
} & Marked

/** What a tool answered. */
export type ToolResult = { kind: 'tool_result'; callId: string; blocks: Block[]; isError?: true } & Marked

/** `url`: http(s), or a `data:` URI. `detail`: how closely the model is to view it. */
export type Image = { kind: 'image'; url: string; detail?: string } & Marked

/** `other`: a part of a kind that only its vendor knows, and that the model prices. */
export type Block =
  | ({ kind: 'text'; text: string } & Marked)
  | Image
  | Reasoning
  | ToolCall
  | ToolResult
  | { kind: 'other'; fields: Fields }

/** The words of one side, in their order. Results of tools are in turns of the user. */
export type Turn = { role: 'system' | 'user' | 'assistant'; blocks: Block[] }

/** A tool that its client runs. `schema`: JSON schema of its arguments. */
export type Tool = {
  kind: 'function' | 'custom'
  name: string
  /** The group of tools that has the name; names are unique within one. */
  namespace?: string
  description?: string
  schema?: Fields
  strict?: boolean
  format?: Fields
} & Marked

/** Whether tools may be called: as the model likes, not at all, at least one, or this one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { tool: string; namespace?: string }

/**
 * A chat, whichever dialect it was asked in. What is absent was not asked for. `maxTokens`: the most output tokens of
 * each of the `choices`, which the pre-charge paid for. `further`: the other fields of the body under their own names.
 * An upstream of the Messages API gets those that its `allow` names; one of chat completions gets none, because they
 * would mean something else to it.
 */
export type CanonicalChat = {
  turns: Turn[]
  maxTokens: number
  choices: number
  tools: Tool[]
  toolChoice?: ToolChoice
  /** Only one tool may be called at a time. */
  oneToolAtATime?: true
  stop: string[]
  sampling: { temperature?: number; top_p?: number; top_k?: number }
  /** The JSON schema that the answer is to follow; or any JSON object. */
  format?: { schema: Fields | null; name?: string; strict?: boolean }
  /** How much the model is to think, in the words of OpenAI. */
  effort?: string
  /** The end user on whose behalf it is asked, as the client names them. */
  user?: string
  further: Fields
}

/** The sampling of fields that all dialects call alike. */
export const samplingOf = (fields: Fields): CanonicalChat['sampling'] =>
  Object.fromEntries(
    ['temperature', 'top_p', 'top_k'].flatMap((name) =>
      typeof fields[name] === 'number' ? [[name, fields[name]]] : [],
    ),
  )

/** The format of a `type` of OpenAI; absent where any text will do. */
export function formatOf(type: unknown, { name, schema, strict }: Fields): Pick<CanonicalChat, 'format'> {
  if (type === 'json_object') return { format: { schema: null } }
  if (type !== 'json_schema') return {}
  const named = typeof name === 'string' && { name }
  return { format: { schema: asFields(schema), ...named, ...(typeof strict === 'boolean' && { strict }) } }
}
