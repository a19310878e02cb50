/**
 * The fields of a request of the Responses API, of three kinds: free ones, those of the schema, pass; dearer ones make
 * an upstream bill more than tokens at their prices, or name input that cannot be counted, and are refused unless the
 * model's upstreams allow them; all others are unknown. Items and parts that the schema does not know are refused.
 * Source: OpenAI's API reference, "Create a model response", and its page on pricing, November 2026.
 */
import { z } from 'zod'
import {
  MAX_TOKENS,
  chosen,
  documented,
  jsonObject,
  listOf,
  open,
  textOr,
  within,
} from '../../requests/field-schemas.ts'
import type { FieldKinds } from '../check-body.ts'

/** Most items, tools, parts of one item, parts of all items, and keys of metadata. */
export const MOST = { items: 20_000, tools: 512, parts: 20_000, partsInAll: 40_000, notes: 16 } as const

const text = z.string()

/** What Codex notes for its vendor on an item. It only steers that client, and is dropped. */
export const CLIENTS_NOTE = 'internal_chat_message_metadata_passthrough'

/** What belongs to every item: ids and states are the client's own, and so is which program has made a call. */
const ofItem = {
  id: text.nullish(),
  status: text.nullish(),
  caller: z.unknown().optional(),
  [CLIENTS_NOTE]: z.unknown().optional(),
}

/** A cache that lives longer is billed apart. */
const breakpoint = { prompt_cache_breakpoint: open({ ttl: z.null().optional() }).nullish() }

const inputText = z.strictObject({ type: z.literal('input_text'), text, ...breakpoint })
const outputText = z.strictObject({
  type: z.literal('output_text'),
  text,
  annotations: z.array(z.unknown()).nullish(),
  logprobs: z.array(z.unknown()).nullish(),
  // What OpenAI's SDK has read of a text, or of arguments, stays in what is sent back.
  parsed: z.unknown().optional(),
})
const refusal = z.strictObject({ type: z.literal('refusal'), refusal: text })
const inputImage = z.strictObject({
  type: z.literal('input_image'),
  image_url: text,
  detail: z.enum(['low', 'high', 'auto', 'original']).nullish(),
  file_id: z.null().optional(),
  ...breakpoint,
})
const inputFile = z
  .strictObject({
    type: z.literal('input_file'),
    file_data: text.nullish(),
    file_url: text.nullish(),
    filename: text.nullish(),
    detail: text.nullish(),
    file_id: z.null().optional(),
    ...breakpoint,
  })
  .refine(({ file_data: data, file_url: url }) => Boolean(data ?? url), {
    path: ['file_data'],
    error: 'is required, or a file_url.',
  })

/** A file of the API's own, which is input that cannot be counted. */
const fileId = z.looseObject({
  file_id: z.custom(() => false, 'names a file of the API: send its data, or an address'),
})
const orFileId = (part: z.ZodType): z.ZodType =>
  chosen<z.ZodType>([part], ({ file_id: id }) => (id === undefined || id === null ? part : fileId))

const nothingOf = (what: string, value: unknown): z.ZodType =>
  z.custom(() => false, {
    error:
      typeof value === 'string'
        ? `Invalid value: '${value.slice(0, 60)}' is no known type of ${what}.`
        : `A type of ${what} must be a text.`,
  })

/** An object by its type. */
const byType = (what: string, known: Readonly<Record<string, z.ZodType>>) =>
  chosen<z.ZodType>(Object.values(known) as [z.ZodType, ...z.ZodType[]], ({ type }) =>
    typeof type === 'string' && Object.hasOwn(known, type) ? known[type]! : nothingOf(what, type),
  )

/** A text, or parts. */
const contentOf = (known: Readonly<Record<string, z.ZodType>>) =>
  textOr(listOf(byType('content', known), 0, MOST.parts), z.looseObject({ type: text }), 'must be a text or a list')

const INPUT_PARTS = { input_text: inputText, input_image: orFileId(inputImage), input_file: orFileId(inputFile) }

const content = contentOf({ ...INPUT_PARTS, output_text: outputText, refusal })

const message = z.strictObject({
  type: z.literal('message').nullish(),
  role: z.enum(['user', 'assistant', 'system', 'developer']),
  content,
  phase: text.nullish(),
  ...ofItem,
})

const reasoning = z.strictObject({
  type: z.literal('reasoning'),
  summary: listOf(z.strictObject({ type: z.literal('summary_text'), text }), 0, MOST.parts).nullish(),
  content: listOf(z.strictObject({ type: text, text }), 0, MOST.parts).nullish(),
  encrypted_content: text.nullish(),
  ...ofItem,
})

const call = { call_id: text.min(1), name: text.min(1).max(128), namespace: text.max(128).nullish() }
const functionCall = z.strictObject({
  type: z.literal('function_call'),
  arguments: text,
  parsed_arguments: z.unknown().optional(),
  ...call,
  ...ofItem,
})
const customCall = z.strictObject({ type: z.literal('custom_tool_call'), input: text, ...call, ...ofItem })

const output = { call_id: text.min(1), output: contentOf(INPUT_PARTS) }
const functionOutput = z.strictObject({ type: z.literal('function_call_output'), ...output, ...ofItem })
const customOutput = z.strictObject({
  type: z.literal('custom_tool_call_output'),
  name: text.nullish(),
  ...output,
  ...ofItem,
})

/** A tool that its client runs. Its schema is the model's business: keys that a client adds to it pass. */
const described = {
  description: text.nullish(),
  defer_loading: z.boolean().nullish(),
  allowed_callers: listOf(text, 0, MOST.tools).nullish(),
}
const functionTool = z.strictObject({
  type: z.literal('function'),
  name: text.min(1).max(128),
  parameters: jsonObject.nullish(),
  output_schema: jsonObject.nullish(),
  strict: z.boolean().nullish(),
  ...described,
})
const customTool = z.strictObject({
  type: z.literal('custom'),
  name: text.min(1).max(128),
  format: z
    .union([
      z.strictObject({ type: z.literal('text') }),
      z.strictObject({ type: z.literal('grammar'), syntax: z.enum(['lark', 'regex']), definition: text }),
    ])
    .nullish(),
  ...described,
})
const namespaceTool = z.strictObject({
  type: z.literal('namespace'),
  name: text.min(1).max(128),
  description: text.nullish(),
  tools: listOf(byType('tool', { function: functionTool, custom: customTool }), 0, MOST.tools),
})
const CLIENT_TOOLS: Readonly<Record<string, z.ZodType>> = {
  function: functionTool,
  custom: customTool,
  namespace: namespaceTool,
}
/** A tool of a kind that its vendor runs. */
const vendorsName = text.regex(/^[\w.-]{1,64}$/, 'must be of letters, digits, "_", "-" and ".", at most 64')
const hostedTool = open({ type: vendorsName, name: vendorsName.nullish() })
const tool = chosen<z.ZodType>([functionTool, customTool, namespaceTool, hostedTool], ({ type }) =>
  typeof type === 'string' && Object.hasOwn(CLIENT_TOOLS, type) ? CLIENT_TOOLS[type]! : hostedTool,
)
const tools = listOf(tool, 0, MOST.tools)

const additionalTools = z.strictObject({ type: z.literal('additional_tools'), role: text.nullish(), tools, ...ofItem })

/** What a vendor's own tools did in earlier turns. */
const hostedItem = (type: string) => open({ type: z.literal(type) })
const HOSTED_ITEMS = ['tool_search_call', 'web_search_call', 'file_search_call', 'code_interpreter_call']

/** Of those, the ones that bring tools. */
const hostedWithTools = (type: string) => open({ type: z.literal(type), tools: tools.nullish() })
const HOSTED_WITH_TOOLS = ['tool_search_output', 'configuration_update']

const ITEMS: Readonly<Record<string, z.ZodType>> = {
  message,
  reasoning,
  function_call: functionCall,
  function_call_output: functionOutput,
  custom_tool_call: customCall,
  custom_tool_call_output: customOutput,
  additional_tools: additionalTools,
  ...Object.fromEntries(HOSTED_ITEMS.map((type) => [type, hostedItem(type)])),
  ...Object.fromEntries(HOSTED_WITH_TOOLS.map((type) => [type, hostedWithTools(type)])),
}
const item = chosen<z.ZodType>(Object.values(ITEMS) as [z.ZodType, ...z.ZodType[]], ({ type }) => {
  const named = type ?? 'message'
  return typeof named === 'string' && Object.hasOwn(ITEMS, named) ? ITEMS[named]! : nothingOf('item', named)
})
const items = listOf(item, 1, MOST.items)

const input = textOr(items, z.looseObject({ type: text.optional() }), 'must be a text or a list of items')

const toolChoice = z.union([z.enum(['auto', 'none', 'required']), open({ type: text })])

const format = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('text') }),
  z.strictObject({ type: z.literal('json_object') }),
  z.strictObject({
    type: z.literal('json_schema'),
    name: text.min(1).max(64),
    schema: jsonObject,
    description: text.nullish(),
    strict: z.boolean().nullish(),
  }),
])

const noted = z.record(text.max(64), text.max(512))

/** Notes of the client's own. They are counted before any is checked. */
const metadata = jsonObject.meta(documented(noted)).transform((fields, context) => {
  if (Object.keys(fields).length <= MOST.notes) return within(noted, fields, context)
  context.addIssue(`must have at most ${MOST.notes} keys`)
  return z.NEVER
})

const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

/** The body. Its dearer fields are checked separately. */
export const responsesBody = z.looseObject({
  model: z.string(),
  input,
  instructions: text.nullish(),
  max_output_tokens: z.int().min(16).max(MAX_TOKENS).nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  temperature: z.number().min(0).max(2).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  tool_choice: toolChoice.nullish(),
  tools: tools.nullish(),
  reasoning: z
    .strictObject({
      effort: z.enum(EFFORTS).nullish(),
      summary: z.enum(['auto', 'concise', 'detailed', 'none']).nullish(),
      generate_summary: z.enum(['auto', 'concise', 'detailed']).nullish(),
      context: text.max(64).nullish(),
      mode: text.nullish(),
    })
    .nullish(),
  text: z.strictObject({ format: format.nullish(), verbosity: z.enum(['low', 'medium', 'high']).nullish() }).nullish(),
  include: listOf(text.max(100), 0, 32).nullish(),
  metadata: metadata.nullish(),
  prompt_cache_key: text.nullish(),
  safety_identifier: text.max(128).nullish(),
  user: text.nullish(),
  store: z.boolean().nullish(),
  background: z.boolean().nullish(),
  previous_response_id: text.max(200).nullish(),
  stream: z.boolean().nullish(),
  stream_options: z.strictObject({ include_obfuscation: z.boolean().nullish() }).nullish(),
  truncation: z.enum(['auto', 'disabled']).nullish(),
  client_metadata: jsonObject.nullish(),
})

/** How the catalogue names the mode of reasoning, of which one is billed at a price of its own. */
export const MODE = 'reasoning.mode'

/** The fields by their kinds. */
export const FIELDS: FieldKinds = {
  free: new Set(Object.keys(responsesBody.shape)),
  dearer: {
    service_tier: 'a tier is billed at a price of its own',
    moderation: 'a moderation is billed apart',
    context_management: 'a compaction runs the model once more',
    prompt_cache_options: 'a cache that lives longer is billed apart',
    prompt_cache_retention: 'a cache that lives longer is billed apart',
    prompt: 'a stored prompt is input that cannot be counted',
    conversation: 'a stored conversation is input that cannot be counted',
    image: 'pictures are billed apart',
  },
  freeValues: { service_tier: ['auto', 'default'], prompt_cache_retention: ['in_memory'] },
}

/** Whether a tool runs at its upstream, which bills for its use, or is known to its vendor's own models alone. */
export const isHosted = ({ type }: { type?: unknown }): boolean =>
  !(typeof type === 'string' && Object.hasOwn(CLIENT_TOOLS, type))
