/**
 * The fields of a request of the Responses API, of three kinds: free ones pass; dearer ones make an upstream bill more
 * than tokens at their prices, or name input that cannot be counted, and are refused unless the model's upstreams allow
 * them; all others are unknown. Source: OpenAI's API reference, "Create a model response", and its page on pricing,
 * November 2026.
 */

/** The fields that pass. */
export const FREE_FIELDS: ReadonlySet<string> = new Set([
  'model',
  'input',
  'instructions',
  'max_output_tokens',
  'max_tool_calls',
  'temperature',
  'top_p',
  'top_logprobs',
  'parallel_tool_calls',
  'tool_choice',
  'tools',
  'reasoning',
  'text',
  'include',
  'metadata',
  'prompt_cache_key',
  'safety_identifier',
  'user',
  'store',
  'background',
  'previous_response_id',
  'stream',
  'stream_options',
  'truncation',
  'client_metadata',
])

/** The fields that make an upstream bill more, or add what cannot be counted, and why they are refused. */
export const DEARER_FIELDS: Readonly<Record<string, string>> = {
  service_tier: 'a tier is billed at a price of its own',
  moderation: 'a moderation is billed apart',
  context_management: 'a compaction runs the model once more',
  prompt_cache_options: 'a cache that lives longer is billed apart',
  prompt_cache_retention: 'a cache that lives longer is billed apart',
  prompt: 'a stored prompt is input that cannot be counted',
  conversation: 'a stored conversation is input that cannot be counted',
  image: 'pictures are billed apart',
}

/** The values of dearer fields that cost nothing: with them the field is left out. */
export const FREE_VALUES: Readonly<Record<string, readonly unknown[]>> = {
  service_tier: ['auto', 'default'],
  prompt_cache_retention: ['in_memory'],
}

/** Kinds of tools that the client runs, and that every model can be told of. */
export const CLIENT_TOOLS: ReadonlySet<unknown> = new Set(['function', 'custom', 'namespace'])

/** Whether a tool runs at its upstream, which bills for its use, or is known to its vendor's own models alone. */
export const isHosted = ({ type }: { type?: unknown }): boolean => !CLIENT_TOOLS.has(type)
