/** For each dialect, requests that ask for one thing each, and how upstreams of other dialects are asked for it. */
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import type { Feature } from '../../../src/shared/chat/features.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import { PIXEL, PIXEL_URI } from '../../support/pixel.ts'

/**
 * `field`: of the body's schema. `wire`: what is in the JSON of the body that a protocol of this dialect is sent; empty
 * where nothing of it has to be in there. `at`: how a refusal names it, if not by its field.
 */
export type Sample = {
  field: string
  feature: Feature
  body: Fields
  at?: string
  wire?: Partial<Record<Dialect, string>>
}

const PDF = 'data:application/pdf;base64,JVBERi0x'
const WORD = 'data:application/msword;base64,AAAA'
const TEXT = `data:text/plain;base64,${Buffer.from('plain words').toString('base64')}`
const SCHEMA = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false }

const saying = (...content: Fields[]) => [{ role: 'user', content }]
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

const CHAT: Sample[] = [
  {
    field: 'temperature',
    feature: 'temperature',
    body: { temperature: 0.3 },
    wire: { messages: '', responses: '"temperature":0.3' },
  },
  { field: 'top_p', feature: 'top_p', body: { top_p: 0.4 }, wire: { messages: '', responses: '"top_p":0.4' } },
  { field: 'top_k', feature: 'top_k', body: { top_k: 7 }, wire: { messages: '' } },
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
      responses: '"type":"input_file","filename":"f"',
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

const use = { type: 'tool_use', id: 'c1', name: 'look', input: { a: 'x' } }
const answered = (...results: Fields[]) => ({
  messages: [
    { role: 'user', content: 'hi' },
    { role: 'assistant', content: [use] },
    { role: 'user', content: results },
  ],
})
const resultBlock = (content: unknown, more: Fields = {}) => ({
  type: 'tool_result',
  tool_use_id: 'c1',
  content,
  ...more,
})
const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PIXEL } }
const pdf = {
  type: 'document',
  title: 'Title',
  context: 'Context',
  source: { type: 'base64', media_type: 'application/pdf', data: 'JVBERi0x' },
}
const byAddress = { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } }
const looking = { name: 'look', input_schema: SCHEMA }

const MESSAGES: Sample[] = [
  {
    field: 'system',
    feature: 'cache_marks',
    body: { system: [{ type: 'text', text: 'be', cache_control: { type: 'ephemeral' } }] },
    wire: { chat: '"cache_control"' },
  },
  {
    field: 'temperature',
    feature: 'temperature',
    body: { temperature: 0.3 },
    wire: { chat: '"temperature":0.3', responses: '"temperature":0.3' },
  },
  { field: 'top_p', feature: 'top_p', body: { top_p: 0.4 }, wire: { chat: '"top_p":0.4', responses: '"top_p":0.4' } },
  { field: 'top_k', feature: 'top_k', body: { top_k: 7 }, wire: { chat: '"top_k":7' } },
  {
    field: 'stop_sequences',
    feature: 'stop',
    body: { stop_sequences: ['END'] },
    wire: { chat: '"stop":["END"]', responses: '' },
  },
  {
    field: 'output_config',
    feature: 'effort',
    body: { output_config: { effort: 'max' } },
    wire: { chat: '"reasoning_effort":"xhigh"', responses: '"reasoning":{"effort":"max"}' },
  },
  {
    field: 'output_config',
    feature: 'json_schema',
    body: { output_config: { format: { type: 'json_schema', schema: SCHEMA } } },
    wire: { chat: '"json_schema":{"name":"answer","schema":', responses: '"text":{"format":{"type":"json_schema"' },
  },
  {
    field: 'metadata',
    feature: 'user',
    body: { metadata: { user_id: 'somebody' } },
    wire: { chat: '"user":"somebody"', responses: '"safety_identifier":"somebody"' },
  },
  {
    field: 'tools',
    feature: 'tools',
    body: { tools: [looking] },
    wire: { chat: '"function":{"name":"look"', responses: '"type":"function","name":"look"' },
  },
  {
    field: 'tools',
    feature: 'strict_tools',
    body: { tools: [{ ...looking, strict: true }] },
    wire: { chat: '"strict":true', responses: '"strict":true' },
  },
  {
    field: 'tool_choice',
    feature: 'tool_choice',
    body: { tools: [looking], tool_choice: { type: 'tool', name: 'look' } },
    wire: {
      chat: '"tool_choice":{"type":"function","function":{"name":"look"}}',
      responses: '"tool_choice":{"type":"function","name":"look"}',
    },
  },
  {
    field: 'tool_choice',
    feature: 'one_tool_at_a_time',
    body: { tools: [looking], tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    wire: { chat: '"parallel_tool_calls":false', responses: '"parallel_tool_calls":false' },
  },
  { field: 'thinking', feature: 'thinking', body: { thinking: { type: 'adaptive' } } },
  { field: 'cache_control', feature: 'cache_control', body: { cache_control: { type: 'ephemeral' } } },
  {
    field: 'context_management',
    feature: 'context_management',
    body: { context_management: { edits: [{ type: 'clear_thinking_20251015' }] } },
  },
  {
    field: 'messages',
    feature: 'images',
    body: { messages: saying(image) },
    wire: { chat: PIXEL_URI, responses: PIXEL_URI },
  },
  {
    field: 'messages',
    feature: 'result_images',
    body: answered(resultBlock([image])),
    wire: { chat: `"role":"user","content":[{"type":"image_url"`, responses: PIXEL_URI },
  },
  {
    field: 'messages',
    feature: 'pdfs',
    body: { messages: saying(pdf) },
    wire: {
      chat: `Context"},{"type":"file","file":{"filename":"Title","file_data":"${PDF}"`,
      responses: `"filename":"Title","file_data":"${PDF}"`,
    },
  },
  {
    field: 'messages',
    feature: 'document_addresses',
    body: { messages: saying(byAddress) },
    at: 'messages.0.content.0',
    wire: { chat: '"file_data":"https://example.com/a.pdf"', responses: '"file_url":"https://example.com/a.pdf"' },
  },
  {
    field: 'messages',
    feature: 'result_documents',
    body: answered(resultBlock([pdf])),
    wire: { chat: PDF, responses: PDF },
  },
  {
    field: 'messages',
    feature: 'result_errors',
    body: answered(resultBlock('bad', { is_error: true })),
    wire: { chat: '"content":"Error: bad"', responses: 'Error:\\nbad' },
  },
  {
    field: 'messages',
    feature: 'loose_results',
    body: { messages: saying(resultBlock('x')) },
    at: 'messages.0.content.0',
    wire: { chat: '"role":"tool"' },
  },
  {
    field: 'messages',
    feature: 'citations',
    body: { messages: saying({ ...pdf, citations: { enabled: true } }) },
    at: 'messages.0.content.0.citations',
  },
  {
    field: 'messages',
    feature: 'tool_changes',
    body: { messages: saying({ type: 'tool_removal', name: 'look' }) },
    at: 'messages.0.content.0',
  },
  {
    field: 'messages',
    feature: 'thoughts',
    body: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm' }, use] },
        { role: 'user', content: [resultBlock('x')] },
      ],
    },
    wire: { chat: '"reasoning_content":"hm"', messages: '' },
  },
]

const item = (content: unknown) => ({ input: [{ type: 'message', role: 'user', content }] })
const output = (value: unknown, more: Fields[] = []) => ({
  input: [
    { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c1', output: value },
    ...more,
  ],
})
const inputFile = (file_data: string) => ({ type: 'input_file', filename: 'f', file_data })
const inputImage = { type: 'input_image', image_url: PIXEL_URI }
const plain = { type: 'function', name: 'look', parameters: SCHEMA }

const RESPONSES: Sample[] = [
  {
    field: 'temperature',
    feature: 'temperature',
    body: { temperature: 0.3 },
    wire: { chat: '"temperature":0.3', messages: '' },
  },
  { field: 'top_p', feature: 'top_p', body: { top_p: 0.4 }, wire: { chat: '"top_p":0.4', messages: '' } },
  {
    field: 'text',
    feature: 'json_object',
    body: { text: { format: { type: 'json_object' } } },
    at: 'text.format',
    wire: { chat: '"response_format":{"type":"json_object"}' },
  },
  {
    field: 'text',
    feature: 'json_schema',
    body: { text: { format: { type: 'json_schema', name: 'n', schema: SCHEMA } } },
    wire: { chat: '"json_schema":{"name":"n"', messages: '"output_config":{"format":{"type":"json_schema"' },
  },
  {
    field: 'text',
    feature: 'verbosity',
    body: { text: { verbosity: 'low' } },
    at: 'text.verbosity',
    wire: { chat: '"verbosity":"low"' },
  },
  {
    field: 'reasoning',
    feature: 'effort',
    body: { reasoning: { effort: 'minimal' } },
    wire: { chat: '"reasoning_effort":"minimal"', messages: '"effort":"low"' },
  },
  {
    field: 'user',
    feature: 'user',
    body: { user: 'somebody' },
    wire: { chat: '"user":"somebody"', messages: '"user_id":"somebody"' },
  },
  {
    field: 'safety_identifier',
    feature: 'user',
    body: { safety_identifier: 'person' },
    wire: { chat: '"user":"person"', messages: '"user_id":"person"' },
  },
  {
    field: 'tools',
    feature: 'tools',
    body: { tools: [plain] },
    wire: { chat: '"name":"look"', messages: '"name":"look"' },
  },
  {
    field: 'tools',
    feature: 'custom_tools',
    body: { tools: [{ type: 'custom', name: 'patch' }] },
    wire: { chat: '"required":["input"]', messages: '"required":["input"]' },
  },
  {
    field: 'tools',
    feature: 'namespaces',
    body: { tools: [{ type: 'namespace', name: 'ns', tools: [plain] }] },
    wire: { chat: '"name":"ns__look"', messages: '"name":"ns__look"' },
  },
  {
    field: 'tools',
    feature: 'strict_tools',
    body: { tools: [{ ...plain, strict: true }] },
    wire: { chat: '"strict":true', messages: '"strict":true' },
  },
  {
    field: 'tool_choice',
    feature: 'tool_choice',
    body: { tools: [plain], tool_choice: 'required' },
    wire: { chat: '"tool_choice":"required"', messages: '"type":"any"' },
  },
  {
    field: 'parallel_tool_calls',
    feature: 'one_tool_at_a_time',
    body: { tools: [plain], parallel_tool_calls: false },
    wire: { chat: '"parallel_tool_calls":false', messages: '"disable_parallel_tool_use":true' },
  },
  { field: 'input', feature: 'images', body: item([inputImage]), wire: { chat: PIXEL_URI, messages: PIXEL } },
  {
    field: 'input',
    feature: 'image_detail',
    body: item([{ ...inputImage, detail: 'low' }]),
    wire: { chat: '"detail":"low"' },
  },
  { field: 'input', feature: 'result_images', body: output([inputImage]), wire: { chat: PIXEL_URI, messages: PIXEL } },
  { field: 'input', feature: 'pdfs', body: item([inputFile(PDF)]), wire: { chat: PDF, messages: '"type":"document"' } },
  {
    field: 'input',
    feature: 'other_documents',
    body: item([inputFile(WORD)]),
    at: 'input.0.content.0',
    wire: { chat: WORD },
  },
  {
    field: 'input',
    feature: 'document_addresses',
    body: item([{ type: 'input_file', file_url: 'https://example.com/a.pdf' }]),
    at: 'input.0.content.0',
    wire: { chat: '"file_data":"https://example.com/a.pdf"', messages: '"source":{"type":"url"' },
  },
  {
    field: 'input',
    feature: 'result_documents',
    body: output([inputFile(PDF)]),
    wire: { chat: PDF, messages: 'JVBERi0x' },
  },
  {
    field: 'input',
    feature: 'loose_results',
    body: { input: [{ type: 'function_call_output', call_id: 'c9', output: 'x' }] },
    at: 'input.0',
    wire: { chat: '"tool_call_id":"c9"' },
  },
  {
    field: 'input',
    feature: 'configuration',
    body: {
      input: [
        { type: 'message', role: 'user', content: 'hi' },
        { type: 'configuration_update', tools: [plain] },
      ],
    },
    at: 'input.1',
  },
  { field: 'include', feature: 'include_logprobs', body: { include: ['message.output_text.logprobs'] } },
  { field: 'include', feature: 'include', body: { include: ['reasoning.encrypted_content'] } },
  ...Object.entries({
    top_logprobs: 2,
    prompt_cache_key: 'pk',
    metadata: { a: 'b' },
    client_metadata: { a: 'b' },
    truncation: 'auto',
    max_tool_calls: 3,
  }).map(([field, value]): Sample => ({ field, feature: field as Feature, body: { [field]: value } })),
  { field: 'store', feature: 'store', body: { store: true }, wire: { responses: '' } },
  {
    field: 'background',
    feature: 'background',
    body: { background: true },
    wire: { chat: '', messages: '', responses: '' },
  },
  {
    field: 'previous_response_id',
    feature: 'previous_response_id',
    body: { previous_response_id: 'resp_1' },
    wire: { chat: '', messages: '', responses: '' },
  },
  {
    field: 'stream_options',
    feature: 'stream_options',
    body: { stream_options: { include_obfuscation: false } },
    wire: { chat: '', messages: '', responses: '' },
  },
]

/** The requests of each dialect. */
export const SAMPLES: Readonly<Record<Dialect, readonly Sample[]>> = {
  chat: CHAT,
  messages: MESSAGES,
  responses: RESPONSES,
}

/** Files that are texts, as each dialect has them: every upstream is sent their words. */
export const TEXT_FILES: Readonly<Record<Dialect, Fields>> = {
  chat: { messages: saying(file(TEXT)) },
  messages: {
    messages: saying({
      type: 'document',
      title: 'T',
      source: { type: 'base64', media_type: 'text/plain', data: TEXT.split(',')[1] },
    }),
  },
  responses: item([inputFile(TEXT)]),
}
