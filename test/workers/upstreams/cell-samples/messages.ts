import type { Fields } from '../../../../src/shared/platform/fields.ts'
import { PIXEL, PIXEL_URI } from '../../../support/pixel.ts'
import type { Sample } from './sample.ts'
import { PDF, SCHEMA, TEXT, saying } from './sample.ts'

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
const mark = { type: 'ephemeral' }
const looking = { name: 'look', input_schema: SCHEMA }

/** The requests of the Messages API. */
export const MESSAGES: Sample[] = [
  {
    field: 'system',
    feature: 'cache_marks',
    body: { system: [{ type: 'text', text: 'be', cache_control: { type: 'ephemeral' } }] },
    wire: { chat: '"cache_control"' },
  },
  ...[{ content: 'x', cache_control: mark }, { content: [{ type: 'text', text: 'x', cache_control: mark }] }].map(
    ({ content, ...more }): Sample => ({
      field: 'messages',
      feature: 'cache_marks',
      body: answered(resultBlock(content, more)),
      wire: { chat: '"tool_call_id":"c1","content":[{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}]' },
    }),
  ),
  {
    field: 'messages',
    feature: 'cache_marks',
    body: {
      messages: [
        { role: 'user', content: 'hi' },
        { role: 'assistant', content: [{ type: 'text', text: 'yes', cache_control: mark }] },
        { role: 'user', content: 'go on' },
      ],
    },
    wire: { chat: '"role":"assistant","content":[{"type":"text","text":"yes","cache_control":{"type":"ephemeral"}}]' },
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
  ...[
    ['bash_20250124', 'command'],
    ['text_editor_20250728', 'command'],
    ['memory_20250818', 'command'],
    ['computer_20251124', 'action'],
  ].map(([type, field]): Sample => {
    const schema = `"parameters":{"type":"object","properties":{"${field}":{"type":"string"`
    const body = { tools: [{ type, name: 'x' }] }
    return { field: 'tools', feature: 'tools', body, wire: { chat: schema, responses: schema } }
  }),
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
  { field: 'tool_choice', feature: 'unmet_choice', body: { tool_choice: { type: 'any' } } },
  {
    field: 'tool_choice',
    feature: 'unmet_choice',
    body: { tools: [looking], tool_choice: { type: 'tool', name: 'other' } },
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
      chat: `Context"},{"type":"file","file":{"filename":"Title.pdf","file_data":"${PDF}"`,
      responses: `"filename":"Title.pdf","file_data":"${PDF}"`,
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
  },
  {
    field: 'messages',
    feature: 'unanswered_calls',
    body: { messages: [...saying({ type: 'text', text: 'hi' }), { role: 'assistant', content: [use] }] },
    at: 'messages.1.content.0',
  },
  {
    field: 'max_tokens',
    feature: 'short_limits',
    body: { max_tokens: 1 },
    wire: { chat: '"max_tokens":1', responses: '"max_output_tokens":16' },
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

/** A file that is a text. */
export const MESSAGES_TEXT_FILE: Fields = {
  messages: saying({
    type: 'document',
    title: 'T',
    source: { type: 'base64', media_type: 'text/plain', data: TEXT.split(',')[1] },
  }),
}
