/** The response object around the items of an answer. Texts of its request are not repeated in it: it is stored. */
import { asFields, isText } from '../../platform/fields.ts'
import type { Fields } from '../../platform/fields.ts'
import type { CallId } from '../../platform/ids.ts'
import { parseId } from '../../platform/ids.ts'
import type { ChatRequest } from '../../requests/requests.ts'

/** The id of a response, by the public id of its call. */
export const responseId = (callId: string): string => callId.replace(/^call_/, 'resp_')

/** The call of a response; null where the text is no id of one. */
export const callOfResponse = (id: string): CallId | null => parseId('call', id.replace(/^resp_/, 'call_'))

/** The call of an item that has an id of ours; null where it has none. */
export const callOfItem = (id: string): CallId | null => {
  const digits = /^[a-z]+_([0-9a-f]{32})[0-9a-f]{4}$/.exec(id)?.[1]
  return digits === undefined ? null : parseId('call', `call_${digits}`)
}

/** Where the numbers of items that a response was asked with begin: those of its answer are below. */
const FIRST_INPUT = 0x8000

/** The items that a response was asked with, each with an id. */
export const inputWithIds = (items: readonly Fields[], callId: string): Fields[] =>
  items.map((item, at) => (isText(item.id) ? item : { ...item, id: itemId('msg', callId, FIRST_INPUT + at) }))

/** The prefixes of the ids of items, by their types. */
export const PREFIXES: Readonly<Record<string, string>> = {
  message: 'msg',
  reasoning: 'rs',
  function_call: 'fc',
  custom_tool_call: 'ctc',
}

/** The id of an item: of its response, and its place in the output. */
export const itemId = (prefix: string, callId: string, index: number): string =>
  `${prefix}_${callId.replace(/^call_/, '')}${index.toString(16).padStart(4, '0')}`

/** What is repeated of a request, in the answer to it. */
type Echoed = (Pick<ChatRequest, 'max_tokens'> | { max_tokens: null }) & Fields

const orNull = (value: unknown): unknown => value ?? null

/** A response that has begun. @param created in Unix seconds */
export function begunResponse(callId: string, created: number, request: Echoed): Fields {
  const { format, verbosity } = asFields(request.text)
  const { effort, summary } = asFields(request.reasoning)
  return {
    id: responseId(callId),
    object: 'response',
    created_at: created,
    status: 'in_progress',
    background: request.background === true,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: null,
    max_output_tokens: request.max_tokens,
    max_tool_calls: orNull(request.max_tool_calls),
    model: '',
    output: [],
    parallel_tool_calls: request.parallel_tool_calls ?? true,
    previous_response_id: orNull(request.previous_response_id),
    reasoning: { effort: orNull(effort), summary: orNull(summary) },
    service_tier: 'default',
    store: request.store ?? true,
    temperature: request.temperature ?? 1,
    text: { format: { type: asFields(format).type ?? 'text' }, ...(isText(verbosity) && { verbosity }) },
    tool_choice: isText(request.tool_choice) ? request.tool_choice : 'auto',
    tools: [],
    top_p: request.top_p ?? 1,
    truncation: request.truncation ?? 'disabled',
    usage: null,
    metadata: request.metadata ?? {},
  }
}
