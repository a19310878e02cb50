/**
 * Answers of the Messages API that other gateways got wrong, as promises.
 */
import { expect } from 'chai'
import { prompted } from '../../../../scripts/harness/calling.ts'
import { balanceOf } from '../../../../scripts/harness/factories.ts'
import type { Reply } from '../../../../scripts/harness/http.ts'
import { send } from '../../../../scripts/harness/http.ts'
import { eventsOf, saying, streaming } from '../../../upstreams/support/scripted.ts'
import { claudeAndGpt } from '../support/message-models.ts'
import type { Event } from '../support/message-events.ts'
import { blocksOf, messageEvents } from '../support/message-events.ts'
import { useAccount, useGateway, useScripted } from '../../../support/gateway.ts'

type Fields = Record<string, unknown>

const FUNDS = 1_000_000
const TOOL = { name: 'look', input_schema: { type: 'object' } }
const user = (content: unknown) => ({ role: 'user', content })

/** Chunks of a chat: deltas, and an end. */
const chunk = (delta: Fields, end: string | null = null) => ({
  id: 'chatcmpl_1',
  choices: [{ index: 0, delta, finish_reason: end }],
})
const called = (index: number, more: Fields, args = '') => ({
  tool_calls: [{ index, ...more, function: { ...(more.id !== undefined && { name: `f${index}` }), arguments: args } }],
})
const chatUsage = (prompt: number, completion: number, more: Fields = {}) => ({
  id: 'chatcmpl_1',
  choices: [],
  usage: { prompt_tokens: prompt, completion_tokens: completion, ...more },
})

/** Events of a message. */
const started = (usage?: Fields) => ({
  type: 'message_start',
  message: { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], ...(usage && { usage }) },
})
const said = (index: number, text: string) => [
  { type: 'content_block_start', index, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index, delta: { type: 'text_delta', text } },
  { type: 'content_block_stop', index },
]
const ended = (usage?: Fields, reason = 'end_turn') => ({
  type: 'message_delta',
  delta: { stop_reason: reason, stop_sequence: null },
  ...(usage && { usage }),
})
const STOP = { type: 'message_stop' }

describe('an answer of POST /v1/messages, where other gateways were wrong', () => {
  const scripted = useScripted()
  const gateway = useGateway({}, (catalogue) => {
    claudeAndGpt(catalogue)
    const { upstreams, models } = catalogue
    Object.assign(upstreams, {
      'scripted-chat': { protocol: 'openai', baseUrl: scripted.origin },
      'scripted-messages': { protocol: 'anthropic', baseUrl: scripted.origin },
    })
    // One that is never asked to think: what was thought is waited for.
    const served = [{ upstream: 'claude', model: 'claude-brief' }]
    models.push({ ...models.find(({ id }) => id === 'claude')!, id: 'brief', upstreams: served })
    const pricing = { input: 10, cachedInput: 1, cacheWrite: 12, output: 30, perTokens: 10, minimum: 1 }
    for (const upstream of ['scripted-chat', 'scripted-messages'])
      models.push({ id: upstream, modality: 'chat', pricing, upstreams: [{ upstream, model: 'sandbox/chat' }] })
  })
  const account = useAccount(gateway, FUNDS)

  function ask(
    model: string,
    content: unknown,
    more: Fields = {},
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const body = { model, max_tokens: 2000, messages: [user(content)], ...more }
    return send('POST', `${gateway.url}/v1/messages?beta=true`, { key: account.key, body, headers })
  }

  /** The events for a client of what an upstream streams. */
  async function streamed(model: 'scripted-chat' | 'scripted-messages', ...values: unknown[]): Promise<Event[]> {
    const prompt = scripted.prompt(streaming(eventsOf(...values)))
    return messageEvents(await ask(model, prompt, { stream: true, tools: [TOOL] }))
  }

  const sentTo = (prompt: string) => gateway.sandbox.journal(prompt).at(-1)!

  it('1. a call as the first thing is block 0, with no empty text before it', async () => {
    const events = await streamed(
      'scripted-chat',
      chunk({ role: 'assistant', content: '' }),
      chunk({ content: null, ...called(0, { id: 'one' }, '{}') }),
      chunk({ content: '' }, 'tool_calls'),
    )
    expect(blocksOf(events)).to.deep.equal([{ f0: {} }])
    expect(events.at(-2)!.delta.stop_reason).to.equal('tool_use')
  })

  it('2. a call without arguments has the input {}, streamed and whole, over every upstream', async () => {
    for (const args of ['', '{}', ' ', null]) {
      const events = await streamed(
        'scripted-chat',
        chunk(called(0, { id: 'one' }, args as string)),
        chunk({}, 'tool_calls'),
      )
      expect(blocksOf(events), String(args)).to.deep.equal([{ f0: {} }])
      const call = { id: 'one', type: 'function', function: { name: 'f0', arguments: args } }
      const message = { role: 'assistant', content: null, tool_calls: [call] }
      const whole = JSON.stringify({ id: 'c', choices: [{ index: 0, message, finish_reason: 'tool_calls' }] })
      const reply = await ask('scripted-chat', scripted.prompt(saying(whole)), { tools: [TOOL] })
      expect(reply.json.content, String(args)).to.deep.equal([{ type: 'tool_use', id: 'one', name: 'f0', input: {} }])
    }
    for (const stream of [false, true]) {
      const reply = await ask('claude', prompted('[tool]'), { tools: [TOOL], stream })
      const blocks = stream ? blocksOf(messageEvents(reply)) : [{ look: reply.json.content[0].input }]
      expect(blocks).to.deep.equal([{ look: {} }])
    }
  })

  const ENDS: [what: string, model: 'scripted-chat' | 'scripted-messages', values: unknown[], output: number | null][] =
    [
      ['late', 'scripted-chat', [chunk({ content: 'a' }), chunk({}, 'stop'), chatUsage(9, 7)], 7],
      ['twice', 'scripted-chat', [chunk({ content: 'a' }), chatUsage(9, 3), chunk({}, 'stop'), chatUsage(9, 7)], 7],
      ['never', 'scripted-chat', [chunk({ content: 'a' }), chunk({}, 'stop')], null],
      [
        'at the end',
        'scripted-messages',
        [started(), ...said(0, 'a'), ended({ input_tokens: 9, output_tokens: 7 })],
        7,
      ],
      [
        'twice',
        'scripted-messages',
        [
          started({ input_tokens: 9, output_tokens: 1 }),
          started({ input_tokens: 9, output_tokens: 1 }),
          ...said(0, 'a'),
          { ...ended({ output_tokens: 3 }), delta: {} },
          ended({ output_tokens: 7 }),
          STOP,
        ],
        7,
      ],
      ['never', 'scripted-messages', [started(), ...said(0, 'a'), ended(), STOP], null],
    ]
  for (const [what, model, values, output] of ENDS) {
    it(`3. a message has one start, one delta and one stop where its usage comes ${what}: ${model}`, async () => {
      // Their order is checked with every stream.
      const events = await streamed(model, ...values)
      expect(blocksOf(events)).to.deep.equal([{ text: 'a' }])
      if (output !== null) expect(events.at(-2)!.usage).to.include({ input_tokens: 9, output_tokens: output })
      else expect(events.at(-2)!.usage.output_tokens).to.be.above(0)
    })
  }

  it('4. a text behind a call is a block of its own', async () => {
    const ofChat = await streamed(
      'scripted-chat',
      chunk({ reasoning_content: 'hm' }),
      chunk({ content: 'a' }),
      chunk(called(0, { id: 'one' }, '{"x":')),
      chunk({ content: 'b' }),
      chunk(called(0, {}, '1}')),
      chunk({ content: 'c' }),
      chunk({}, 'tool_calls'),
    )
    expect(blocksOf(ofChat)).to.deep.equal([{ thinking: 'hm' }, { text: 'a' }, { f0: { x: 1 } }, { text: 'bc' }])
  })

  it('5. parallel calls whose arguments come interleaved are blocks one after the other', async () => {
    const events = await streamed(
      'scripted-chat',
      chunk(called(0, { id: 'one' }, '{"a"')),
      chunk(called(1, { id: 'two' }, '{"b"')),
      chunk(called(0, {}, ':1')),
      chunk(called(2, { id: 'three' }, '{}')),
      chunk(called(1, {}, ':2}')),
      chunk(called(0, {}, '}')),
      chunk({}, 'tool_calls'),
    )
    expect(blocksOf(events)).to.deep.equal([{ f0: { a: 1 } }, { f1: { b: 2 } }, { f2: {} }])
    const ids = events.flatMap(({ content_block: block }) => block?.id ?? [])
    expect(ids).to.deep.equal(['one', 'two', 'three'])
  })

  it('6. the three counts of input are the whole input of the upstream, each counted once', async () => {
    const details = { prompt_tokens_details: { cached_tokens: 1000, cache_write_tokens: 300 } }
    const ofChat = await streamed(
      'scripted-chat',
      chunk({ content: 'a' }),
      chunk({}, 'stop'),
      chatUsage(1500, 5, details),
    )
    const counts = { input_tokens: 200, cache_read_input_tokens: 1000, cache_creation_input_tokens: 300 }
    const ofMessages = await streamed(
      'scripted-messages',
      started({ ...counts, output_tokens: 1 }),
      ...said(0, 'a'),
      ended({ ...counts, output_tokens: 5 }),
      STOP,
    )
    for (const events of [ofChat, ofMessages]) {
      const { usage } = events.at(-2)!
      expect(usage).to.include({ ...counts, output_tokens: 5 })
      // By 10 tokens: 200 at 10, 1000 at 1, 300 at 12, 5 at 30.
      expect(usage.credits).to.equal(200 + 100 + 360 + 15)
      expect(events[0]!.message.usage.input_tokens).to.be.above(0)
    }
    expect(ofMessages[0]!.message.usage).to.include(counts)
  })

  it('11. a stop sequence that was met is named, and a list of one stays a list', async () => {
    const more = { stop_sequences: ['three'] }
    for (const stream of [false, true]) {
      const prompt = prompted('[answer one two three four]')
      const reply = await ask('claude', prompt, { ...more, stream })
      const end = stream ? messageEvents(reply).at(-2)!.delta : reply.json
      expect(end).to.include({ stop_reason: 'stop_sequence', stop_sequence: 'three' })
      expect(sentTo(prompt).body).to.deep.include(more)
    }
    const prompt = prompted('[answer one two three four]')
    expect((await ask('gpt', prompt, more)).json.content).to.deep.equal([{ type: 'text', text: 'one two ' }])
    expect(sentTo(prompt).body).to.deep.include({ stop: ['three'] })
    // Servers of open models name it beside their reason.
    const choice = { index: 0, delta: {}, finish_reason: 'stop' }
    for (const named of [{ stop_reason: 'three' }, { matched_stop: 'three' }]) {
      const values = [chunk({ content: 'one' }), { id: 'c', choices: [{ ...choice, ...named }] }]
      const text = scripted.prompt(streaming(eventsOf(...values)))
      const events = messageEvents(await ask('scripted-chat', text, { ...more, stream: true }))
      expect(events.at(-2)!.delta).to.deep.equal({ stop_reason: 'stop_sequence', stop_sequence: 'three' })
    }
  })

  it('12. counts that come in the last event alone are settled', async () => {
    const usage = { input_tokens: 900, cache_read_input_tokens: 50, output_tokens: 20 }
    const events = await streamed('scripted-messages', started(), ...said(0, 'a'), ended(usage), STOP)
    expect(events.at(-2)!.usage).to.include({ ...usage, credits: 900 + 5 + 60 })
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - 965)
  })
})
