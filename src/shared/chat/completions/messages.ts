/**
 * The messages of a chat. Those of the system, of users and of tools have no field that is not listed here. Of an
 * assistant's, what is not listed is removed: it came with an answer, as upstreams made it, and is sent back.
 */
import { z } from 'zod'
import { chosen, closed, documented, listOf, optional, within } from '../../requests/field-schemas.ts'

/** Most messages of one request. */
const MAX_MESSAGES = 2000

/** Most parts, tool calls and pieces of reasoning in all messages of one request: far more than people send. */
const MAX_ELEMENTS = 10_000

const text = z.string()

/** The longer of the two lives of a cached prefix bills double, so only the short one may be asked for. */
export const cacheControl = closed({ type: z.literal('ephemeral'), ttl: optional(z.literal('5m')) })

/** A part of text. */
export const textPart = closed({ type: z.literal('text'), text, cache_control: optional(cacheControl) })

const imagePart = closed({
  type: z.literal('image_url'),
  image_url: z.union([text, closed({ url: text, detail: optional(z.enum(['auto', 'low', 'high'])) })]),
  cache_control: optional(cacheControl),
})

/** Of the kinds that a model prices in `partTokens` we know no more than that. */
const otherPart = z.looseObject({ cache_control: optional(cacheControl), type: z.string().min(1) })

const part = chosen<z.ZodType<Part>>([textPart, imagePart], ({ type }) =>
  type === 'text' ? textPart : type === 'image_url' ? imagePart : otherPart,
)

type Part = { type: string; [field: string]: unknown }

/** An assistant's text as upstreams and SDKs dress it: with a role, sources and other notes, which are omitted. */
const saidPart = z.object({ type: z.literal('text'), text, cache_control: optional(cacheControl) })

/** What a model refused with is a text to the next one: most upstreams know no other kind. */
const refusalPart = z
  .object({ type: z.literal('refusal'), refusal: text })
  .transform(({ refusal }): Part => ({ type: 'text', text: refusal }))

const assistantPart = chosen<z.ZodType<Part>>([saidPart, refusalPart, imagePart], ({ type }) =>
  type === 'text' ? saidPart : type === 'refusal' ? refusalPart : type === 'image_url' ? imagePart : otherPart,
)

/** A text or parts. */
const contentOf = (onePart: typeof part) => {
  const parts = listOf(onePart, 0, Infinity)
  return z
    .custom<string | unknown[] | null>(
      (value) => value === null || typeof value === 'string' || Array.isArray(value),
      'must be a string or a list of parts',
    )
    .meta(documented(z.union([text, z.array(onePart), z.null()])))
    .transform((value, context) => (Array.isArray(value) ? within(parts, value, context) : value))
    .optional()
}

/** What clients send back with an answer that needs none of it: accepted and omitted. */
const ignored = z
  .unknown()
  .transform(() => undefined)
  .optional()

const calledFunction = z.object({ name: text, arguments: text.nullish().transform((args) => args ?? '{}') })

/** What an assistant calls. Some upstreams omit the type of a call, or leave it empty. */
const functionCall = z.object({
  id: optional(text),
  type: z
    .union([z.enum(['function', '']), z.null()])
    .optional()
    .transform(() => 'function' as const),
  index: optional(z.int()),
  function: calledFunction,
  extra_content: optional(z.object({ google: optional(z.object({ thought_signature: optional(text) })) })),
})

const customCall = z.object({
  id: optional(text),
  type: z.literal('custom'),
  index: optional(z.int()),
  custom: z.object({ name: text, input: text }),
})

const toolCall = chosen<typeof functionCall | typeof customCall>([functionCall, customCall], ({ type }) =>
  type === 'custom' ? customCall : functionCall,
)

/** What models thought, as several upstreams want it back with the next request. */
const reasoningDetail = z.object({
  type: text,
  id: optional(text),
  index: optional(z.int()),
  format: optional(text),
  text: optional(text),
  summary: optional(text),
  data: optional(text),
  signature: optional(text),
})

/** Who may speak. */
const ROLES = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const

/** Every role but the assistant's. */
const strictMessage = closed({
  role: z.enum(ROLES),
  content: contentOf(part),
  name: optional(text),
  tool_call_id: optional(text),
  cache_control: optional(cacheControl),
  parsed: ignored,
  // The sources that an answer quotes are addresses.
  annotations: ignored,
}).superRefine(({ role, content }, context) => {
  if (content === undefined || (content === null && role !== 'function')) {
    context.addIssue({ code: 'custom', path: ['content'], message: 'is required' })
  }
})

/** An answer that is sent back: with what upstreams add to its text, or without a text. */
const assistantMessage = z
  .object({
    role: z.literal('assistant'),
    content: contentOf(assistantPart),
    name: optional(text),
    tool_calls: optional(listOf(toolCall, 0, Infinity)),
    function_call: optional(calledFunction),
    refusal: optional(text),
    reasoning: optional(text),
    reasoning_content: optional(text),
    reasoning_details: optional(listOf(reasoningDetail, 0, Infinity)),
    cache_control: optional(cacheControl),
  })
  .transform((message) => {
    const { content, tool_calls: calls = [], function_call: called, refusal } = message
    const isSilent = calls.length === 0 && called === undefined && refusal === undefined
    // An upstream wants a text where there is nothing else.
    return (content === null || content === undefined) && isSilent ? { ...message, content: '' } : message
  })

const message = chosen<typeof strictMessage | typeof assistantMessage>([strictMessage, assistantMessage], ({ role }) =>
  role === 'assistant' ? assistantMessage : strictMessage,
)

const LISTS = ['content', 'tool_calls', 'reasoning_details'] as const

/** Whether the lists in messages are of a sane length together: counted before anything in them is checked. */
function hasFewElements(messages: unknown): boolean {
  if (!Array.isArray(messages) || messages.length > MAX_MESSAGES) return true
  const lists = messages.flatMap((one: Record<string, unknown> | null) => LISTS.map((name) => one?.[name]))
  return lists.reduce<number>((sum, list) => sum + (Array.isArray(list) ? list.length : 0), 0) <= MAX_ELEMENTS
}

const messageList = listOf(message, 1, MAX_MESSAGES)

/** The messages, whose faults have a code of their own. Which kinds of parts a model takes is checked separately. */
export const chatMessages = z
  .custom<unknown>(hasFewElements, `must have at most ${MAX_ELEMENTS} parts in all`)
  .meta({ type: 'array', items: documented(message), minItems: 1, maxItems: MAX_MESSAGES })
  .transform((value, context) => within(messageList, value, context))
