/**
 * The fields of a chat that pass, and what they may contain: the one list. Everything else is refused at the edge
 * and never sent to an upstream, which may bill for it, take another model for it, or fetch an address in it.
 * A model's upstream may take further fields: its `allow` in the catalogue. The messages are in `messages.ts`.
 */
import { z } from 'zod'
import { NEEDS_ALLOW } from '../../requests/billed-fields.ts'
import { cacheControl, textPart } from './messages.ts'
import { MAX_STOP, MAX_TOKENS, chosen, closed, jsonObject, listOf, optional } from '../../requests/field-schemas.ts'

/** The most tools that a chat may name. */
const MAX_TOOLS = 128

const text = z.string()
const tokens = z.int().min(1).max(MAX_TOKENS)
const penalty = z.number().min(-2).max(2)

const definedFunction = closed({
  name: text,
  description: optional(text),
  parameters: optional(jsonObject),
  strict: optional(z.boolean()),
})

const functionTool = closed({
  type: z.literal('function'),
  function: definedFunction,
  cache_control: optional(cacheControl),
})

const customTool = closed({
  type: z.literal('custom'),
  custom: closed({ name: text, description: optional(text), format: optional(jsonObject) }),
  cache_control: optional(cacheControl),
})

/** Tools that their client runs: an upstream's own, such as web searches, are billed by the call. */
const tool = chosen<z.ZodType>([functionTool, customTool], ({ type }) =>
  type === 'custom' ? customTool : functionTool,
)

const named = closed({ name: text })
const chosenTool = z.union([
  closed({ type: z.literal('function'), function: named }),
  closed({ type: z.literal('custom'), custom: named }),
])
const toolChoice = z.union([
  z.enum(['none', 'auto', 'required']),
  // Other APIs call it so.
  z.literal('any').transform(() => 'required' as const),
  chosenTool,
  closed({
    type: z.literal('allowed_tools'),
    allowed_tools: closed({ mode: z.enum(['auto', 'required']), tools: listOf(chosenTool, 1, MAX_TOOLS) }),
  }),
])

const responseFormat = z.union([
  closed({ type: z.enum(['text', 'json_object']) }),
  closed({
    type: z.literal('json_schema'),
    json_schema: closed({
      name: text,
      description: optional(text),
      schema: optional(jsonObject),
      strict: optional(z.boolean()),
    }),
  }),
  // The form of several compatible APIs.
  closed({ type: z.literal('json_object'), schema: jsonObject }).transform(({ schema }) => ({
    type: 'json_schema' as const,
    json_schema: { name: 'answer', schema },
  })),
])

const reasoningEffort = z.enum(['none', 'minimal', 'low', 'medium', 'high', 'xhigh'])

const prediction = closed({ type: z.literal('content'), content: z.union([text, listOf(textPart, 0, Infinity)]) })

const isBias = (value: unknown): boolean => typeof value === 'number' && value >= -100 && value <= 100

const logitBias = z
  .custom<Record<string, number>>(
    (value) =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every(isBias),
    'must map tokens to numbers from -100 to 100',
  )
  .meta({ type: 'object', additionalProperties: { type: 'number', minimum: -100, maximum: 100 } })

/** Every other field that passes. */
const passing = {
  max_tokens: optional(tokens).meta({
    description: "Most output tokens; if absent the model's default, lowered to what can be paid.",
  }),
  max_completion_tokens: optional(tokens).meta({ description: 'The same as max_tokens.' }),
  temperature: optional(z.number().min(0).max(2)),
  top_p: optional(z.number().min(0).max(1)),
  top_k: optional(z.int().min(-1)),
  min_p: optional(z.number().min(0).max(1)),
  n: optional(z.int().min(1).max(8)).meta({ description: 'How many choices; the charge multiplies the output by it.' }),
  stop: optional(z.union([text.max(MAX_STOP), listOf(text.max(MAX_STOP), 0, 4)])),
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
  reasoning_effort: optional(reasoningEffort),
  verbosity: optional(z.enum(['low', 'medium', 'high'])),
  user: optional(text),
  metadata: optional(jsonObject),
  store: optional(z.boolean()),
  stream: optional(z.boolean()),
  stream_options: optional(
    closed({ include_usage: optional(z.boolean()), include_obfuscation: optional(z.boolean()) }),
  ),
  prompt_cache_key: optional(text),
  safety_identifier: optional(text),
  prediction: optional(prediction),
  functions: optional(listOf(definedFunction, 0, MAX_TOOLS)),
  function_call: optional(z.union([z.enum(['none', 'auto']), named])),
  modalities: optional(listOf(z.literal('text'), 1, 1)),
}

/** Fields that clients send of themselves, and that no upstream is sent unless it allows them. */
const taken = {
  usage: optional(closed({ include: optional(z.boolean()) })).meta({ description: 'Ignored: usage is always told.' }),
  service_tier: optional(z.enum(['auto', 'default'], `other than "auto" and "default" ${NEEDS_ALLOW}`)).meta({
    description: 'Ignored: it is what is served anyway.',
  }),
  reasoning: optional(
    closed({
      effort: optional(reasoningEffort),
      enabled: optional(z.boolean()),
      exclude: optional(z.boolean()),
      summary: optional(text),
    }),
  ).meta({ description: 'Its effort is taken as reasoning_effort; the rest is ignored.' }),
}

/** The options of a chat: what passes, and what is accepted and omitted. */
export const chatOptions = z.object({ ...passing, ...taken })

/** The valid options of a body. */
export type ChatOptions = Partial<z.infer<typeof chatOptions>>

/** The options as upstreams are sent them: of what is only accepted, the effort is sent. */
export function passingOptions({ usage: _usage, service_tier: _tier, reasoning, ...options }: ChatOptions) {
  const effort = options.reasoning_effort ?? reasoning?.effort
  return effort === undefined ? options : { ...options, reasoning_effort: effort }
}

/** The names of all fields that pass without an upstream's `allow`. */
export const FREE_FIELDS: ReadonlySet<string> = new Set(['model', 'messages', ...Object.keys(passing)])
