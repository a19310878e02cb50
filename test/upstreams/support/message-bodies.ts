/**
 * Random bodies of the Messages API for fast-check: every known field and block, of every size, and fields that an
 * upstream bills apart.
 */
import fc from 'fast-check'
import { IMAGE_BYTES, json, name, now, schema, seldom, text, word } from './random-texts.ts'

/** A body of the Messages API. */
export type MessageBody = Record<string, unknown>

const mark = now(fc.constantFrom({ type: 'ephemeral' }, { type: 'ephemeral', ttl: '5m' }))
/** A mark of a cache that is written at double its price, seldom. */
const anyMark = fc.oneof(
  { weight: 150, arbitrary: mark },
  { weight: 1, arbitrary: fc.constant({ type: 'ephemeral', ttl: '1h' }) },
)
/** A block of this type; what is undefined is left out of its JSON. */
const block = (type: string, fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> =>
  fc.record({ type: fc.constant(type), ...fields, cache_control: anyMark })

const textBlock = block('text', { text, citations: now(fc.constant(null)) })
const image = block('image', {
  source: fc.constantFrom<unknown>(
    { type: 'base64', media_type: 'image/png', data: IMAGE_BYTES },
    { type: 'url', url: 'https://example.com/a.png' },
  ),
})
const document = block('document', {
  source: fc.oneof(
    text.map((data) => ({ type: 'text', media_type: 'text/plain', data })),
    fc.oneof(text, fc.array(fc.oneof(textBlock, image), { maxLength: 3 })).map((content) => ({
      type: 'content',
      content,
    })),
    text.map((data) => ({ type: 'base64', media_type: 'text/csv', data })),
    text.map((data) => ({ type: 'base64', media_type: 'application/pdf', data })),
    fc.constant({ type: 'url', url: 'https://example.com/a.pdf' }),
  ),
  title: now(text),
  context: now(text),
  citations: now(fc.constant({ enabled: true })),
})
const searchResult = block('search_result', {
  source: text,
  title: text,
  content: fc.array(textBlock, { maxLength: 3 }),
  citations: now(fc.constant({ enabled: true })),
})
const resultBlock = fc.oneof(
  { weight: 3, arbitrary: textBlock },
  image,
  document,
  searchResult,
  name.map((tool_name) => ({ type: 'tool_reference', tool_name })),
)
const thought = fc.oneof(
  fc.record({ type: fc.constant('thinking'), thinking: text, signature: now(text) }),
  text.map((data) => ({ type: 'redacted_thinking', data })),
)

/** Definitions of tools that run at the upstream, which bills for their use. */
const hosted = fc.oneof(
  fc.constantFrom<object>(
    { type: 'web_search_20250305', name: 'web_search', max_uses: 5 },
    { type: 'web_fetch_20250910', name: 'web_fetch' },
    { type: 'code_execution_20250825', name: 'code_execution' },
    { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex' },
    { type: 'mcp_toolset', mcp_server_name: 'x' },
  ),
)
const own = fc.record({
  name,
  description: now(text),
  input_schema: schema,
  strict: now(fc.boolean()),
  defer_loading: now(fc.boolean()),
  input_examples: now(fc.array(schema, { maxLength: 2 })),
  cache_control: anyMark,
})
const typed = fc.constantFrom<object>(
  { type: 'bash_20250124', name: 'bash' },
  { type: 'text_editor_20250728', name: 'str_replace_based_edit_tool' },
  { type: 'memory_20250818', name: 'memory' },
  { type: 'computer_20250124', name: 'computer', display_width_px: 800, display_height_px: 600 },
)
const tool = fc.oneof({ weight: 4, arbitrary: own }, { weight: 1, arbitrary: typed }, { weight: 1, arbitrary: hosted })

const change = fc.record({
  type: fc.constantFrom('tool_addition', 'tool_removal'),
  tool: fc.oneof(
    { weight: 3, arbitrary: name.map((tool_name) => ({ type: 'tool_reference', tool_name })) },
    { weight: 1, arbitrary: fc.oneof(own, hosted) },
  ),
})

const said = fc.record({
  role: fc.constantFrom('user', 'assistant', 'system'),
  content: fc.oneof(
    text,
    fc.array(
      fc.oneof(
        { weight: 8, arbitrary: textBlock },
        { weight: 2, arbitrary: image },
        { weight: 2, arbitrary: document },
        { weight: 1, arbitrary: searchResult },
        { weight: 2, arbitrary: thought },
        { weight: 1, arbitrary: change },
      ),
      { maxLength: 4 },
    ),
  ),
  output_config: now(fc.constant({ effort: 'high' })).map((config) => config ?? undefined),
})
/** Calls of tools with their results. Ids are of any provider. */
const called = fc
  .tuple(name, name, json, fc.oneof(text, fc.array(resultBlock, { maxLength: 3 })), now(fc.boolean()), anyMark)
  .map(([id, called, input, content, is_error, cache_control]): object[] => [
    { role: 'assistant', content: [{ type: 'tool_use', id, name: called, input, cache_control }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content, is_error, cache_control }] },
  ])
const turns = fc
  .array(fc.oneof({ weight: 4, arbitrary: said.map((one): object[] => [one]) }, { weight: 1, arbitrary: called }), {
    minLength: 1,
    maxLength: 8,
  })
  .map((all) => all.flat())

const OPTIONS = {
  system: now(fc.oneof(text, fc.array(textBlock, { maxLength: 3 }))),
  stop_sequences: now(fc.array(text, { maxLength: 6 })),
  stream: now(fc.boolean()),
  temperature: now(fc.constantFrom(0, 0.123456789, 1)),
  top_p: now(fc.constant(0.5)),
  top_k: now(fc.nat(40)),
  thinking: now(
    fc.oneof(
      fc.integer({ min: 1024, max: 9000 }).map((budget_tokens) => ({ type: 'enabled', budget_tokens })),
      fc.constant({ type: 'adaptive', display: 'omitted' }),
      fc.constant({ type: 'disabled' }),
    ),
  ),
  tool_choice: now(
    fc.constantFrom<unknown>(
      { type: 'auto', disable_parallel_tool_use: true },
      { type: 'any' },
      { type: 'tool', name: 'f' },
      { type: 'none' },
    ),
  ),
  tools: now(fc.array(tool, { maxLength: 5 })),
  metadata: now(text.map((user_id) => ({ user_id }))),
  output_config: now(
    fc.oneof(
      fc.constantFrom('low', 'max').map((effort) => ({ effort })),
      schema.map((value) => ({ format: { type: 'json_schema', schema: value } })),
    ),
  ),
  cache_control: anyMark,
  context_management: now(
    fc.constantFrom<unknown>(
      { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
      { edits: [{ type: 'clear_tool_uses_20250919' }] },
    ),
  ),
}

/** What an upstream bills apart, also at values that cost nothing. */
export const DEARER = {
  service_tier: fc.constantFrom('auto', 'standard_only', 'priority', 'flex'),
  speed: fc.constantFrom('standard', 'fast'),
  inference_geo: fc.constantFrom('global', 'us'),
  container: fc.constantFrom<unknown>('container_1', { skills: [{ type: 'anthropic', skill_id: 'pptx' }] }),
  mcp_servers: fc.constantFrom<unknown>([], [{ type: 'url', url: 'https://example.com', name: 'x' }]),
  fallbacks: fc.constantFrom<unknown>([], [{ model: 'dearer' }]),
}
/** What no field of the API may do to the limit of the output. */
const ELSEWHERE = { n: fc.nat(8), max_completion_tokens: fc.nat(), max_output_tokens: fc.nat(), models: fc.array(word) }

/** Bodies of which most are accepted by a model that prices documents. */
export const messageBodies: fc.Arbitrary<MessageBody> = fc
  .tuple(
    turns,
    fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 200_000 })),
    fc.record(OPTIONS),
    seldom(DEARER, 4),
    seldom(ELSEWHERE, 1),
  )
  .map(([messages, max_tokens, options, dearer, elsewhere]) => ({
    model: 'm',
    messages,
    max_tokens,
    ...options,
    ...dearer,
    ...elsewhere,
  }))
