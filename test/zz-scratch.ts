import { checkChat } from '../src/shared/chat/completions/check.ts'
import { checkMessages } from '../src/shared/chat/messages/check.ts'
import { checkResponses } from '../src/shared/chat/responses/check.ts'
import { requireCarried } from '../src/shared/chat/protocols.ts'
import { ANTHROPIC_CHAT } from '../src/workers/upstreams/anthropic/chat.ts'
import { OPENAI_CHAT } from '../src/workers/upstreams/openai/chat.ts'
import { asked } from '../src/workers/upstreams/protocol.ts'
import { RESPONSES_CHAT } from '../src/workers/upstreams/responses/chat.ts'
import { contextOf, routeTo } from './workers/upstreams/sandbox-upstreams.ts'
const PARTS: any = {
  openai: OPENAI_CHAT,
  openrouter: OPENAI_CHAT,
  anthropic: ANTHROPIC_CHAT,
  responses: RESPONSES_CHAT,
}
const MODEL: any = {
  partTokens: { image: 1, image_url: 1, file: 1, document: 1, input_file: 1, input_audio: 1 },
  upstreams: [{ allow: [] }],
}
const CHECK: any = {
  chat: (f: any) => checkChat({ model: 'm', max_tokens: 99, ...f }, MODEL),
  messages: (f: any) => checkMessages({ model: 'm', max_tokens: 99, ...f }, MODEL).request,
  responses: (f: any) => checkResponses({ model: 'm', ...f }, MODEL).request,
}
const U = (c: any) => ({ role: 'user', content: c })
const A = (c: any, m = {}) => ({ role: 'assistant', content: c, ...m })
const call = (id: string, args = '{}') => ({ id, type: 'function', function: { name: 'f', arguments: args } })
const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const img = { type: 'image_url', image_url: { url: PNG } }
const mimg = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: PNG.slice(22) } }
const rimg = { type: 'input_image', image_url: PNG }
const PDF = 'JVBERi0xLjQK'
const doc = (more: any) => ({
  type: 'document',
  source: { type: 'base64', media_type: 'application/pdf', data: PDF },
  ...more,
})
const CASES: any[] = [
  [
    '1 system image',
    'responses',
    { input: [{ role: 'developer', content: [{ type: 'input_text', text: 's' }, rimg] }, U('x')] },
  ],
  ['1b chat system image', 'chat', { messages: [{ role: 'system', content: [img] }, U('x')] }],
  [
    '2 assistant image',
    'responses',
    { input: [U('x'), { role: 'assistant', content: [{ type: 'output_text', text: 'see' }, rimg] }, U('y')] },
  ],
  ['2b chat assistant image', 'chat', { messages: [U('x'), A([{ type: 'text', text: 'see' }, img]), U('y')] }],
  ['2c messages assistant image', 'messages', { messages: [U('x'), A([{ type: 'text', text: 'see' }, mimg]), U('y')] }],
  [
    '3 text before result',
    'chat',
    {
      messages: [
        U('x'),
        A(null, { tool_calls: [call('a'), call('b')] }),
        { role: 'tool', tool_call_id: 'a', content: 'ra' },
        U('mid'),
        { role: 'tool', tool_call_id: 'b', content: 'rb' },
      ],
    },
  ],
  [
    '4 is_error empty',
    'messages',
    {
      messages: [
        U('x'),
        A([{ type: 'tool_use', id: 'a', name: 'f', input: {} }]),
        U([{ type: 'tool_result', tool_use_id: 'a', content: '', is_error: true }]),
      ],
    },
  ],
  ['5 long user', 'chat', { messages: [U('x')], user: 'u'.repeat(300) }],
  ['6 raw base64 file', 'chat', { messages: [U([{ type: 'file', file: { filename: 'a.pdf', file_data: PDF } }])] }],
  ['6b raw base64 file', 'responses', { input: [U([{ type: 'input_file', filename: 'a.pdf', file_data: PDF }])] }],
  ['6c filename only', 'responses', { input: [U([{ type: 'input_file', filename: 'a.pdf' }])] }],
  ['6d filename only chat', 'chat', { messages: [U([{ type: 'file', file: { filename: 'a.pdf' } }])] }],
  ['7 titled pdf', 'messages', { messages: [U([doc({ title: 'Contract 2024' })])] }],
  [
    '7b docx',
    'messages',
    { messages: [U([{ type: 'document', source: { type: 'base64', media_type: 'application/rtf', data: PDF } }])] },
  ],
  [
    '8 twice encoded',
    'chat',
    {
      messages: [
        U('x'),
        A(null, { tool_calls: [call('a', JSON.stringify('{"p":1}'))] }),
        { role: 'tool', tool_call_id: 'a', content: 'ra' },
      ],
    },
  ],
  [
    '8b big int',
    'chat',
    {
      messages: [
        U('x'),
        A(null, { tool_calls: [call('a', '{"id":1234567890123456789}')] }),
        { role: 'tool', tool_call_id: 'a', content: 'ra' },
      ],
    },
  ],
  [
    '8c string input',
    'messages',
    {
      messages: [
        U('x'),
        A([{ type: 'tool_use', id: 'a', name: 'f', input: '{"p":1}' }]),
        U([{ type: 'tool_result', tool_use_id: 'a', content: 'r' }]),
      ],
    },
  ],
  ['9 tool_use of user', 'messages', { messages: [U([{ type: 'tool_use', id: 'a', name: 'f', input: {} }])] }],
  [
    '9b result of assistant',
    'messages',
    {
      messages: [
        U('x'),
        A([
          { type: 'tool_use', id: 'a', name: 'f', input: {} },
          { type: 'tool_result', tool_use_id: 'a', content: 'r' },
        ]),
      ],
    },
  ],
  ['10 tiny limit', 'chat', { messages: [U('x')], max_tokens: 1 }],
  [
    '11 native schema',
    'responses',
    {
      input: 'x',
      tools: [
        { type: 'function', name: 'f', parameters: { type: 'object' } },
        { type: 'namespace', name: 'n', tools: [{ type: 'function', name: 'g', parameters: {} }] },
      ],
    },
  ],
  ['11b legacy schema', 'chat', { messages: [U('x')], functions: [{ name: 'f', parameters: { type: 'object' } }] }],
  ['12 no words', 'messages', { messages: [U('')] }],
  ['12b no words', 'chat', { messages: [U('')] }],
  [
    '13 message cache mark',
    'chat',
    { messages: [{ role: 'system', content: 'long', cache_control: { type: 'ephemeral' } }, U('x')] },
  ],
  [
    '14 input_examples',
    'messages',
    { messages: [U('x')], tools: [{ name: 'f', input_schema: { type: 'object' }, input_examples: [{ a: 'EX' }] }] },
  ],
  [
    '15 names',
    'chat',
    {
      messages: [
        { role: 'user', name: 'alice', content: 'hi' },
        { role: 'user', name: 'bob', content: 'ho' },
      ],
    },
  ],
  [
    '16 late result',
    'responses',
    {
      input: [
        U('x'),
        { type: 'function_call', call_id: 'a', name: 'f', arguments: '{}' },
        { type: 'function_call', call_id: 'b', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'a', output: 'ra' },
        { role: 'assistant', content: 'waiting' },
        { type: 'function_call_output', call_id: 'b', output: 'rb' },
      ],
    },
  ],
  ['17 blank first', 'messages', { messages: [U(' '), A('x'), U('y')] }],
  [
    '18 nullable object',
    'chat',
    {
      messages: [U('x')],
      response_format: {
        type: 'json_schema',
        json_schema: {
          name: 'a',
          schema: {
            type: 'object',
            properties: {
              o: { type: ['object', 'null'] },
              t: { type: 'array', items: { type: 'string' }, prefixItems: [] },
            },
          },
        },
      },
    },
  ],
  [
    '19 calls without ids',
    'chat',
    {
      messages: [
        U('x'),
        A(null, { tool_calls: [{ type: 'function', function: { name: 'f', arguments: '{}' } }] }),
        { role: 'tool', content: 'r' },
      ],
    },
  ],
  [
    '20 result picture and text',
    'messages',
    {
      messages: [
        U('x'),
        A([{ type: 'tool_use', id: 'a', name: 'f', input: {} }]),
        U([
          { type: 'tool_result', tool_use_id: 'a', content: [mimg, { type: 'text', text: 'r' }, doc({})] },
          { type: 'text', text: 'after' },
        ]),
      ],
    },
  ],
  ['21 unanswered call', 'chat', { messages: [U('x'), A('a', { tool_calls: [call('a')] }), U('never mind')] }],
  [
    '22 legacy twice',
    'chat',
    {
      messages: [
        U('x'),
        A(null, { function_call: { name: 'f', arguments: '{}' } }),
        { role: 'function', name: 'f', content: '1' },
        A(null, { function_call: { name: 'f', arguments: '{}' } }),
        { role: 'function', name: 'f', content: '2' },
      ],
      functions: [{ name: 'f' }],
    },
  ],
  [
    '23 mid system',
    'messages',
    {
      messages: [
        U('x'),
        A([{ type: 'tool_use', id: 'a', name: 'f', input: {} }]),
        { role: 'system', content: 'note' },
        U([{ type: 'tool_result', tool_use_id: 'a', content: 'r' }]),
      ],
    },
  ],
]
const only = process.argv[2]
for (const [name, dialect, fields] of CASES) {
  if (only && !name.startsWith(only)) continue
  console.log(`\n== ${name} (${dialect})`)
  let request: any
  try {
    request = CHECK[dialect](fields)
  } catch (e: any) {
    console.log('  check:', e.code, e.param, e.message)
    continue
  }
  for (const protocol of ['openai', 'anthropic', 'responses'] as const) {
    const route: any = routeTo(protocol, 'http://x.test', { allow: [] })
    try {
      requireCarried([route], request, dialect)
    } catch (e: any) {
      console.log('  ', protocol, 'REFUSED', e.param)
      continue
    }
    try {
      const { body }: any = asked(PARTS[protocol], request, { ...contextOf(route), dialect } as any, false)
      console.log('  ', protocol, JSON.stringify(body).replaceAll(PNG.slice(22), 'PNG').slice(0, 900))
    } catch (e: any) {
      console.log('  ', protocol, 'ERROR', e.message)
    }
  }
}
process.exit(0)
