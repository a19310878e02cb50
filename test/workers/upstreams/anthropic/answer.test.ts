import { expect } from 'chai'
import { ChunkEncoder } from '../../../../src/shared/chat/completions/write-frames.ts'
import { MessagesDecoder } from '../../../../src/workers/upstreams/anthropic/decode-answer.ts'
import { encoded } from '../../../../src/workers/upstreams/translation.ts'
import { answerIn, eventsIn, streamOf } from '../answer-bodies.ts'
import { chatOf, choiceOf, choicesOf, contextOf, promptOf, routeTo, startWorld } from '../sandbox-upstreams.ts'

type Fields = Record<string, unknown>
const translated = () => encoded(new MessagesDecoder(), new ChunkEncoder())

// What its words, thoughts, calls and counts become is proven by recorded answers (test/workers/calls).
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
  const choiceIn = async (message: Fields) => choiceOf(await answerIn(translated(), JSON.stringify(message)))

  it('ends for the reason that OpenAI would name', async () => {
    for (const [reason, finish] of Object.entries(REASONS)) {
      const called = { type: 'tool_use', id: 'a', name: 'f', input: {} }
      const content = [finish === 'tool_calls' ? called : { type: 'text', text: 'a' }]
      expect((await choiceIn({ content, stop_reason: reason })).finish_reason, reason).to.equal(finish)
    }
  })

  it('can be empty if the model refused', async () => {
    expect((await choiceIn({ content: [], stop_reason: 'refusal' })).message.content).to.equal('')
  })
})

describe('a stream of the Messages API', () => {
  const read = (...events: Fields[]) => eventsIn(translated(), streamOf(...events))
  const usage = { input_tokens: 7, output_tokens: 1 }
  const start = { type: 'message_start', message: { id: 'msg_1', model: 'claude', usage } }
  const delta = (index: number, fields: Fields) => ({ type: 'content_block_delta', index, delta: fields })
  const text = (value: unknown) => delta(0, { type: 'text_delta', text: value })
  const block = { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }
  const end = { type: 'message_delta', delta: { stop_reason: 'end_turn' } }
  const stop = { type: 'message_stop' }

  it('sends nothing before its first content, so that another upstream can still be tried', async () => {
    const overloaded = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }
    for (const [content, sent] of [
      [[], ['usage']],
      [[text('a')], ['usage', 'frame']],
    ] as const) {
      const { events, error } = await read(start, block, { type: 'ping' }, ...content, overloaded)
      expect([events.map(({ type }) => type), error?.kind]).to.deep.equal([sent, 'overloaded'])
    }
  })

  it('skips unknown content', async () => {
    const content_block = { type: 'server_tool_use', id: 's', name: 'web_search' }
    const search = { type: 'content_block_start', index: 1, content_block }
    const query = delta(1, { type: 'input_json_delta', partial_json: '{"q":1}' })
    const { events } = await read(start, block, search, query, text('a'), end, stop)
    expect(choicesOf(events).map((choice) => choice.delta)).to.deep.equal([{ role: 'assistant', content: 'a' }, {}])
  })

  const silentStart = { type: 'message_start', message: { id: 'msg_1', model: 'claude' } }
  const CUT: [what: string, events: Fields[]][] = [
    ['ends within its text', [start, block, text('a')]],
    ['ends before it begins', []],
    ['has neither content nor usage', [silentStart, end, stop]],
    ['has a text that is none', [start, block, text(5)]],
  ]
  for (const [what, events] of CUT) {
    it(`is unknown if it ${what}`, async () => {
      expect((await read(...events)).error).to.include({ kind: 'unknown' })
    })
  }
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
