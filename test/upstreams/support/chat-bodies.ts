/**
 * Random bodies of chats for fast-check: of accepted fields and parts, of every size, and sometimes of others.
 */
import fc from 'fast-check'
import { PICTURE, cached, json, now, often, schema, text, word } from './random-texts.ts'

/** A body and the protocol of the upstream that it goes to. */
export type Asked = { protocol: 'openai' | 'anthropic'; body: Record<string, unknown> }

const image = fc.constantFrom<unknown>(
  { url: PICTURE },
  PICTURE,
  { url: PICTURE, detail: 'high' },
  { url: 'https://example.com/a.png' },
)
const part = fc.oneof(
  { weight: 6, arbitrary: fc.record({ type: fc.constant('text'), text, cache_control: cached }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('image_url'), image_url: image }) },
  { weight: 1, arbitrary: text.map((data) => ({ type: 'input_audio', input_audio: { data, format: 'wav' } })) },
  {
    weight: 1,
    arbitrary: text.map((data) => ({ type: 'file', file: { file_data: `data:application/pdf;base64,${data}` } })),
  },
  {
    weight: 1,
    arbitrary: text.map((data) => ({
      type: 'video_url',
      video_url: { url: `data:video/mp4;base64,${data}`, image_url: PICTURE },
    })),
  },
)
const content = fc.oneof(text, fc.array(part, { maxLength: 4 }))

/** Arguments as models write them, and some that grow when they are converted. */
const args = fc.oneof(
  schema.map((value) => JSON.stringify(value)),
  fc.nat(200).map(
    (count) =>
      `{"a":[${Array(count + 1)
        .fill('1e20')
        .join(',')}]}`,
  ),
  word,
)
const toolCall = (id: string) =>
  fc.record({
    id: fc.constant(id),
    type: fc.constant('function'),
    function: fc.record({ name: word, arguments: args }),
  })

const said = fc.record({
  role: fc.constantFrom('system', 'developer', 'user', 'assistant'),
  content,
  name: now(word),
  reasoning_content: now(text),
  annotations: now(json),
})

/** A tool call with its result, or a result without a call. */
const called = fc
  .tuple(word, often(fc.constant(true)), args, content)
  .chain(([id, isAsked, , result]) =>
    toolCall(id).map((call) => [
      ...(isAsked ? [{ role: 'assistant', content: null, tool_calls: [call] }] : []),
      { role: 'tool', tool_call_id: id, content: result },
    ]),
  )
const turns = fc
  .array(fc.oneof({ weight: 4, arbitrary: said.map((one): object[] => [one]) }, { weight: 1, arbitrary: called }), {
    minLength: 1,
    maxLength: 8,
  })
  .chain((few) => fc.nat(99).map((more) => (more < 97 ? few : Array.from({ length: more }, () => few).flat())))
  .map((all) => all.flat())

const fn = fc.record({ name: word, description: now(text), parameters: now(schema), strict: now(fc.boolean()) })
const OPTIONS = {
  max_tokens: now(fc.integer({ min: 1, max: 5000 })),
  max_completion_tokens: now(fc.integer({ min: 1, max: 5000 })),
  n: now(fc.integer({ min: 1, max: 8 })),
  temperature: now(fc.constantFrom(0, 0.123456789, 2)),
  top_p: now(fc.constant(0.5)),
  top_k: now(fc.constant(5)),
  min_p: now(fc.constant(0.05)),
  seed: now(fc.integer()),
  presence_penalty: now(fc.constant(-2)),
  frequency_penalty: now(fc.constant(2)),
  repetition_penalty: now(fc.constant(1.1)),
  logprobs: now(fc.boolean()),
  top_logprobs: now(fc.nat(20)),
  logit_bias: now(fc.dictionary(fc.nat(100_000).map(String), fc.integer({ min: -100, max: 100 }))),
  stop: now(fc.oneof(text, fc.array(text, { maxLength: 4 }))),
  tools: now(
    fc.array(fc.record({ type: fc.constant('function'), function: fn, cache_control: cached }), { maxLength: 5 }),
  ),
  functions: now(fc.array(fn, { maxLength: 3 })),
  tool_choice: now(fc.constantFrom<unknown>('none', 'auto', 'required', { type: 'function', function: { name: 'f' } })),
  function_call: now(fc.constantFrom<unknown>('auto', { name: 'f' })),
  parallel_tool_calls: now(fc.boolean()),
  response_format: now(
    fc.oneof(
      fc.constant({ type: 'json_object' }),
      schema.map((value) => ({ type: 'json_schema', json_schema: { name: 'n', schema: value } })),
    ),
  ),
  reasoning_effort: now(fc.constantFrom('none', 'xhigh')),
  verbosity: now(fc.constant('high')),
  user: now(text),
  safety_identifier: now(text),
  prompt_cache_key: now(text),
  metadata: now(schema),
  store: now(fc.boolean()),
  stream: now(fc.boolean()),
  stream_options: now(fc.constant({ include_usage: false })),
  modalities: now(fc.constant(['text'])),
  prediction: now(text.map((value) => ({ type: 'content', content: value }))),
  thinking: now(json),
  service_tier: now(text),
}
/** What is not accepted. */
const REFUSED = {
  models: fc.array(word),
  provider: json,
  n_predict: fc.nat(),
  best_of: fc.nat(),
  max_output_tokens: fc.nat(),
}

const refused = fc.oneof(
  { weight: 19, arbitrary: fc.constant({}) },
  { weight: 1, arbitrary: fc.record(REFUSED, { requiredKeys: [] }) },
)

/**
 * Everything. Most is accepted by a model that prices audio, files and videos and allows `thinking` and `service_tier`.
 */
export const chatBodies: fc.Arbitrary<Asked> = fc.record({
  protocol: fc.constantFrom('openai', 'anthropic'),
  body: fc
    .tuple(turns, fc.record(OPTIONS), refused)
    .map(([messages, options, more]) => ({ model: 'm', messages, ...options, ...more })),
})
