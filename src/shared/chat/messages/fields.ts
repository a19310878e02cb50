/**
 * The fields of a request of the Messages API, of three kinds: free ones pass; dearer ones make an upstream bill more
 * than tokens at their prices, and are refused unless the model's upstreams allow them; all others are unknown.
 * Source: Anthropic's API reference, "Create a Message", and its pages on pricing, November 2026.
 */
import { asFields } from '../../platform/fields.ts'

/** The fields that pass. */
export const FREE_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'messages',
  'max_tokens',
  'system',
  'stop_sequences',
  'stream',
  'temperature',
  'top_p',
  'top_k',
  'thinking',
  'tool_choice',
  'tools',
  'metadata',
  'output_config',
  'cache_control',
  'context_management',
])

/** The fields that make an upstream bill more, and why they are refused. */
export const DEARER_FIELDS: Readonly<Record<string, string>> = {
  service_tier: 'a tier is billed at a price of its own',
  speed: 'a faster answer is billed at twice its price',
  inference_geo: 'a place of inference is billed at a price of its own',
  container: 'a container is billed by its time',
  mcp_servers: "what an upstream's own tools answer is billed as input",
  fallbacks: 'another model has another price',
}

/** The values of dearer fields that cost nothing: with them the field passes. */
export const FREE_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  service_tier: ['auto', 'standard_only'],
  speed: ['standard'],
  inference_geo: ['global'],
  mcp_servers: [],
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

/** The path of a block that changes a tool that runs at its upstream; null where there is none. */
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

/** Edits of a context that only leave something out. Others, such as a compaction, run a model. */
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
])
