/**
 * The fields of a request of the Messages API, of three kinds: free ones, those of the schema, pass; dearer ones make
 * an upstream bill more than tokens at their prices, and are refused unless the model's upstreams allow them; all
 * others are unknown. Blocks that the schema does not know are refused in the words of the API.
 * Source: Anthropic's API reference, "Create a Message", and its pages on pricing, November 2026.
 */
import { z } from 'zod'
import { asFields } from '../../platform/fields.ts'
import { MAX_STOP, MAX_TOKENS, chosen, jsonObject, listOf, open, textOr } from '../../requests/field-schemas.ts'
import type { FieldKinds } from '../check-body.ts'

/** Most turns, tools, blocks of one turn, and blocks of all turns, those in others included. */
export const MOST = { turns: 20_000, tools: 512, blocks: 20_000, blocksInAll: 40_000 } as const

const text = z.string()

/** The longer of the two lives of a cached prefix is written at double its price. A `scope` belongs to a beta. */
const cacheControl = z.strictObject({
  type: z.literal('ephemeral'),
  ttl: z.enum(['5m', '1h']).optional(),
  scope: text.optional(),
})
const marked = { cache_control: cacheControl.nullish() }

const citations = open({}).nullish()

const textBlock = z.strictObject({ type: z.literal('text'), text, citations: z.unknown().optional(), ...marked })

const bytes = z.strictObject({ type: z.literal('base64'), media_type: text, data: text })
const address = z.strictObject({ type: z.literal('url'), url: text })
/** A file of the API's own, which is input that cannot be counted. */
const fileId = z.looseObject({
  type: z.literal('file'),
  file_id: z.custom(() => false, 'names a file of the API: send its data, or an address'),
})
const imageBlock = z.strictObject({
  type: z.literal('image'),
  source: z.discriminatedUnion('type', [bytes, address, fileId]),
  ...marked,
})

// What a vendor adds to what its model thought and called comes back with it.
const thinking = z.looseObject({ type: z.literal('thinking'), thinking: text, signature: text.nullish() })
const redacted = z.looseObject({ type: z.literal('redacted_thinking'), data: text })

const toolUse = z.looseObject({
  type: z.literal('tool_use'),
  id: text.min(1),
  name: text.min(1),
  input: z.unknown(),
  ...marked,
})

const documentSource = z.discriminatedUnion('type', [
  bytes,
  address,
  fileId,
  z.strictObject({ type: z.literal('text'), media_type: text.optional(), data: text }),
  z.strictObject({
    type: z.literal('content'),
    content: z.union([text, listOf(z.union([textBlock, imageBlock]), 0, MOST.blocks)]),
  }),
])
const document = z.strictObject({
  type: z.literal('document'),
  source: documentSource,
  title: text.nullish(),
  context: text.nullish(),
  citations,
  ...marked,
})

const searchResult = z.strictObject({
  type: z.literal('search_result'),
  source: text,
  title: text,
  content: listOf(textBlock, 0, MOST.blocks),
  citations,
  ...marked,
})

const toolReference = z.strictObject({ type: z.literal('tool_reference'), tool_name: text, ...marked })

/** The blocks of a tool's result. */
const resultBlocks = {
  text: textBlock,
  image: imageBlock,
  document,
  search_result: searchResult,
  tool_reference: toolReference,
}

/** A block by its type. */
const blockOf = (known: Readonly<Record<string, z.ZodType>>) =>
  chosen<z.ZodType>(Object.values(known) as [z.ZodType, ...z.ZodType[]], ({ type }) =>
    typeof type === 'string' && Object.hasOwn(known, type) ? known[type]! : unknownBlock(type, Object.keys(known)),
  )

const unknownBlock = (type: unknown, known: string[]): z.ZodType =>
  z.custom(() => false, {
    error:
      typeof type === 'string'
        ? `Input tag '${type.slice(0, 60)}' found using 'type' does not match any of the expected tags: ${known
            .map((tag) => `'${tag}'`)
            .join(', ')}`
        : "Unable to extract tag using discriminator 'type'",
  })

const contentOf = (known: Readonly<Record<string, z.ZodType>>) =>
  textOr(listOf(blockOf(known), 0, MOST.blocks), z.looseObject({ type: text }), 'Input should be a valid list')

const toolResult = z.strictObject({
  type: z.literal('tool_result'),
  tool_use_id: text.min(1),
  content: contentOf(resultBlocks).nullish(),
  is_error: z.boolean().nullish(),
  ...marked,
})

const toolChange = open({ type: z.enum(['tool_addition', 'tool_removal']) })

/** The blocks of a turn. */
const turnBlocks = {
  ...resultBlocks,
  thinking,
  redacted_thinking: redacted,
  tool_use: toolUse,
  tool_result: toolResult,
  tool_addition: toolChange,
  tool_removal: toolChange,
}

/** The types of the blocks of a turn. */
export const CONTENT_BLOCKS: readonly string[] = Object.keys(turnBlocks)

const content = contentOf(turnBlocks)

const message = z.strictObject({
  role: z.enum(['user', 'assistant', 'system'], { error: "Input should be 'user', 'assistant' or 'system'" }),
  content,
  output_config: jsonObject.optional(),
})

const clientTool = z.strictObject({
  type: z.literal('custom').nullish(),
  name: text.min(1).max(128),
  description: text.nullish(),
  input_schema: jsonObject,
  strict: z.boolean().nullish(),
  defer_loading: z.boolean().nullish(),
  input_examples: listOf(jsonObject, 0, MOST.blocks).nullish(),
  eager_input_streaming: z.boolean().nullish(),
  allowed_callers: listOf(text, 0, MOST.tools).nullish(),
  ...marked,
})
/** A tool of a kind that its vendor knows. Its name may be in a header of the answer. */
const vendorName = text.regex(/^[a-zA-Z0-9_-]{1,64}$/, 'should match pattern ^[a-zA-Z0-9_-]{1,64}$')
const typedTool = open({ type: vendorName, name: vendorName.nullish(), ...marked })
const tool = chosen<z.ZodType>([clientTool, typedTool], ({ type }) =>
  type === undefined || type === null || type === 'custom' ? clientTool : typedTool,
)

const only = { disable_parallel_tool_use: z.boolean().optional() }
const toolChoice = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('auto'), ...only }),
  z.strictObject({ type: z.literal('any'), ...only }),
  z.strictObject({ type: z.literal('tool'), name: text, ...only }),
  z.strictObject({ type: z.literal('none') }),
])

const thinkingConfig = z.strictObject({
  type: z.enum(['enabled', 'adaptive', 'between_tools', 'disabled']),
  budget_tokens: z.int().min(1024).optional(),
  display: text.nullish(),
})

const outputConfig = z.strictObject({
  effort: z.enum(['low', 'medium', 'high', 'xhigh', 'max']).nullish(),
  format: z.strictObject({ type: z.literal('json_schema'), schema: jsonObject }).nullish(),
})

/** The body. Its dearer fields are checked separately. */
export const messagesBody = z.looseObject({
  model: z.string(),
  max_tokens: z.int().min(1).max(MAX_TOKENS).meta({ description: 'Lowered to what balance and budget pay.' }),
  messages: listOf(message, 1, MOST.turns),
  system: z.union([text, listOf(textBlock, 0, MOST.blocks)]).nullish(),
  stop_sequences: listOf(text.max(MAX_STOP), 0, 16).nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().min(0).max(1).nullish(),
  top_p: z.number().min(0).max(1).nullish(),
  top_k: z.int().min(0).nullish(),
  thinking: thinkingConfig.nullish(),
  tool_choice: toolChoice.nullish(),
  tools: listOf(tool, 0, MOST.tools).nullish(),
  metadata: open({ user_id: text.nullish() }).nullish(),
  output_config: outputConfig.nullish(),
  cache_control: cacheControl.nullish(),
  context_management: open({ edits: listOf(open({ type: text }), 0, MOST.blocks).optional() }).nullish(),
})

/** A body to count: as one to send, and its limit may be absent. */
export const countedBody = messagesBody.extend({ max_tokens: messagesBody.shape.max_tokens.optional() })

/** The fields by their kinds. */
export const FIELDS: FieldKinds = {
  free: new Set(Object.keys(messagesBody.shape)),
  dearer: {
    service_tier: 'a tier is billed at a price of its own',
    speed: 'a faster answer is billed at twice its price',
    inference_geo: 'a place of inference is billed at a price of its own',
    container: 'a container is billed by its time',
    mcp_servers: "what an upstream's own tools answer is billed as input",
    fallbacks: 'another model has another price',
  },
  freeValues: {
    service_tier: ['auto', 'standard_only'],
    speed: ['standard'],
    inference_geo: ['global'],
    mcp_servers: [],
  },
}

/** Kinds of tools that the client runs, besides those that it describes itself: Anthropic knows their schemas. */
const CLIENT_TOOLS = /^(bash|text_editor|memory|computer)_\d+$/

/** Whether a tool runs at its upstream, which bills for its use. */
export const isHosted = ({ type }: { type?: unknown }): boolean =>
  typeof type === 'string' && type !== 'custom' && !CLIENT_TOOLS.test(type)

/** What a block that changes the tools in the middle of a conversation is, or refers to. */
const TOOL_CHANGE = /^tool_(addition|removal|reference)$/

/** The fields of a tool whose objects have types of their own. */
const NO_TOOLS: ReadonlySet<string> = new Set(['input_schema', 'input_examples', 'cache_control'])

/** The path of a block that changes a tool that runs at its upstream; null if there is no such block. */
export function hostedChange({ messages }: { messages: readonly { content?: unknown }[] }): string | null {
  for (const [at, { content }] of messages.entries()) {
    const blocks = Array.isArray(content) ? content.map(asFields) : []
    const found = blocks.findIndex(({ type, ...more }) => TOOL_CHANGE.test(String(type)) && namesHosted(more))
    if (found >= 0) return `messages.${at}.content.${found}`
  }
  return null
}

function namesHosted(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(namesHosted)
  const fields = asFields(value)
  if (isHosted(fields) && !TOOL_CHANGE.test(String(fields.type))) return true
  return Object.entries(fields).some(([name, one]) => !NO_TOOLS.has(name) && namesHosted(one))
}

/** Edits of a context that only omit something. Others, such as a compaction, run a model. */
export const FREE_EDITS = /^clear_(thinking|tool_uses)_\d+$/

/**
 * The betas that pass to an upstream of the Messages API. Each only changes the meaning of a field that may pass
 * anyway. All others are dropped: some are billed separately.
 */
export const BETAS: ReadonlySet<string> = new Set([
  'claude-code-20250219',
  'interleaved-thinking-2025-05-14',
  'fine-grained-tool-streaming-2025-05-14',
  'context-management-2025-06-27',
  'advanced-tool-use-2025-11-20',
  'effort-2025-11-24',
  'structured-outputs-2025-11-13',
  'token-efficient-tools-2025-02-19',
  'output-128k-2025-02-19',
  'prompt-caching-scope-2026-01-05',
  'thinking-token-count-2026-05-13',
  'per-turn-control-2026-07-01',
  'mid-conversation-tool-changes-2026-07-01',
  'mid-conversation-output-config-2026-07-01',
  'model-context-window-exceeded-2025-08-26',
  'thinking-display-updates-2026-08-18',
  'computer-use-2024-10-22',
  'computer-use-2025-01-24',
  'computer-use-2025-11-24',
])
