import type { Feature } from '../../../../src/shared/chat/features.ts'
import type { Fields } from '../../../../src/shared/platform/fields.ts'
import { PIXEL, PIXEL_URI } from '../../../support/pixel.ts'
import type { Sample } from './sample.ts'
import { PDF, SCHEMA, TEXT, WORD } from './sample.ts'

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

/** The requests of Responses. */
export const RESPONSES: Sample[] = [
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
    field: 'tool_choice',
    feature: 'missing_tool',
    body: { tools: [plain], tool_choice: { type: 'function', name: 'other' } },
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
  },
  {
    field: 'input',
    feature: 'unanswered_calls',
    body: { input: [{ type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }] },
    at: 'input.0',
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

/** A file that is a text. */
export const RESPONSES_TEXT_FILE: Fields = item([inputFile(TEXT)])
