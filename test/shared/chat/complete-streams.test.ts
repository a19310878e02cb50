import { expect } from 'chai'
import { MessageCompleter } from '../../../src/shared/chat/messages/complete-stream.ts'
import { ResponseCompleter } from '../../../src/shared/chat/responses/complete-stream.ts'
import type { Completer } from '../../../src/shared/chat/answer-form.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'

const all = (completer: Completer, events: Fields[]): Fields[] => [
  ...events.flatMap((event) => completer.take(event, false)),
  ...completer.end(),
]

const messageOf = (...events: Fields[]) => all(new MessageCompleter(7), events)
const responseOf = (...events: Fields[]) =>
  all(new ResponseCompleter(), events).map(({ type, ...event }): Fields => ({ type: String(type).slice(9), ...event }))

const start = (more: Fields = {}): Fields => ({ type: 'message_start', message: { id: 'msg_1', ...more } })
const block = (content: Fields, more: Fields = { index: 0 }): Fields => ({
  type: 'content_block_start',
  ...more,
  content_block: content,
})
const text = (words: string, more: Fields = { index: 0 }): Fields => ({
  type: 'content_block_delta',
  ...more,
  delta: { type: 'text_delta', text: words },
})
const last = { type: 'message_stop' }

describe('the events of a message, completed', () => {
  it('begin with a usage, as reported or as we count, and nothing else that was reported of it', () => {
    const usageOf = (usage: unknown) => (messageOf(start({ usage }))[0]!.message as Fields).usage
    const own = { input_tokens: 7, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 }
    for (const usage of [undefined, null, {}, { input_tokens: '9', secret: 1 }])
      expect(usageOf(usage)).to.deep.equal(own)
    expect(usageOf({ input_tokens: 3, secret: 1 })).to.deep.equal({ ...own, input_tokens: 3 })
  })

  it('have empty blocks with ids and places of their own, and what they had in deltas', () => {
    const events = messageOf(
      start(),
      block({ type: 'text', text: 'ab' }, { index: 3 }),
      text('c', { index: 3 }),
      block({ type: 'tool_use', name: 'f', input: { a: 1 } }, {}),
      last,
    )
    const [, begun, ab, c, , call, input] = events
    expect([begun!.index, begun!.content_block]).to.deep.equal([0, { type: 'text', text: '' }])
    expect([ab, c].map((event) => [event!.index, (event!.delta as Fields).text])).to.deep.equal([
      [0, 'ab'],
      [0, 'c'],
    ])
    expect(call!.content_block).to.deep.include({ type: 'tool_use', name: 'f', input: {} })
    expect((call!.content_block as Fields).id).to.match(/^toolu_\w{32}$/)
    expect(input!.delta).to.deep.equal({ type: 'input_json_delta', partial_json: '{"a":1}' })
  })

  it('end for a tool or a turn where no reason is given, and not at all where nothing was said', () => {
    const reasonOf = (...events: Fields[]) =>
      messageOf(start(), ...events, last).flatMap(({ delta }) => (delta as Fields | undefined)?.stop_reason ?? [])
    expect(reasonOf(text('a'), { type: 'message_delta', delta: {} })).to.deep.equal(['end_turn'])
    expect(reasonOf(block({ type: 'tool_use', id: 'a', name: 'f', input: {} }))).to.deep.equal(['tool_use'])
    expect(reasonOf()).to.deep.equal([])
  })

  it('are those of the upstream where nothing is missing', () => {
    const events = [block({ type: 'text', text: '' }), text('a'), { type: 'content_block_stop', index: 0 }]
    const passed = messageOf(start(), ...events)
    for (const [at, event] of events.entries()) expect(passed[at + 1]).to.equal(event)
  })
})

const delta = (words: string, more: Fields = {}): Fields => ({
  type: 'response.output_text.delta',
  delta: words,
  ...more,
})
const completed = (...output: Fields[]): Fields => ({ type: 'response.completed', response: { output } })

describe('the events of a response, completed', () => {
  it('have their item and part around deltas that came alone, without a place, and an output that is empty', () => {
    const events = responseOf(delta('a'), delta('b'), completed())
    expect(events.map(({ type }) => type)).to.deep.equal(
      (
        'created in_progress output_item.added content_part.added output_text.delta output_text.delta ' +
        'output_text.done content_part.done output_item.done completed'
      ).split(' '),
    )
    expect(events[5]).to.include({ output_index: 0, content_index: 0, delta: 'b' })
    expect(events[8]!.item).to.deep.include({
      status: 'completed',
      content: [{ type: 'output_text', text: 'ab', annotations: [] }],
    })
  })

  it('have words once that came in one piece, and only what is new of those that come again', () => {
    const wordsOf = (...events: Fields[]) => responseOf(...events).flatMap(({ delta: words }) => words ?? [])
    const said = { type: 'response.output_text.done', output_index: 0, text: 'abc' }
    const item = { type: 'message', content: [{ type: 'output_text', text: 'abc' }] }
    expect(wordsOf(said, completed())).to.deep.equal(['abc'])
    expect(wordsOf(delta('a', { output_index: 0 }), said, completed(item))).to.deep.equal(['a', 'bc'])
    expect(wordsOf(delta('ab'), completed(item))).to.deep.equal(['ab', 'c'])
  })

  it('have calls under one id, as soon as their name is known, with arguments that were encoded twice', () => {
    const args = JSON.stringify('{"a":1}')
    const call = { type: 'function_call', name: 'f', arguments: args }
    const events = responseOf(
      { type: 'response.function_call_arguments.delta', output_index: 4, delta: args },
      { type: 'response.output_item.done', output_index: 4, item: call },
      completed(),
    )
    const items = events.flatMap(({ item }) => (item ? [item as Fields] : []))
    expect(items.map(({ call_id: id }) => id)).to.deep.equal([items[0]!.call_id, items[0]!.call_id])
    expect(items[0]!.call_id).to.match(/^call_/)
    expect(items[1]).to.include({ arguments: '{"a":1}', status: 'completed' })
    expect(events.flatMap(({ delta: words }) => words ?? [])).to.deep.equal(['{"a":1}'])
  })

  it('end as incomplete what was open when a limit was met', () => {
    const cut = { type: 'response.function_call_arguments.delta', output_index: 0, delta: '{"a":' }
    const begun = { type: 'function_call', name: 'f', call_id: 'a' }
    const events = responseOf({ type: 'response.output_item.added', output_index: 0, item: begun }, cut, {
      type: 'response.incomplete',
      response: {},
    })
    expect(events.at(-2)!.item).to.include({ status: 'incomplete', arguments: '{"a":' })
    expect(events.at(-1)!.response).to.include({ status: 'incomplete' })
  })
})
