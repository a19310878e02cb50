/**
 * Streams of one answer as each vendor sends it: a thought, a text and two calls. `needed`: the events without which
 * nobody can know all of it.
 */
type Fields = Record<string, unknown>

/** What they say. */
export const SAID = {
  text: 'I look at é 你好 😀.',
  calls: [
    { name: 'look', input: { at: 'Rome' } },
    { name: 'look', input: {} },
  ],
}

const WORDS = ['I look ', 'at é 你', '好 😀.']
const ARGS = ['{"at":', '"Rome"}']

/** The events of a stream. `needed` may depend on which others are left out. */
export type VendorStream = { events: Fields[]; end: string[]; isNeeded: (event: Fields, left: Fields[]) => boolean }

const chunk = (choice: object, more: object = {}): Fields => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'm',
  choices: [{ index: 0, finish_reason: null, ...choice }],
  ...more,
})
const call = (index: number, more: object): Fields => chunk({ delta: { tool_calls: [{ index, ...more }] } })

const chat = (): VendorStream => {
  const finish = chunk({ delta: {}, finish_reason: 'tool_calls' })
  const optional: Fields[] = [
    chunk({ delta: { role: 'assistant', content: '' } }),
    finish,
    { ...chunk({}), choices: [], usage: { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 } },
  ]
  const events = [
    optional[0]!,
    chunk({ delta: { reasoning_content: 'Hm.' } }),
    ...WORDS.map((content) => chunk({ delta: { content } })),
    call(0, { id: 'call_a', type: 'function', function: { name: 'look', arguments: '' } }),
    ...ARGS.map((text) => call(0, { function: { arguments: text } })),
    call(1, { id: 'call_b', type: 'function', function: { name: 'look', arguments: '{}' } }),
    ...optional.slice(1),
  ]
  return { events, end: ['[DONE]'], isNeeded: (event) => !optional.includes(event) }
}

const block = (index: number, content_block: object): Fields => ({ type: 'content_block_start', index, content_block })
const delta = (index: number, fields: object): Fields => ({ type: 'content_block_delta', index, delta: fields })
const stop = (index: number): Fields => ({ type: 'content_block_stop', index })

const messages = (): VendorStream => {
  const usage = { input_tokens: 20, output_tokens: 1 }
  const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null, usage }
  const last = { type: 'message_stop' }
  const ended = { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null } }
  const events = [
    { type: 'message_start', message },
    { type: 'ping' },
    block(0, { type: 'thinking', thinking: '', signature: '' }),
    delta(0, { type: 'thinking_delta', thinking: 'Hm.' }),
    delta(0, { type: 'signature_delta', signature: 'c2ln' }),
    stop(0),
    block(1, { type: 'text', text: '' }),
    ...WORDS.map((text) => delta(1, { type: 'text_delta', text })),
    stop(1),
    block(2, { type: 'tool_use', id: 'toolu_a', name: 'look', input: {} }),
    ...ARGS.map((text) => delta(2, { type: 'input_json_delta', partial_json: text })),
    stop(2),
    block(3, { type: 'tool_use', id: 'toolu_b', name: 'look', input: {} }),
    delta(3, { type: 'input_json_delta', partial_json: '' }),
    stop(3),
    { ...ended, usage: { input_tokens: 20, output_tokens: 9 } },
    last,
  ]
  const isNeeded = (event: Fields, left: Fields[]): boolean =>
    event.type === 'content_block_delta' ||
    (event.content_block as Fields | undefined)?.type === 'tool_use' ||
    (event === last && !left.some(({ type }) => type === 'message_delta'))
  return { events, end: [], isNeeded }
}

/** The events of an item, of which `words` come in pieces: `kind` names them, `at` the part. */
function item(index: number, done: Fields, kind: string, words: string[], at: Fields | null, part: Fields): Fields[] {
  const place = { item_id: done.id, output_index: index, ...at }
  const field = done.type === 'function_call' ? 'arguments' : 'text'
  const whole = words.join('')
  const [list] = Object.keys(part)
  const begun = { ...done, status: 'in_progress', ...(list ? { [list]: [] } : { arguments: '' }) }
  const around = kind.includes('summary') ? 'reasoning_summary_part' : 'content_part'
  const parts = (name: string, text: string): Fields[] =>
    list ? [{ type: `response.${around}.${name}`, ...place, part: { ...(part[list] as Fields), text } }] : []
  return [
    { type: 'response.output_item.added', output_index: index, item: begun },
    ...parts('added', ''),
    ...words.map((text) => ({ type: `response.${kind}.delta`, ...place, delta: text })),
    { type: `response.${kind}.done`, ...place, [field]: whole },
    ...parts('done', whole),
    { type: 'response.output_item.done', output_index: index, item: done },
  ]
}

const responses = (): VendorStream => {
  const summary = { type: 'summary_text', text: 'Hm.' }
  const said = { type: 'output_text', text: WORDS.join(''), annotations: [] }
  const called = (id: string, args: string) => ({
    id: `fc_${id}`,
    type: 'function_call',
    status: 'completed',
    call_id: `call_${id}`,
    name: 'look',
    arguments: args,
  })
  const output = [
    { id: 'rs_1', type: 'reasoning', summary: [summary] },
    { id: 'msg_1', type: 'message', status: 'completed', role: 'assistant', content: [said] },
    called('a', ARGS.join('')),
    called('b', '{}'),
  ] as const
  const response = { id: 'resp_1', object: 'response', created_at: 1_790_000_000, status: 'completed', model: 'm' }
  const usage = { input_tokens: 20, output_tokens: 9, total_tokens: 29 }
  const begun = { ...response, status: 'in_progress', output: [], usage: null }
  const completed = { type: 'response.completed', response: { ...response, output, usage } }
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...item(0, output[0], 'reasoning_summary_text', ['Hm.'], { summary_index: 0 }, { summary }),
    ...item(1, output[1], 'output_text', WORDS, { content_index: 0 }, { content: said }),
    ...item(2, output[2], 'function_call_arguments', ARGS, null, {}),
    ...item(3, output[3], 'function_call_arguments', ['{}'], null, {}),
    completed,
  ].map((event, number) => ({ ...event, sequence_number: number }))
  // Pieces of words are told again by the end of their item, but not some of them.
  const isNeeded = (event: Fields, left: Fields[]): boolean =>
    event.type === 'response.completed' ||
    (String(event.type).endsWith('.delta') &&
      left.some((one) => one.type === event.type && one.output_index === event.output_index))
  return { events, end: [], isNeeded }
}

/** By the dialect that their vendor speaks. */
export const VENDOR_STREAMS = { chat, messages, responses }
