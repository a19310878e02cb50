/** What other gateways have got wrong about Responses, each as a promise. */
import { expect } from 'chai'
import { dialectOf } from '../../../../src/shared/chat/dialect.ts'
import { sealFor } from '../../../../src/shared/chat/seal.ts'
import type { Fields } from '../../../../src/shared/platform/fields.ts'
import { newId } from '../../../../src/shared/platform/ids.ts'
import type { ChatRequest } from '../../../../src/shared/requests/requests.ts'
import type { ChatEvent } from '../../../../src/workers/upstreams/adapter.ts'
import { MessagesDecoder } from '../../../../src/workers/upstreams/anthropic/decode-answer.ts'
import { bodyOf as messagesBodyOf } from '../../../../src/workers/upstreams/anthropic/encode-request.ts'
import { canonicalFor } from '../../../../src/workers/upstreams/protocol.ts'
import { ChunksDecoder } from '../../../../src/workers/upstreams/openai/decode-answer.ts'
import { bodyOf } from '../../../../src/workers/upstreams/openai/encode-request.ts'
import { ResponsesPassThrough } from '../../../../src/workers/upstreams/responses/pass.ts'
import type { Translation } from '../../../../src/workers/upstreams/translation.ts'
import { eventsIn, streamOf } from '../answer-bodies.ts'
import { contextOf, routeTo } from '../sandbox-upstreams.ts'

const CALL = 'call_0123456789abcdef0123456789abcdef'
const SECRET = 'a secret of at least thirty-two characters'
const [ACCOUNT, OTHER] = [newId('account'), newId('account')]
const ROUTE = routeTo('openai', 'http://127.0.0.1/v1')
const ANTHROPIC = routeTo('anthropic', 'http://127.0.0.1')

const asked = (input: unknown, more: Fields = {}): ChatRequest => ({ messages: [], max_tokens: 100, input, ...more })

const sealOf = (name: string, accountId = ACCOUNT) => sealFor(SECRET, { accountId, route: name })

const contextFor = (route = ROUTE, seal = sealOf('a')) => ({
  ...contextOf(route),
  callId: CALL,
  dialect: 'responses' as const,
  seal,
})

const TOOLS = [
  { type: 'function', name: 'f', parameters: {} },
  { type: 'custom', name: 'apply_patch' },
]

/** What reads a stream of each protocol for a client of Responses. */
const overChat = (request = asked('hello', { tools: TOOLS })): Translation =>
  canonicalFor(request, contextFor()).translated(new ChunksDecoder())
const overMessages = (request = asked('hello', { tools: TOOLS })): Translation =>
  canonicalFor(request, contextFor()).translated(new MessagesDecoder())
const overResponses = (): Translation =>
  new ResponsesPassThrough({ request: asked('hello'), callId: CALL, seal: sealOf('a').seal })

const chunk = (delta: Fields, finish: string | null = null) => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason: finish }],
})
const call = (index: number, id: string, name: string, args = '') => ({
  tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }],
})
const args = (index: number, text: string) => ({ tool_calls: [{ index, function: { arguments: text } }] })

const framesOf = (events: ChatEvent[]): Fields[] => events.flatMap((event) => ('frame' in event ? [event.frame] : []))

/** The frames of a stream, and the answer that they make. */
async function read(translation: Translation, ...values: unknown[]) {
  const { events, error } = await eventsIn(translation, streamOf(...values))
  if (error) throw error
  const frames = framesOf(events)
  const assembly = dialectOf('responses').answers.assemble(1_000_000)
  for (const frame of frames) assembly.add(frame)
  const types = frames.map(({ type }) => String(type).replace('response.', ''))
  return { frames, types, answer: assembly.answer('stop'), items: assembly.answer('stop').output as Fields[] }
}

const THOUGHT_TEXT_AND_CALLS = [
  chunk({ role: 'assistant', reasoning_content: 'hm' }),
  chunk({ content: 'Let me ' }),
  chunk({ content: 'look.' }),
  chunk(call(0, 'call_a', 'f')),
  chunk(call(1, 'call_b', 'f')),
  chunk(args(0, '{"a":')),
  chunk(args(1, '{"b":')),
  chunk(args(0, '1}')),
  chunk(args(1, '2}')),
  chunk({}, 'tool_calls'),
]

describe('an answer in the form of Responses', () => {
  it('has a part that begins before its first words and ends behind them, and at its end every item', async () => {
    const { types, items } = await read(overChat(), chunk({ content: 'a' }), chunk({ content: 'b' }, 'stop'))
    const around = 'content_part.added output_text.delta output_text.delta output_text.done content_part.done'.split(
      ' ',
    )
    expect(types.slice(2)).to.deep.equal(['output_item.added', ...around, 'output_item.done', 'completed'])
    expect(items).to.have.length(1)
    expect(items[0]!.content).to.deep.equal([{ type: 'output_text', text: 'ab', annotations: [] }])
  })

  it('names each item by one id that is not empty, in all its events', async () => {
    const { frames, items } = await read(overChat(), ...THOUGHT_TEXT_AND_CALLS)
    for (const [index, item] of items.entries()) {
      const ids = frames
        .filter((frame) => frame.output_index === index)
        .map((frame) => frame.item_id ?? (frame.item as Fields).id)
      expect(new Set(ids)).to.deep.equal(new Set([item.id]))
      expect(item.id).to.match(/^(msg|rs|fc)_[0-9a-f]{36}$/)
    }
  })

  it('opens reasoning as an item of its own, and closes each item before the next', async () => {
    const { frames, items } = await read(overChat(), ...THOUGHT_TEXT_AND_CALLS)
    expect(items.map(({ type }) => type)).to.deep.equal(['reasoning', 'message', 'function_call', 'function_call'])
    let open: unknown = null
    for (const { type, output_index: index } of frames.filter((frame) => 'output_index' in frame)) {
      if (type === 'response.output_item.added') {
        expect(open).to.equal(null)
        open = index
      }
      expect(index).to.equal(open)
      if (type === 'response.output_item.done') open = null
    }
    expect(open).to.equal(null)
  })

  it('has an item for each of the parallel calls, which are one message when they come back', async () => {
    const { items } = await read(overChat(), ...THOUGHT_TEXT_AND_CALLS)
    expect(items.slice(2).map(({ arguments: text }) => text)).to.deep.equal(['{"a":1}', '{"b":2}'])
    const outputs = ['call_a', 'call_b'].map((id) => ({ type: 'function_call_output', call_id: id, output: 'ok' }))
    const { chat } = canonicalFor(asked([...items, ...outputs]), contextFor())
    const messages = bodyOf(chat, ROUTE).messages as Fields[]
    expect(messages.map(({ role }) => role)).to.deep.equal(['assistant', 'tool', 'tool'])
    expect(messages[0]!.tool_calls).to.have.length(2)
    expect(messages[0]).to.include({ content: 'Let me look.', reasoning_content: 'hm' })
  })

  it('ends once: incomplete where it ran into its limit, and as a failure where it failed', async () => {
    for (const [translation, values] of [
      [overChat(), [chunk({ content: 'a' }), chunk({}, 'length')]],
      [overMessages(), messageSaying('max_tokens')],
      [overResponses(), responseSaying('incomplete')],
    ] as const) {
      const { types, answer } = await read(translation, ...values)
      expect(types.filter((type) => /^(completed|incomplete|failed)$/.test(type))).to.deep.equal(['incomplete'])
      expect(answer).to.deep.include({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
      })
    }
    const failed = { type: 'response.failed', response: { error: { code: 'server_error', message: 'no' } } }
    for (const [translation, values] of [
      [overChat(), [chunk({ content: 'a' })]],
      [overResponses(), [responseSaying('completed')[0], failed]],
    ] as const) {
      const { error } = await eventsIn(translation, streamOf(...values))
      expect(error).to.include({ kind: 'unknown' })
    }
  })

  it('takes reasoning back, whatever there is of it, and never as text of the prompt', () => {
    for (const more of [{ content: null }, { encrypted_content: 'of somebody else' }, { content: [], summary: [] }]) {
      const summary = [{ type: 'summary_text', text: 'SECRET' }]
      const items = [
        { role: 'user', content: 'a' },
        { type: 'reasoning', id: 'rs_1', summary, ...more },
        { type: 'message', role: 'assistant', content: 'b' },
        { role: 'user', content: 'c' },
      ]
      const { chat } = canonicalFor(asked(items), contextFor())
      for (const body of [bodyOf(chat, ROUTE), messagesBodyOf(chat, ANTHROPIC)])
        expect(JSON.stringify(body)).to.not.contain('SECRET')
    }
  })

  it('gives a custom tool its raw text back, not a function its JSON', async () => {
    const { items, types } = await read(
      overChat(),
      chunk(call(0, 'call_p', 'apply_patch')),
      chunk(args(0, '{"input":"*** Begin')),
      chunk(args(0, ' Patch\\n\\"x\\""}')),
      chunk({}, 'tool_calls'),
    )
    expect(items[0]).to.include({ type: 'custom_tool_call', name: 'apply_patch', input: '*** Begin Patch\n"x"' })
    expect(types).to.include('custom_tool_call_input.delta').and.to.include('custom_tool_call_input.done')
    expect(types.join()).to.not.contain('function_call')
  })

  it('has calls that a limit has cut as incomplete items, those of custom tools with their text', async () => {
    const streams: [Translation, unknown[]][] = [
      [overChat(), [chunk(call(0, 'a', 'f', '{"a":1}')), chunk(call(1, 'b', 'f', '{"b":')), chunk({}, 'length')]],
      [overChat(), [chunk(call(0, 'b', 'apply_patch', '{"input":"*** Begin\\nPat')), chunk({}, 'length')]],
    ]
    const made = await Promise.all(streams.map(([translation, values]) => read(translation, ...values)))
    const of = (at: number) => made[at]!.items.map(({ status, arguments: args, input }) => [status, args ?? input])
    expect(of(0)).to.deep.equal([
      ['completed', '{"a":1}'],
      ['incomplete', '{"b":'],
    ])
    expect(of(1)).to.deep.equal([['incomplete', '*** Begin\nPat']])
    for (const [args, input] of [
      ['', ''],
      ['{"patch":"p"}', 'p'],
      ['"p"', 'p'],
    ]) {
      const { items } = await read(overChat(), chunk(call(0, 'x', 'apply_patch', args), 'tool_calls'))
      expect(items[0], args).to.include({ status: 'completed', input })
    }
  })

  it('drops no call where a text came first, or where arguments come at the end alone', async () => {
    const late = { type: 'function_call', id: 'fc_1', call_id: 'x', name: 'f', arguments: '{"a":1}' }
    const { items } = await read(
      overChat(),
      chunk({ content: 'text' }),
      chunk(call(0, 'x', 'f')),
      chunk(args(0, '{"a":1}'), 'tool_calls'),
    )
    expect(items.map(({ type }) => type)).to.deep.equal(['message', 'function_call'])
    const begun = { type: 'response.output_item.added', output_index: 0, item: { ...late, arguments: '' } }
    const done = { type: 'response.output_item.done', output_index: 0, item: late }
    const [created, , completed] = responseSaying('completed')
    for (const values of [
      [created, begun, done, completed],
      [created, done, completed],
    ]) {
      const passed = await read(overResponses(), ...values)
      expect(passed.items[0]).to.include({ name: 'f', arguments: '{"a":1}' })
      expect(passed.types).to.include('function_call_arguments.delta')
    }
  })

  it('opens the thoughts of a route for that route and account alone', async () => {
    const thinking = { type: 'thinking', thinking: '', signature: '' }
    const { items } = await read(
      overMessages(),
      { type: 'message_start', message: { id: 'm', usage: { input_tokens: 3, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: thinking },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'SIGNED' } },
      { type: 'content_block_stop', index: 0 },
      ...messageSaying('end_turn').slice(1),
    )
    expect(items[0]).to.deep.include({ type: 'reasoning', summary: [{ type: 'summary_text', text: 'hm' }] })
    expect(items[0]!.encrypted_content).to.be.a('string').that.does.not.contain('SIGNED')
    for (const [name, account, isOpened] of [
      ['a', ACCOUNT, true],
      ['b', ACCOUNT, false],
      ['a', OTHER, false],
    ] as const) {
      const history = [{ role: 'user', content: 'a' }, ...items, { role: 'user', content: 'b' }]
      const { chat } = canonicalFor(asked(history), contextFor(ROUTE, sealOf(name, account)))
      const sent = JSON.stringify(messagesBodyOf(chat, ANTHROPIC))
      expect(sent.includes('SIGNED')).to.equal(isOpened)
      expect(sent).to.not.contain(items[0]!.encrypted_content)
    }
  })

  it('has no event that the API does not know', async () => {
    const [created, delta, completed] = responseSaying('completed')
    const odd = [
      { type: 'keepalive' },
      { type: 'ping' },
      chunk({ content: 'chat' }),
      { type: 'response.odd', delta: 'x' },
    ]
    const { types } = await read(overResponses(), created, ...odd, delta, ...odd, completed)
    expect(
      types.filter((type) => !/^(created|in_progress|output_item|content_part|output_text|completed)/.test(type)),
    ).to.deep.equal([])
  })
})

/** A message of Messages that says `a`. */
function messageSaying(reason: string): Fields[] {
  return [
    { type: 'message_start', message: { id: 'm', usage: { input_tokens: 3, output_tokens: 1 } } },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'a' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 1 } },
  ]
}

/** A response that says `a`, told in the fewest events. */
function responseSaying(status: string): Fields[] {
  const content = [{ type: 'output_text', text: 'a', annotations: [] }]
  const item = { id: 'msg_1', type: 'message', role: 'assistant', status: 'completed', content }
  const incomplete_details = status === 'incomplete' ? { reason: 'max_output_tokens' } : null
  const response = { id: 'resp_1', object: 'response', created_at: 1, status, incomplete_details, output: [item] }
  return [
    { type: 'response.created', response: { ...response, status: 'in_progress', output: [] } },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: `response.${status}`, response: { ...response, usage: { input_tokens: 3, output_tokens: 1 } } },
  ]
}
