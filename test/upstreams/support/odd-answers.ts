/** Answers of upstreams in forms that their vendors' own APIs do not have, and what clients get of them. */
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import { asFields, isText, listOf } from '../../../src/shared/platform/fields.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'

type Odd = [why: string, upstream: Dialect, events: Fields[], expected: Partial<Record<Dialect, string[]>>]

/** Chunks, and events of the other two protocols, in short. */
const piece = (delta: Fields, end: string | null = null, index = 0): Fields => ({
  id: 'c',
  choices: [{ index, delta, finish_reason: end }],
})
const called = (args: string): Fields => ({
  tool_calls: [{ index: 0, id: 'a', function: { name: 'look', arguments: args } }],
})
const begun = (content: Fields[] = []): Fields => ({ type: 'message_start', message: { id: 'msg_1', content } })
const tool = (json: string): Fields[] => [
  begun(),
  { type: 'content_block_start', index: 0, content_block: { type: 'tool_use', id: 'a', name: 'look', input: {} } },
  { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: json } },
]
const stopped = (reason: string): Fields => ({ type: 'message_delta', delta: { stop_reason: reason } })
const said = (delta: string, kind = 'output_text', more: Fields = {}): Fields => ({
  type: `response.${kind}.delta`,
  output_index: 0,
  ...more,
  delta,
})
const over = (type: string, more: Fields = {}): Fields => ({
  type: `response.${type}`,
  response: { output: [], ...more },
})

/** The first text among these. */
const first = (...values: unknown[]): string => values.find(isText) ?? ''

/** What a client is to know of an answer: each piece of it in a few words, and its end. */
export const BRIEF: Record<Dialect, (whole: Fields) => string[]> = {
  chat: ({ choices }) =>
    listOf(choices).flatMap(({ message, finish_reason: end }) => {
      const { content, reasoning_content: thought, tool_calls: calls } = asFields(message)
      const made = listOf(calls).map((call) => `call ${first(asFields(call.function).arguments)}`)
      return [...[thought, content].filter(isText), ...made, first(end)]
    }),
  messages: ({ content, stop_reason: end }) => [
    ...listOf(content).map(({ text, thinking, input }) => first(text, thinking, `call ${JSON.stringify(input)}`)),
    first(end),
  ],
  responses: ({ output, status, incomplete_details: why }) => [
    ...listOf(output).map(({ type, status: state, arguments: args, content }) => {
      const words = listOf(content).map(({ text, refusal }) => first(text, refusal))
      return `${type === 'function_call' ? `call ${first(args)}` : words.join('|')} ${first(state)}`
    }),
    first(asFields(why).reason, status),
  ],
}

/** Answers of an upstream that are odd, and what clients of each dialect get of them. */
export const ODD: readonly Odd[] = [
  ...['length', 'content_filter'].flatMap((end): Odd[] =>
    ['', '{"at":"R'].map((args) => [
      `a call that ${end} cut off at "${args}"`,
      'chat',
      [piece(called(args)), piece({}, end)],
      {
        chat: [`call ${args}`, end],
        messages: [args ? 'call {"at":"R"}' : 'call {}', end === 'length' ? 'max_tokens' : 'refusal'],
        responses: [`call ${args} incomplete`, end === 'length' ? 'max_output_tokens' : end],
      },
    ]),
  ),
  ...['max_tokens', 'refusal'].flatMap((end): Odd[] =>
    ['', '{"at":"R'].map((args) => [
      `a call that ${end} cut off at "${args}"`,
      'messages',
      [...tool(args), stopped(end)],
      {
        chat: [`call ${args}`, end === 'refusal' ? 'content_filter' : 'length'],
        responses: [`call ${args} incomplete`, end === 'refusal' ? 'content_filter' : 'max_output_tokens'],
      },
    ]),
  ),
  [
    'a call that is there again for older clients',
    'chat',
    [
      piece({ ...called('{"at":'), function_call: { name: 'look', arguments: '{"at":' } }),
      piece({ ...called('"x"}'), function_call: { arguments: '"x"}' } }),
      piece({}, 'tool_calls'),
    ],
    { messages: ['call {"at":"x"}', 'tool_use'], responses: ['call {"at":"x"} completed', 'completed'] },
  ],
  [
    'a call at the end of a turn',
    'messages',
    [...tool('{}'), stopped('end_turn')],
    { chat: ['call {}', 'tool_calls'] },
  ],
  ['no call for which it ends', 'chat', [piece({ content: 'a' }, 'tool_calls')], { messages: ['a', 'end_turn'] }],
  ...['MAX_TOKENS', 'model_length'].map((end): Odd => [
    `the limit as ${end}`,
    'chat',
    [piece({ content: 'a' }, end)],
    { messages: ['a', 'max_tokens'], responses: ['a incomplete', 'max_output_tokens'] },
  ]),
  ['a refusal as sensitive', 'chat', [piece({ content: 'a' }, 'sensitive')], { messages: ['a', 'refusal'] }],
  [
    'a refusal in words',
    'chat',
    [piece({ refusal: 'No' }), piece({}, 'stop')],
    { messages: ['No', 'refusal'], responses: ['No completed', 'completed'] },
  ],
  ['a refusal in a part', 'responses', [said('No', 'refusal'), over('completed')], { messages: ['No', 'refusal'] }],
  [
    'one choice of another number',
    'chat',
    [piece({ content: 'a' }, null, 1), piece({}, 'stop', 1)],
    { messages: ['a', 'end_turn'], responses: ['a completed', 'completed'] },
  ],
  [
    'blocks in the beginning alone',
    'messages',
    [begun([{ type: 'text', text: 'a' }]), stopped('end_turn')],
    { chat: ['a', 'stop'], messages: ['a', 'end_turn'], responses: ['a completed', 'completed'] },
  ],
  [
    'one end for every status',
    'responses',
    [said('a'), over('done', { status: 'completed' })],
    { chat: ['a', 'stop'], messages: ['a', 'end_turn'], responses: ['a completed', 'completed'] },
  ],
  [
    'a limit in such an end',
    'responses',
    [said('a'), over('done', { status: 'incomplete' })],
    { chat: ['a', 'length'], messages: ['a', 'max_tokens'], responses: ['a incomplete', 'incomplete'] },
  ],
  [
    'a thought of two parts',
    'responses',
    [
      ...[0, 1].map((part) => said(`t${part}`, 'reasoning_summary_text', { summary_index: part })),
      said('a', 'output_text', { output_index: 1 }),
      over('completed'),
    ],
    { chat: ['t0\n\nt1', 'a', 'stop'], messages: ['t0\n\nt1', 'a', 'end_turn'] },
  ],
]
