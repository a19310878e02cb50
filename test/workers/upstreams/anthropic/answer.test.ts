import { expect } from 'chai'
import { ChunkEncoder } from '../../../../src/shared/chat/completions/write-frames.ts'
import { MessagesDecoder } from '../../../../src/workers/upstreams/anthropic/decode-answer.ts'
import { encoded } from '../../../../src/workers/upstreams/translation.ts'
import { anthropicUsage } from '../../../../src/workers/upstreams/usage.ts'
import { answerIn, eventsIn, streamOf } from '../answer-bodies.ts'
import {
  chatOf,
  choiceOf,
  choicesOf,
  contextOf,
  failureOf,
  promptOf,
  routeTo,
  startWorld,
} from '../sandbox-upstreams.ts'

const translated = () => encoded(new MessagesDecoder(), new ChunkEncoder())

describe('an answer of the Messages API', () => {
  const REASONS = {
    end_turn: 'stop',
    stop_sequence: 'stop',
    pause_turn: 'stop',
    max_tokens: 'length',
    model_context_window_exceeded: 'length',
    tool_use: 'tool_calls',
    refusal: 'content_filter',
    something_new: 'stop',
  }
  const answerOf = (message: Record<string, unknown>) => answerIn(translated(), JSON.stringify(message))
  const messageOf = async (message: Record<string, unknown>) => choiceOf(await answerOf(message)).message

  it('ends for the reason that OpenAI would name', async () => {
    for (const [reason, finish] of Object.entries(REASONS)) {
      const called = { type: 'tool_use', id: 'a', name: 'f', input: {} }
      const content = [finish === 'tool_calls' ? called : { type: 'text', text: 'a' }]
      expect(choiceOf(await answerOf({ content, stop_reason: reason })).finish_reason, reason).to.equal(finish)
    }
  })

  it('separates texts, thinking and tool calls, and keeps thinking as it is wanted back', async () => {
    const content = [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'redacted_thinking', data: 'x' },
      { type: 'text', text: 'a' },
      { type: 'text', text: 'b' },
      { type: 'tool_use', id: 't', name: 'f', input: { x: 1 } },
      { type: 'something_new' },
    ]
    expect(await messageOf({ id: 'msg_1', content, stop_reason: 'tool_use' })).to.deep.equal({
      role: 'assistant',
      content: 'ab',
      reasoning_content: 'hm',
      reasoning_details: [
        { type: 'reasoning.text', text: 'hm', signature: 's', format: 'anthropic-claude-v1', index: 0 },
        { type: 'reasoning.encrypted', data: 'x', format: 'anthropic-claude-v1', index: 1 },
      ],
      tool_calls: [{ id: 't', type: 'function', function: { name: 'f', arguments: '{"x":1}' } }],
    })
  })

  it('can be empty only if the model refused', async () => {
    expect((await messageOf({ content: [], stop_reason: 'refusal' })).content).to.equal('')
    for (const answer of [
      { content: [], stop_reason: 'end_turn' },
      { stop_reason: 'end_turn' },
      { content: [{ type: 'text', text: 5 }] },
    ]) {
      expect(await failureOf(answerOf(answer)), JSON.stringify(answer)).to.include({ kind: 'unknown' })
    }
  })

  it('is charged for what it read from and wrote to a cache', () => {
    const usage = {
      input_tokens: 10,
      cache_creation_input_tokens: 200,
      cache_read_input_tokens: 3000,
      output_tokens: 5,
    }
    expect(anthropicUsage({ ...usage, output_tokens_details: { thinking_tokens: 2 } })).to.deep.equal({
      input: 10,
      cached: 3000,
      written: 200,
      cachesApart: true,
      repeated: 0,
      output: 5,
      reasoning: 2,
      total: 0,
    })
    expect(anthropicUsage({ input_tokens: 1, cache_read_input_tokens: null, output_tokens: 5 })).to.include({
      input: 1,
    })
    for (const bad of [
      { input_tokens: -1, output_tokens: 0 },
      { input_tokens: 0, cache_read_input_tokens: -10, output_tokens: '1' },
      {},
      null,
    ]) {
      expect(anthropicUsage(bad), JSON.stringify(bad)).to.equal(null)
    }
  })
})

describe('a stream of the Messages API', () => {
  const read = (...events: Record<string, unknown>[]) => eventsIn(translated(), streamOf(...events))
  const start = {
    type: 'message_start',
    message: { id: 'msg_1', model: 'claude', usage: { input_tokens: 7, output_tokens: 1 } },
  }
  const text = (value: string) => ({
    type: 'content_block_delta',
    index: 0,
    delta: { type: 'text_delta', text: value },
  })
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 9 } }
  const stop = { type: 'message_stop' }

  it('sends nothing before its first content, so that another upstream can still be tried', async () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    const typesOf = ({ events }: Awaited<ReturnType<typeof read>>) => events.map(({ type }) => type)
    const early = await read(start, block, { type: 'ping' }, overloaded)
    expect([typesOf(early), early.error?.kind]).to.deep.equal([['usage'], 'overloaded'])
    const late = await read(start, block, text('a'), overloaded)
    expect([typesOf(late), late.error?.kind]).to.deep.equal([['usage', 'frame'], 'overloaded'])
  })

  it('counts its output at the end and its input at the beginning', async () => {
    const { events } = await read(start, block, text('a'), end, stop)
    const reports = events.flatMap((event) => (event.type === 'usage' ? [event.usage] : []))
    expect(reports.map(({ input, output }) => [input, output])).to.deep.equal([
      [7, 1],
      [7, 9],
    ])
  })

  it('reports the larger of cumulative counts, whatever its end leaves at zero or null', async () => {
    const first = {
      input_tokens: 1000,
      output_tokens: 1,
      cache_read_input_tokens: 5000,
      cache_creation_input_tokens: 300,
    }
    const begun = { ...start, message: { ...start.message, usage: first } }
    for (const nothing of [0, null, undefined]) {
      const usage = { input_tokens: nothing, cache_read_input_tokens: nothing, cache_creation_input_tokens: nothing }
      const { events } = await read(begun, block, text('a'), { ...end, usage: { ...usage, output_tokens: 17 } }, stop)
      expect(events.at(-1)).to.deep.nested.include({
        'usage.input': 1000,
        'usage.cached': 5000,
        'usage.written': 300,
        'usage.output': 17,
      })
    }
  })

  it('passes thinking on and skips unknown content', async () => {
    const thought = { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'hm' } }
    const signature = { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 's' } }
    const search = {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'server_tool_use', id: 's', name: 'web_search' },
    }
    const query = {
      type: 'content_block_delta',
      index: 1,
      delta: { type: 'input_json_delta', partial_json: '{"q":1}' },
    }
    const { events } = await read(start, block, thought, signature, search, query, text('a'), end, stop)
    expect(choicesOf(events).map(({ delta }) => delta)).to.deep.equal([
      {
        role: 'assistant',
        content: '',
        reasoning_content: 'hm',
        reasoning_details: [{ type: 'reasoning.text', text: 'hm', format: 'anthropic-claude-v1', index: 0 }],
      },
      { reasoning_details: [{ type: 'reasoning.text', signature: 's', format: 'anthropic-claude-v1', index: 0 }] },
      { content: 'a' },
      {},
    ])
  })

  it('numbers the tool calls, whatever blocks are between them', async () => {
    const call = (index: number, id: string) => ({
      type: 'content_block_start',
      index,
      content_block: { type: 'tool_use', id, name: 'f' },
    })
    const args = (index: number, json: string) => ({
      type: 'content_block_delta',
      index,
      delta: { type: 'input_json_delta', partial_json: json },
    })
    const { events } = await read(
      start,
      block,
      text('a'),
      call(1, 'one'),
      args(1, '{"x":'),
      args(1, '1}'),
      call(3, 'two'),
      { ...end, delta: { stop_reason: 'tool_use' } },
      stop,
    )
    const indexes = choicesOf(events).flatMap(({ delta }) =>
      ((delta.tool_calls as { index: number }[] | undefined) ?? []).map(({ index }) => index),
    )
    expect(indexes).to.deep.equal([0, 0, 1])
  })

  it('is an answer if it has only a stop reason and a usage', async () => {
    const { events, error } = await read(start, end, stop)
    expect([events.map(({ type }) => type), error]).to.deep.equal([['usage', 'frame', 'usage'], null])
  })

  const silentStart = { type: 'message_start', message: { id: 'msg_1', model: 'claude' } }
  const silentEnd = { type: 'message_delta', delta: { stop_reason: 'end_turn' } }
  const CUT: [what: string, events: Record<string, unknown>[]][] = [
    ['ends within its text', [start, block, text('a')]],
    ['ends before it begins', []],
    ['has neither content nor usage', [silentStart, silentEnd, stop]],
    ['has a text that is none', [start, block, { ...text('a'), delta: { type: 'text_delta', text: 5 } }]],
  ]
  for (const [what, events] of CUT) {
    it(`is unknown if it ${what}`, async () => {
      expect((await read(...events)).error).to.include({ kind: 'unknown' })
    })
  }

  it('can lack its last event', async () => {
    expect((await read(start, block, text('a'), end)).error).to.equal(null)
  })
})

describe('an Anthropic upstream', () => {
  it('is reached with and without the version in its base address, and gets the version header', async () => {
    const world = await startWorld()
    const chat = world.upstreams.adapterOf('anthropic').chat!
    for (const base of ['/anthropic', '/anthropic/v1']) {
      const prompt = promptOf('hello')
      await chat.chat(chatOf(prompt), contextOf(routeTo('anthropic', `${world.sandbox.url}${base}`)))
      expect(world.sandbox.journal(prompt)[0]!.headers).to.include({ 'anthropic-version': '2023-06-01' })
    }
    await world.close()
  })
})
