/**
 * The fields of a chat that pass, and what may stand in them: the one list. Whatever is not here is refused at the edge
 * and never sent to an upstream, which may bill for it, take another model for it, or fetch an address in it.
 * A model's upstream may take further fields: its `allow` in the catalogue.
 */
import { z } from 'zod'
import { fieldFault } from '../field-errors.ts'

/** Most messages, and most tools or functions, of one request. */
export const MAX_MESSAGES = 2000
/** The most tools that a chat may name. */
const MAX_TOOLS = 128

/** Most parts, tool calls and pieces of reasoning in all messages of one request: far more than people send. */
export const MAX_ELEMENTS = 10_000

/** Most http(s) addresses in the parts of one request's messages. */
export const MAX_ADDRESSES = 50

/** Largest number of output tokens that may be asked for; a model's own `maxOutputTokens` lowers it. */
export const MAX_TOKENS = 100_000_000

/** A field that a client may also send as null, as OpenAI's do: the same as leaving it out. */
export const optional = <T extends z.ZodType>(schema: T) => schema.nullish().transform((value) => value ?? undefined)

type Context = { issues: unknown[] }

/** A value within another, by its own schema. Only its first fault counts, and its path goes on behind `path`. */
function within<T extends z.ZodType>(schema: T, value: unknown, context: Context, ...path: PropertyKey[]): z.output<T> {
  const parsed = schema.safeParse(value, { error: fieldFault })
  if (parsed.success) return parsed.data
  const issue = parsed.error.issues[0]!
  context.issues.push({ ...issue, path: [...path, ...issue.path], input: undefined })
  return z.NEVER
}

/** What a schema says of itself in the API's document. */
function documented(schema: z.ZodType): Record<string, unknown> {
  const { $schema: _dialect, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  return rest
}

/**
 * A list that is checked up to its first fault: a body of a million faults costs no more than one of one. Its length is
 * looked at before its elements are.
 */
function listOf<T extends z.ZodType>(element: T, least: number, most: number) {
  const list = z
    .custom<unknown[]>((value) => Array.isArray(value), 'must be a list')
    .meta({ type: 'array', items: documented(element) })
  return list.transform((values, context) => {
    if (values.length < least) context.addIssue('must not be empty')
    if (values.length > most) context.addIssue(`must have at most ${most} elements`)
    const good: z.output<T>[] = []
    for (let index = 0; index < values.length && context.issues.length === 0; index++) {
      good.push(within(element, values[index], context, index))
    }
    return context.issues.length === 0 ? good : z.NEVER
  })
}

const text = z.string()
const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null

const jsonObject = z.custom<Record<string, unknown>>(isObject, 'must be an object').meta({ type: 'object' })
const tokens = z.int().min(1).max(MAX_TOKENS)
const penalty = z.number().min(-2).max(2)

/** The longer of the two lives of a cached prefix bills double, so only the short one may be asked for. */
const cacheControl = z.strictObject({ type: z.literal('ephemeral'), ttl: optional(z.literal('5m')) })

const textPart = z.strictObject({ type: z.literal('text'), text, cache_control: optional(cacheControl) })

const imagePart = z.strictObject({
  type: z.literal('image_url'),
  image_url: z.union([text, z.strictObject({ url: text, detail: optional(z.enum(['auto', 'low', 'high'])) })]),
  cache_control: optional(cacheControl),
})

/** Of the kinds that a model prices in `partTokens` we know no more than that. */
const otherPart = z.looseObject({
  cache_control: optional(cacheControl),
  type: z
    .string()
    .min(1)
    .refine((type) => type !== 'text' && type !== 'image_url'),
})

const part = z
  .custom<{ type?: unknown }>(isObject, 'must be an object')
  .meta(documented(z.union([textPart, imagePart])))
  .transform(({ type, ...rest }, context): { type: string; [field: string]: unknown } =>
    within(type === 'text' ? textPart : type === 'image_url' ? imagePart : otherPart, { type, ...rest }, context),
  )

const parts = listOf(part, 0, Infinity)

/** A text or parts; null or absent for an assistant that only calls tools. */
const content = z
  .custom<string | unknown[] | null>(
    (value) => value === null || typeof value === 'string' || Array.isArray(value),
    'must be a string or a list of parts',
  )
  .meta(documented(z.union([text, z.array(part), z.null()])))
  .transform((value, context) => (Array.isArray(value) ? within(parts, value, context) : value))
  .optional()

/** What clients send back with an answer that needs none of it: taken and left out. */
const ignored = z
  .unknown()
  .transform(() => undefined)
  .optional()

const calledFunction = z.strictObject({ name: text, arguments: text, parsed_arguments: ignored })

const toolCall = z.strictObject({
  id: optional(text),
  type: optional(z.literal('function')),
  index: optional(z.int()),
  function: calledFunction,
  extra_content: optional(z.strictObject({ google: optional(z.strictObject({ thought_signature: optional(text) })) })),
})

/** What models thought, as several upstreams want it back with the next request. */
const reasoningDetail = z.strictObject({
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
export const ROLES = ['system', 'developer', 'user', 'assistant', 'tool'] as const

/** Of an assistant's own answer also what upstreams put beside its text, so that it can be sent back as it came. */
const message = z
  .strictObject({
    role: z.enum(ROLES),
    content,
    name: optional(text),
    tool_calls: optional(listOf(toolCall, 0, Infinity)),
    tool_call_id: optional(text),
    function_call: optional(calledFunction),
    refusal: optional(text),
    reasoning: optional(text),
    reasoning_content: optional(text),
    reasoning_details: optional(listOf(reasoningDetail, 0, Infinity)),
    cache_control: optional(cacheControl),
    parsed: ignored,
    // The sources that an answer quotes are addresses.
    annotations: ignored,
    // The id of a sound is billed by no byte that stands here.
    audio: z
      .null()
      .transform(() => undefined)
      .optional(),
  })
  .superRefine((value, context) => {
    const isCalling = (value.tool_calls?.length ?? 0) > 0 || value.function_call !== undefined
    const mayBeSilent = value.role === 'assistant' && isCalling
    if ((value.content === null || value.content === undefined) && !mayBeSilent) {
      context.addIssue({ code: 'custom', path: ['content'], message: 'is required' })
    }
  })

const definedFunction = z.strictObject({
  name: text,
  description: optional(text),
  parameters: optional(jsonObject),
  strict: optional(z.boolean()),
})

/** Functions alone: an upstream's own tools, such as web searches, are billed by the call. */
const tool = z.strictObject({
  type: z.literal('function'),
  function: definedFunction,
  cache_control: optional(cacheControl),
})

const named = z.strictObject({ name: text })
const chosenTool = z.strictObject({ type: z.literal('function'), function: named })
const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  chosenTool,
  z.strictObject({
    type: z.literal('allowed_tools'),
    allowed_tools: z.strictObject({ mode: z.enum(['auto', 'required']), tools: listOf(chosenTool, 1, MAX_TOOLS) }),
  }),
])

const responseFormat = z.union([
  z.strictObject({ type: z.enum(['text', 'json_object']) }),
  z.strictObject({
    type: z.literal('json_schema'),
    json_schema: z.strictObject({
      name: text,
      description: optional(text),
      schema: optional(jsonObject),
      strict: optional(z.boolean()),
    }),
  }),
])

const prediction = z.strictObject({
  type: z.literal('content'),
  content: z.union([text, listOf(textPart, 0, Infinity)]),
})

const isBias = (value: unknown): boolean => typeof value === 'number' && value >= -100 && value <= 100

const logitBias = z
  .custom<Record<string, number>>(
    (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isBias),
    'must map tokens to numbers from -100 to 100',
  )
  .meta({ type: 'object', additionalProperties: { type: 'number', minimum: -100, maximum: 100 } })

const LISTS = ['content', 'tool_calls', 'reasoning_details'] as const

/** Whether the lists in messages are of a sane length together: counted before anything in them is looked at. */
function hasFewElements(messages: unknown): boolean {
  if (!Array.isArray(messages) || messages.length > MAX_MESSAGES) return true
  const lists = messages.flatMap((one: Record<string, unknown> | null) => LISTS.map((name) => one?.[name]))
  return lists.reduce<number>((sum, list) => sum + (Array.isArray(list) ? list.length : 0), 0) <= MAX_ELEMENTS
}

const messageList = listOf(message, 1, MAX_MESSAGES)

/** The messages, whose faults have a code of their own. Which kinds of parts a model takes is checked beside it. */
export const chatMessages = z
  .custom<unknown>(hasFewElements, `must have at most ${MAX_ELEMENTS} parts in all`)
  .meta({ type: 'array', items: documented(message), minItems: 1, maxItems: MAX_MESSAGES })
  .transform((value, context) => within(messageList, value, context))

/** Every other field. */
export const chatOptions = z.object({
  max_tokens: optional(tokens).meta({ description: 'Most output tokens; 1024 if absent.' }),
  max_completion_tokens: optional(tokens).meta({ description: 'The same as max_tokens.' }),
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().min(0).max(1)),
  top_k: optional(z.int().min(-1)),
  min_p: optional(z.number().min(0).max(1)),
  n: optional(z.int().min(1).max(8)).meta({ description: 'How many choices; the charge multiplies the output by it.' }),
  stop: optional(z.union([text, listOf(text, 0, 4)])),
  seed: optional(z.int()),
  presence_penalty: optional(penalty),
  frequency_penalty: optional(penalty),
  repetition_penalty: optional(z.number().min(0).max(2)),
  logit_bias: optional(logitBias),
  logprobs: optional(z.boolean()),
  top_logprobs: optional(z.int().min(0).max(20)),
  tools: optional(listOf(tool, 0, MAX_TOOLS)).meta({ description: `At most ${MAX_TOOLS}.` }),
  tool_choice: optional(toolChoice),
  parallel_tool_calls: optional(z.boolean()),
  response_format: optional(responseFormat),
  reasoning_effort: optional(z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])),
  verbosity: optional(z.enum(['low', 'medium', 'high'])),
  user: optional(text),
  metadata: optional(jsonObject),
  store: optional(z.boolean()),
  stream: optional(z.boolean()),
  stream_options: optional(
    z.strictObject({
      include_usage: optional(z.boolean()),
      include_obfuscation: optional(z.boolean()),
    }),
  ),
  prompt_cache_key: optional(text),
  safety_identifier: optional(text),
  prediction: optional(prediction),
  functions: optional(listOf(definedFunction, 0, MAX_TOOLS)),
  function_call: optional(z.union([z.enum(['none', 'auto']), named])),
  modalities: optional(listOf(z.literal('text'), 1, 1)),
})

/** The names of all fields that pass without an upstream's `allow`. */
const FIELDS: ReadonlySet<string> = new Set(['model', 'messages', ...Object.keys(chatOptions.shape)])

/** The first field of a body that is neither listed nor allowed by the model's upstreams; null where there is none. */
export const unknownField = (body: object, allowed: readonly string[]): string | null =>
  Object.keys(body).find((field) => !FIELDS.has(field) && !allowed.includes(field)) ?? null

/** The fields of a body that pass to an upstream that allows these beyond the list. */
export const passingFields = (body: object, allowed: readonly string[]): Record<string, unknown> =>
  Object.fromEntries(Object.entries(body).filter(([field]) => FIELDS.has(field) || allowed.includes(field)))
