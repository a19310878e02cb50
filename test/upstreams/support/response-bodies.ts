/**
 * Random bodies of the Responses API for fast-check: every known field, item, part and tool, of every size, and fields
 * that an upstream bills apart.
 */
import fc from 'fast-check'
import { PICTURE, json, name, now, schema, seldom, text, word } from './random-texts.ts'

const of = (type: string, fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<object> =>
  fc.record({ type: fc.constant(type), ...fields })
const id = { id: now(word), status: now(fc.constant('completed')) }

const inputText = of('input_text', { text })
const image = of('input_image', {
  image_url: fc.constantFrom(PICTURE, 'https://example.com/a.png'),
  detail: now(fc.constantFrom('low', 'high')),
})
const base64 = text.map((one) => Buffer.from(one).toString('base64'))
const file = fc.oneof(
  base64.map((data) => ({ type: 'input_file', filename: 'a.txt', file_data: `data:text/plain;base64,${data}` })),
  base64.map((data) => ({ type: 'input_file', filename: 'a.pdf', file_data: `data:application/pdf;base64,${data}` })),
  fc.constant({ type: 'input_file', file_url: 'https://example.com/a.pdf' }),
  base64.map((data) => ({
    type: 'input_file',
    file_url: 'https://example.com/a.pdf',
    file_data: `data:text/plain;base64,${data}`,
  })),
)
const said = fc.oneof({ weight: 6, arbitrary: inputText }, image, file)
const contentOf = (part: fc.Arbitrary<object>) => fc.oneof(text, fc.array(part, { maxLength: 4 }))

const own = fc.oneof(
  of('function', { name, description: now(text), parameters: now(schema), strict: now(fc.boolean()) }),
  of('custom', {
    name,
    description: now(text),
    format: now(text.map((definition) => ({ type: 'grammar', syntax: 'lark', definition }))),
  }),
)
/** Tools that run at the upstream, which bills for their use. */
const hosted = fc.constantFrom<object>(
  { type: 'web_search', search_context_size: 'high' },
  { type: 'code_interpreter', container: { type: 'auto' } },
  { type: 'mcp', server_label: 'x', server_url: 'https://example.com' },
  { type: 'image_generation' },
)
const namespace = of('namespace', { name, description: now(text), tools: fc.array(own, { maxLength: 3 }) })
/** Mostly of different names, since two of one name are refused. */
const tools = fc.uniqueArray(fc.oneof({ weight: 4, arbitrary: own }, namespace, hosted), {
  maxLength: 4,
  selector: (tool) => ('name' in tool ? tool.name : tool),
})

const message = fc.record({
  role: fc.constantFrom('user', 'assistant', 'system', 'developer'),
  content: contentOf(said),
  ...id,
})
const called = fc
  .tuple(
    name,
    name,
    fc.oneof(
      text,
      json.map((one) => JSON.stringify(one)),
    ),
    contentOf(said),
    fc.boolean(),
  )
  .map(([call_id, called, args, output, isCustom]): object[] =>
    isCustom
      ? [
          { type: 'custom_tool_call', call_id, name: called, input: args },
          { type: 'custom_tool_call_output', call_id, output },
        ]
      : [
          { type: 'function_call', call_id, name: called, arguments: args },
          { type: 'function_call_output', call_id, output },
        ],
  )
const thought = of('reasoning', {
  summary: fc.array(of('summary_text', { text }), { maxLength: 2 }),
  encrypted_content: now(text),
})
/** Items that only their vendor knows; some of them bring tools, or change how the rest is answered. */
const vendors = fc.oneof(
  of('web_search_call', { action: now(json), ...id }),
  of('tool_search_output', { execution: fc.constant('client'), tools }),
  of('configuration_update', {
    tools: now(tools),
    service_tier: now(fc.constant('priority')),
    reasoning: now(fc.constant({ mode: 'pro' })),
    configuration: now(tools.map((all) => ({ tools: all }))),
  }),
)
const alone = (one: object): object[] => [one]
const items = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: message.map(alone) },
      { weight: 2, arbitrary: called },
      { weight: 1, arbitrary: thought.map(alone) },
      { weight: 1, arbitrary: of('additional_tools', { role: now(fc.constant('developer')), tools }).map(alone) },
      { weight: 1, arbitrary: vendors.map(alone) },
    ),
    { minLength: 1, maxLength: 6 },
  )
  .map((all) => all.flat())

const OPTIONS = {
  instructions: now(text),
  max_output_tokens: now(fc.integer({ min: 16, max: 200_000 })),
  max_tool_calls: now(fc.integer({ min: 1, max: 9 })),
  stream: now(fc.boolean()),
  temperature: now(fc.constantFrom(0, 1)),
  top_p: now(fc.constant(0.5)),
  parallel_tool_calls: now(fc.boolean()),
  tools: now(tools),
  tool_choice: now(
    fc.constantFrom<unknown>(
      'auto',
      'auto',
      'none',
      'none',
      'required',
      { type: 'function', name: 'f' },
      { type: 'web_search' },
    ),
  ),
  reasoning: now(
    fc.record({ effort: now(fc.constantFrom('low', 'max')), mode: now(fc.constantFrom('default', 'pro')) }),
  ),
  text: now(schema.map((value) => ({ format: { type: 'json_schema', name: 'a', schema: value } }))),
  include: now(fc.constant(['reasoning.encrypted_content'])),
  metadata: now(fc.constant({ a: 'b' })),
  prompt_cache_key: now(text),
  safety_identifier: now(text.map((one) => one.slice(0, 128))),
  user: now(text),
  store: now(fc.boolean()),
  truncation: now(fc.constantFrom('auto', 'disabled')),
  client_metadata: now(schema),
}

/** What an upstream bills apart, also at values that cost nothing. */
const DEARER = {
  service_tier: fc.constantFrom('auto', 'default', 'priority', 'flex'),
  moderation: fc.constant({ model: 'dear' }),
  context_management: fc.constantFrom<unknown>([], [{ type: 'compaction' }]),
  prompt_cache_options: fc.constant({ ttl: '12h' }),
  prompt_cache_retention: fc.constantFrom('in_memory', '24h'),
  prompt: fc.constant({ id: 'pmpt_1' }),
  conversation: fc.constant('conv_1'),
  image: fc.constant({ size: 'large' }),
}
/** What no field of the API may do to the limit of the output. */
const ELSEWHERE = { n: fc.nat(8), max_tokens: fc.nat(), max_completion_tokens: fc.nat(), messages: fc.array(json) }

/** Bodies of which most are accepted by a model that prices documents. */
export const responseBodies: fc.Arbitrary<Record<string, unknown>> = fc
  .tuple(fc.oneof(text, items), fc.record(OPTIONS), seldom(DEARER, 4), seldom(ELSEWHERE, 1))
  .map(([input, options, dearer, elsewhere]) => ({ model: 'm', input, ...options, ...dearer, ...elsewhere }))
