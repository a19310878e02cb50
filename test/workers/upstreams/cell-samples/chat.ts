import type { Feature } from '../../../../src/shared/chat/features.ts'
import type { Fields } from '../../../../src/shared/platform/fields.ts'
import { PIXEL, PIXEL_URI } from '../../../support/pixel.ts'
import type { Sample } from './sample.ts'
import { PDF, SCHEMA, TEXT, WORD, saying } from './sample.ts'

const tool = { type: 'function', function: { name: 'look', parameters: SCHEMA } }
const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"a":"x"}' } })
const file = (file_data: string) => ({ type: 'file', file: { filename: 'f', file_data } })
const withCall = (...results: Fields[]) => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: null, tool_calls: [call('c1')] },
    ...results,
  ],
})
const result = { role: 'tool', tool_call_id: 'c1', content: 'found' }
const format = (more: Fields) => ({ response_format: { type: 'json_schema', json_schema: { name: 'n', ...more } } })

/** The requests of chat completions. */
export const CHAT: Sample[] = [
  {
    field: 'temperature',
    feature: 'temperature',
    body: { temperature: 0.3 },
    wire: { messages: '', responses: '"temperature":0.3' },
  },
  { field: 'top_p', feature: 'top_p', body: { top_p: 0.4 }, wire: { messages: '', responses: '"top_p":0.4' } },
  { field: 'top_k', feature: 'top_k', body: { top_k: 7 }, wire: { messages: '' } },
  {
    field: 'max_tokens',
    feature: 'short_limits',
    body: { max_tokens: 15 },
    wire: { messages: '"max_tokens":15', responses: '"max_output_tokens":16' },
  },
  { field: 'n', feature: 'n', body: { n: 2 } },
  {
    field: 'stop',
    feature: 'stop',
    body: { stop: ['END'] },
    wire: { messages: '"stop_sequences":["END"]', responses: '' },
  },
  {
    field: 'response_format',
    feature: 'json_object',
    body: { response_format: { type: 'json_object' } },
    wire: { responses: '"text":{"format":{"type":"json_object"}}' },
  },
  {
    field: 'response_format',
    feature: 'json_schema',
    body: format({ schema: SCHEMA, description: 'about' }),
    wire: { messages: '"description":"about"', responses: '"description":"about","schema":{"type":"object"' },
  },
  {
    field: 'verbosity',
    feature: 'verbosity',
    body: { verbosity: 'low' },
    wire: { responses: '"text":{"verbosity":"low"}' },
  },
  {
    field: 'reasoning_effort',
    feature: 'effort',
    body: { reasoning_effort: 'low' },
    wire: { messages: '"output_config":{"effort":"low"}', responses: '"reasoning":{"effort":"low"}' },
  },
  {
    field: 'user',
    feature: 'user',
    body: { user: 'somebody' },
    wire: { messages: '"metadata":{"user_id":"somebody"}', responses: '"safety_identifier":"somebody"' },
  },
  {
    field: 'safety_identifier',
    feature: 'user',
    body: { safety_identifier: 'person' },
    wire: { messages: '"user_id":"person"', responses: '"safety_identifier":"person"' },
  },
  {
    field: 'tools',
    feature: 'tools',
    body: { tools: [tool] },
    wire: { messages: '"tools":[{"name":"look"', responses: '"tools":[{"type":"function","name":"look"' },
  },
  {
    field: 'tools',
    feature: 'custom_tools',
    body: { tools: [{ type: 'custom', custom: { name: 'patch' } }] },
    wire: { messages: '"required":["input"]', responses: '"required":["input"]' },
  },
  {
    field: 'tools',
    feature: 'strict_tools',
    body: { tools: [{ ...tool, function: { ...tool.function, strict: true } }] },
    wire: { messages: '"strict":true', responses: '"strict":true' },
  },
  {
    field: 'functions',
    feature: 'functions',
    body: { functions: [tool.function] },
    wire: { messages: '"tools":[{"name":"look"', responses: '"name":"look"' },
  },
  {
    field: 'function_call',
    feature: 'tool_choice',
    body: { functions: [tool.function], function_call: { name: 'look' } },
    wire: {
      messages: '"tool_choice":{"type":"tool","name":"look"',
      responses: '"tool_choice":{"type":"function","name":"look"}',
    },
  },
  {
    field: 'tool_choice',
    feature: 'tool_choice',
    body: { tools: [tool], tool_choice: 'required' },
    wire: { messages: '"tool_choice":{"type":"any"}', responses: '"tool_choice":"required"' },
  },
  { field: 'tool_choice', feature: 'missing_tool', body: { tool_choice: 'required' } },
  {
    field: 'function_call',
    feature: 'missing_tool',
    body: { functions: [tool.function], function_call: { name: 'other' } },
  },
  {
    field: 'parallel_tool_calls',
    feature: 'one_tool_at_a_time',
    body: { tools: [tool], parallel_tool_calls: false },
    wire: { messages: '"disable_parallel_tool_use":true', responses: '"parallel_tool_calls":false' },
  },
  {
    field: 'messages',
    feature: 'cache_marks',
    body: { messages: saying({ type: 'text', text: 'hi', cache_control: { type: 'ephemeral' } }) },
    wire: { chat: '"cache_control"', messages: '"cache_control":{"type":"ephemeral"}' },
  },
  {
    field: 'messages',
    feature: 'images',
    body: { messages: saying({ type: 'image_url', image_url: { url: PIXEL_URI } }) },
    wire: { messages: `"media_type":"image/png","data":"${PIXEL}"`, responses: '"type":"input_image"' },
  },
  {
    field: 'messages',
    feature: 'image_detail',
    body: { messages: saying({ type: 'image_url', image_url: { url: PIXEL_URI, detail: 'low' } }) },
    wire: { responses: '"detail":"low"' },
  },
  {
    field: 'messages',
    feature: 'result_images',
    body: withCall({ ...result, content: [{ type: 'image_url', image_url: { url: PIXEL_URI } }] }),
    wire: { messages: PIXEL, responses: PIXEL },
  },
  {
    field: 'messages',
    feature: 'pdfs',
    body: { messages: saying(file(PDF)) },
    wire: {
      messages: '"media_type":"application/pdf","data":"JVBERi0x"',
      responses: '"type":"input_file","filename":"f.pdf"',
    },
  },
  {
    field: 'messages',
    feature: 'other_documents',
    body: { messages: saying(file(WORD)) },
    at: 'messages[0].content[0]',
    wire: { responses: '"type":"input_file"' },
  },
  {
    field: 'messages',
    feature: 'result_documents',
    body: withCall({ ...result, content: [file(PDF)] }),
    wire: { messages: 'JVBERi0x', responses: 'JVBERi0x' },
  },
  { field: 'messages', feature: 'loose_results', body: withCall(result, result), at: 'messages[3]' },
  { field: 'messages', feature: 'unanswered_calls', body: withCall(), at: 'messages[1].tool_calls[0]' },
  {
    field: 'messages',
    feature: 'names',
    body: { messages: [{ role: 'user', name: 'Ann', content: 'hi' }] },
    wire: { messages: 'Ann: hi', responses: 'Ann: hi' },
  },
  {
    field: 'messages',
    feature: 'assistant_names',
    body: { messages: [...saying({ type: 'text', text: 'hi' }), { role: 'assistant', name: 'Bob', content: 'yes' }] },
  },
  {
    field: 'messages',
    feature: 'parts',
    body: { messages: saying({ type: 'input_audio', input_audio: { data: 'AA', format: 'wav' } }) },
    at: 'messages[0].content[0]',
  },
  {
    field: 'messages',
    feature: 'messages_parts',
    body: { messages: saying({ type: 'document', source: { type: 'text', data: 'own words' } }) },
    at: 'messages[0].content[0]',
    wire: { messages: 'own words' },
  },
  {
    field: 'messages',
    feature: 'thoughts',
    body: {
      messages: [
        { role: 'user', content: 'hi' },
        {
          role: 'assistant',
          content: 'a',
          reasoning_details: [{ type: 'reasoning.text', text: 't', signature: 'SIG', format: 'anthropic-claude-v1' }],
        },
      ],
    },
    wire: { messages: '"signature":"SIG"' },
  },
  ...Object.entries({
    min_p: 0.2,
    seed: 3,
    presence_penalty: 1,
    frequency_penalty: 1,
    repetition_penalty: 1.1,
    logit_bias: { 5: 1 },
    logprobs: true,
    top_logprobs: 2,
    prediction: { type: 'content', content: 'x' },
    modalities: ['text'],
    metadata: { a: 'b' },
    store: true,
  }).map(([field, value]): Sample => ({ field, feature: field as Feature, body: { [field]: value } })),
  {
    field: 'prompt_cache_key',
    feature: 'prompt_cache_key',
    body: { prompt_cache_key: 'pk' },
    wire: { responses: '"prompt_cache_key":"pk"' },
  },
  {
    field: 'stream_options',
    feature: 'stream_options',
    body: { stream_options: { include_usage: true } },
    wire: { messages: '', chat: '', responses: '' },
  },
]

/** A file that is a text. */
export const CHAT_TEXT_FILE: Fields = { messages: saying(file(TEXT)) }
