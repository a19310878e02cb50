/**
 * The canonical form of a chat: the reader of each dialect turns a body into it, and the encoder of each upstream
 * protocol turns it into the wire form. N readers and M encoders, and no converter for a pair
 * (docs/architecture.md#dialects).
 */
import { isFields, isText } from '../platform/fields.ts'
import type { Fields } from '../platform/fields.ts'

/** The end of a prefix that the upstream is asked to keep in its cache, for five minutes. */
type Marked = { cacheMark?: true }

/** The mark of a part or tool with `cache_control`, as dialects call it alike. */
export const markOf = ({ cache_control: cache }: Fields): Marked => (cache ? { cacheMark: true } : {})

/** What OpenRouter calls the form of a Claude's thoughts in `reasoning_details`: its docs, "Reasoning tokens". */
export const CLAUDE_THOUGHTS = 'anthropic-claude-v1'

/** The form of what Gemini wants back with a call of a tool: `id` is that of the call. */
export const CALL_SIGNATURE = 'google-thought-signature'

/** What a vendor wants back with a thought: the `signature` of its text or all of it `sealed`, and its own `id`. */
export type Proof = { signature?: string; sealed?: string; format?: string; id?: string }

/** What a model thought: `text`, with what proves it. */
export type Reasoning = { kind: 'reasoning'; text: string } & Proof

/** The proof in fields that were read. */
export const proofOf = (fields: Fields): Proof =>
  Object.fromEntries(
    ['signature', 'sealed', 'format', 'id'].flatMap((name) => (isText(fields[name]) ? [[name, fields[name]]] : [])),
  )

/**
 * A call of a tool. `args`: JSON text of an object; of a custom tool (`isCustom`) one text that need not be JSON.
 * `namespace`: the group of tools that has the name. `at`: its path in the request.
 */
export type ToolCall = {
  kind: 'tool_call'
  id: string
  name: string
  namespace?: string
  args: string
  isCustom?: true
  at: string
} & Marked

/** What a tool answered. `at`: its path in the request, as in every other block. */
export type ToolResult = { kind: 'tool_result'; callId: string; blocks: Block[]; isError?: true; at: string } & Marked

/** `url`: http(s), or a `data:` URI. `detail`: how closely the model is to view it. */
export type Image = { kind: 'image'; url: string; detail?: string } & Marked

/** A file that is no text. `url`: http(s), or a `data:` URI. */
export type Document = { kind: 'document'; url: string; name?: string; at: string } & Marked

/**
 * What only some protocols have a form for: a part of a kind that its vendor knows and the model prices (`parts`), one
 * of the Messages API in another dialect (`messages_parts`), quotes from a document (`citations`), a change of the
 * tools in the middle of a conversation (`tool_changes`), or of the configuration (`configuration`).
 */
export type Special = {
  kind: 'special'
  is: 'parts' | 'messages_parts' | 'citations' | 'tool_changes' | 'configuration'
  at: string
  fields: Fields
}

/** A piece of a turn. */
export type Block =
  | ({ kind: 'text'; text: string } & Marked)
  | Image
  | Reasoning
  | ToolCall
  | ToolResult
  | Document
  | Special

/** The words of one side, in their order. Results of tools are in turns of the user. `name`: of their author. */
export type Turn = { role: 'system' | 'user' | 'assistant'; blocks: Block[]; name?: string }

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

/** The name of a tool with that of its namespace in front. */
export const wholeName = ({ name, namespace }: { name: string; namespace?: string | undefined }): string =>
  namespace === undefined ? name : `${namespace}__${name}`

/** Whether tools may be called: as the model likes, not at all, at least one, or this one. */
export type ToolChoice = 'auto' | 'none' | 'required' | { tool: string; namespace?: string }

/** The JSON schema that the answer is to follow (null: any JSON object), and what the client calls the field. */
export type Format = { schema: Fields | null; name?: string; description?: string; strict?: boolean; at: string }

/**
 * A chat, whichever dialect it was asked in. What is absent was not asked for. `maxTokens`: the most output tokens of
 * each of the `choices`, which the pre-charge paid for. `further`: the other fields of the body under their own names.
 * What becomes of each of its fields at an upstream is in the tables of `carries.ts`.
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
  format?: Format
  /** How long an answer is to be, in the words of OpenAI, and what the client calls the field. */
  verbosity?: { level: string; at: string }
  /** The tools are the `functions` of older clients, which read one `function_call`. */
  isLegacy?: true
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

/** The format of a `type` of OpenAI; absent where any text will do. @param at what the client calls the field */
export function formatOf(type: unknown, fields: Fields, at: string): { format?: Format } {
  if (type === 'json_object') return { format: { schema: null, at } }
  if (type !== 'json_schema') return {}
  const { name, description, schema, strict } = fields
  return {
    format: {
      // Without a schema any object will do.
      schema: isFields(schema) ? schema : null,
      at,
      ...(isText(name) && { name }),
      ...(isText(description) && { description }),
      ...(typeof strict === 'boolean' && { strict }),
    },
  }
}

/** The verbosity of a field of the body. */
export const verbosityOf = (level: unknown, at: string): Pick<CanonicalChat, 'verbosity'> =>
  isText(level) ? { verbosity: { level, at } } : {}
