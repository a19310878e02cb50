/** What other gateways got wrong of the Messages API, as promises. */
import { expect } from 'chai'
import type { EventStream } from '../../../src/api/v1/calls/event-stream.ts'
import { messageEvents } from '../../../src/api/v1/messages/messages.ts'
import { dialectOf } from '../../../src/shared/chat/dialect.ts'
import type { Fields } from '../../../src/shared/platform/fields.ts'
import type { ChatRequest } from '../../../src/shared/requests/requests.ts'
import { OPENAI_CHAT } from '../../../src/workers/upstreams/openai/chat.ts'
import { asked } from '../../../src/workers/upstreams/protocol.ts'
import { eventsIn, streamOf } from '../../workers/upstreams/answer-bodies.ts'
import { contextOf, routeTo } from '../../workers/upstreams/sandbox-upstreams.ts'
import { ask } from '../../workers/upstreams/translated.ts'
import { blocksOf, expectOrder } from './support/message-events.ts'
import type { Event } from './support/message-events.ts'

const TOOL = { name: 'look', input_schema: { type: 'object' } }
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (...content: unknown[]) => ({ role: 'assistant', content })
const use = (id: string, input: unknown = {}) => ({ type: 'tool_use', id, name: 'look', input })
const result = (id: string, content = 'a') => ({ type: 'tool_result', tool_use_id: id, content })

/** Chunks of a chat: deltas, and an end. */
const chunk = (delta: Fields, end: string | null = null, more: Fields = {}) => ({
  id: 'chatcmpl_1',
  choices: [{ index: 0, delta, finish_reason: end, ...more }],
})
const called = (index: number, more: Fields, args: string | null = '') => ({
  tool_calls: [{ index, ...more, function: { ...(more.id !== undefined && { name: `f${index}` }), arguments: args } }],
})

describe('an answer of POST /v1/messages, where other gateways were wrong', () => {
  /** The events that a client gets of what an upstream of chat completions sends, in their order. */
  async function eventsOf(sent: unknown[], more: Fields = {}): Promise<Event[]> {
    const { translation } = ask('messages', { messages: [user('a')], tools: [TOOL], ...more }, 'openai')
    const { events, error } = await eventsIn(translation, streamOf(...sent))
    if (error) throw error
    const form = dialectOf('messages').answers
    const assembly = form.assemble(1_000_000)
    const got: Event[] = []
    const send = (data: string) => got.push(JSON.parse(data) as Event)
    const writer = messageEvents.begin({ send } as unknown as EventStream)
    for (const event of events)
      if (event.type === 'frame') writer.take(form.written(assembly.add(event.frame), 'm', event.text))
    writer.end(JSON.parse(form.output(assembly.answer('stop'), 'm', { input: 9, output: 7 })) as Fields)
    expectOrder(got)
    return got
  }

  const BLOCKS: [what: string, sent: unknown[], blocks: unknown[]][] = [
    [
      '1. a call as the first thing is block 0, with no empty text before it',
      [
        chunk({ role: 'assistant', content: '' }),
        chunk({ content: null, ...called(0, { id: 'one' }, '{}') }),
        chunk({ content: '' }, 'tool_calls'),
      ],
      [{ f0: {} }],
    ],
    ...['', '{}', ' ', null].map((args): [string, unknown[], unknown[]] => [
      `2. a call whose arguments are ${JSON.stringify(args)} has the input {}`,
      [chunk(called(0, { id: 'one' }, args)), chunk({}, 'tool_calls')],
      [{ f0: {} }],
    ]),
    [
      '4. a text behind a call is a block of its own',
      [
        chunk({ reasoning_content: 'hm' }),
        chunk({ content: 'a' }),
        chunk(called(0, { id: 'one' }, '{"x":')),
        chunk({ content: 'b' }),
        chunk(called(0, {}, '1}')),
        chunk({ content: 'c' }),
        chunk({}, 'tool_calls'),
      ],
      [{ thinking: 'hm' }, { text: 'a' }, { f0: { x: 1 } }, { text: 'bc' }],
    ],
    [
      '5. parallel calls whose arguments come interleaved are blocks one after the other',
      [
        chunk(called(0, { id: 'one' }, '{"a"')),
        chunk(called(1, { id: 'two' }, '{"b"')),
        chunk(called(0, {}, ':1')),
        chunk(called(2, { id: 'three' }, '{}')),
        chunk(called(1, {}, ':2}')),
        chunk(called(0, {}, '}')),
        chunk({}, 'tool_calls'),
      ],
      [{ f0: { a: 1 } }, { f1: { b: 2 } }, { f2: {} }],
    ],
  ]
  for (const [what, sent, blocks] of BLOCKS)
    it(what, async () => {
      const events = await eventsOf(sent)
      expect(blocksOf(events)).to.deep.equal(blocks)
      expect(events.at(-2)!.delta.stop_reason).to.equal('tool_use')
      const ids = events.flatMap(({ content_block: block }) => block?.id ?? [])
      expect(ids).to.deep.equal(['one', 'two', 'three'].slice(0, ids.length))
    })

  // Counts that come late, twice, never or at the end alone: messages-money.test.ts.
  it('11. a stop sequence that was met is named where servers of open models name it', async () => {
    for (const named of [{ stop_reason: 'three' }, { matched_stop: 'three' }]) {
      const events = await eventsOf([chunk({ content: 'one' }), chunk({}, 'stop', named)], {
        stop_sequences: ['three'],
      })
      expect(events.at(-2)!.delta).to.deep.equal({ stop_reason: 'stop_sequence', stop_sequence: 'three' })
    }
  })
})

describe('a request to POST /v1/messages, where other gateways were wrong', () => {
  const sent = (fields: Fields, protocol: 'openai' | 'anthropic') =>
    JSON.parse(JSON.stringify(ask('messages', { tools: [TOOL], ...fields }, protocol).body)) as Fields & {
      messages: Event[]
    }

  /** The turns that an upstream gets which takes a system only in front. */
  function strictly(...messages: object[]): Event[] {
    const { route, ...context } = contextOf(routeTo('openai', 'http://x.test'))
    const strict = { ...route, upstream: { ...route.upstream, systemAnywhere: false } }
    const request = { messages, max_tokens: 100, tools: [TOOL] } as unknown as ChatRequest
    const { body } = asked(OPENAI_CHAT, request, { ...context, route: strict, dialect: 'messages' }, true)
    return body.messages as Event[]
  }

  it('2. an empty input goes to chat completions as {}', () => {
    for (const input of ['', null, {}]) {
      const { messages } = sent(
        { messages: [user('go'), assistant(use('one', input)), user([result('one')])] },
        'openai',
      )
      expect(messages[1]!.tool_calls[0].function.arguments).to.equal('{}')
    }
  })

  it('8. a turn of the system in the middle is taken by every upstream', () => {
    const system = { role: 'system', content: 'The date has changed.' }
    const messages = [user('one'), system, user('two'), assistant(use('a')), user([result('a')])]
    const rolesOf = (turns: Event[]) => turns.map(({ role }) => role)
    expect(rolesOf(sent({ messages }, 'anthropic').messages)).to.deep.equal(messages.map(({ role }) => role))
    const chat = ['user', 'system', 'user', 'assistant', 'tool']
    expect(rolesOf(sent({ messages }, 'openai').messages)).to.deep.equal(chat)
    const strict = strictly(...messages)
    expect(rolesOf(strict)).to.deep.equal(['user', 'user', 'assistant', 'tool'])
    expect(strict[1]!.content).to.equal('two\n\n<system>\nThe date has changed.\n</system>')
  })

  it('8. it stands behind results of tools where it may only come first, and in its own turn at the end', () => {
    const [first, last] = ['be brief', 'be kind'].map((content) => ({ role: 'system', content }))
    const turns = strictly(user('one'), assistant(use('a')), first!, user([result('a')]), last!)
    expect(turns.map(({ role }) => role)).to.deep.equal(['user', 'assistant', 'tool', 'user'])
    expect(turns[3]!.content).to.equal('<system>\nbe brief\n</system>\n\n<system>\nbe kind\n</system>')
  })

  it('14. the system and the marks of the cache reach Anthropic in the order and form in which they came', () => {
    const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
    const mark = { cache_control: { type: 'ephemeral' } }
    const body = {
      system: [
        text('x-anthropic-billing-header: cc_version=2.1.331; cch=00000;'),
        text('You are Claude Code.', { cache_control: { type: 'ephemeral', scope: 'global' } }),
        text('Be brief.', { cache_control: { type: 'ephemeral', ttl: '5m' } }),
      ],
      tools: [TOOL, { ...TOOL, name: 'find', ...mark }],
      metadata: { user_id: '{"a": 1}' },
      messages: [user([text('one'), text('two', mark)])],
    }
    const native = sent(body, 'anthropic')
    for (const name of ['system', 'tools', 'messages', 'metadata'] as const)
      expect(JSON.stringify(native[name])).to.equal(JSON.stringify(body[name]))
    // Others get no line that is for Anthropic's books, and no marks that they do not know.
    const other = sent(body, 'openai')
    expect(other.messages[0]).to.deep.equal({ role: 'system', content: 'You are Claude Code.\n\nBe brief.' })
    expect(JSON.stringify(other)).to.not.include('cache_control')
  })
})
