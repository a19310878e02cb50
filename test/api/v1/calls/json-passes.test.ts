import { expect } from 'chai'
import type { EventStream } from '../../../../src/api/v1/calls/event-stream.ts'
import { chunksFor } from '../../../../src/api/v1/chat/completions.ts'
import { RelayedStreams } from '../../../../src/api/v1/calls/relayed-stream.ts'
import type { FrameStream } from '../../../../src/api/v1/calls/streamed-answer.ts'
import { messageEvents } from '../../../../src/api/v1/messages/messages.ts'
import { responseEvents } from '../../../../src/api/v1/responses/responses.ts'
import type { Dialect } from '../../../../src/shared/chat/dialect.ts'
import { dialectOf } from '../../../../src/shared/chat/dialect.ts'
import { NO_SEAL } from '../../../../src/shared/chat/seal.ts'
import { newId } from '../../../../src/shared/platform/ids.ts'
import type { CallId } from '../../../../src/shared/platform/ids.ts'
import { readReplies, writeChunks } from '../../../../src/shared/replies/channels.ts'
import type { ChatRequest } from '../../../../src/shared/requests/requests.ts'
import { MessagesPassThrough } from '../../../../src/workers/upstreams/anthropic/pass.ts'
import { OpenaiChunks } from '../../../../src/workers/upstreams/openai/chunks.ts'
import { ResponsesPassThrough } from '../../../../src/workers/upstreams/responses/pass.ts'
import type { Translation } from '../../../../src/workers/upstreams/translation.ts'
import { readChat } from '../../../../src/workers/upstreams/translation.ts'
import { bodyOf, streamOf } from '../../../workers/upstreams/answer-bodies.ts'

const WORDS = 200
const request = { model: 'm', messages: [], max_tokens: 1000 } as unknown as ChatRequest
const callId: CallId = newId('call')

const chunk = (delta: object, more: object = {}) => ({
  id: 'c',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'theirs',
  choices: [{ index: 0, delta, finish_reason: null, logprobs: null }],
  ...more,
})

type Streamed = { first: object[]; word: (nth: number) => object; translation: () => Translation; frames: FrameStream }

/** Where a part of a response is. */
const PLACE = { output_index: 0, content_index: 0 }

/** A stream of each dialect, from an upstream that speaks it, in the midst of its words. */
const STREAMS = {
  chat: {
    first: [chunk({ role: 'assistant', content: 'Hello' })],
    word: (nth) => chunk({ content: `word ${nth}` }),
    translation: () => new OpenaiChunks(1),
    frames: chunksFor(request),
  },
  messages: {
    first: [
      { type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', content: [], usage: {} } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    ],
    word: (nth) => ({ type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: `word ${nth}` } }),
    translation: () => new MessagesPassThrough(),
    frames: messageEvents,
  },
  responses: {
    first: [
      { type: 'response.created', sequence_number: 0, response: { id: 'r', status: 'in_progress', output: [] } },
      { type: 'response.in_progress', sequence_number: 1, response: { id: 'r', status: 'in_progress', output: [] } },
      { type: 'response.output_item.added', output_index: 0, item: { id: 'i', type: 'message', content: [] } },
      { type: 'response.content_part.added', ...PLACE, part: { type: 'output_text', text: '' } },
    ],
    word: (nth) => ({ type: 'response.output_text.delta', item_id: 'i', ...PLACE, delta: `word ${nth}` }),
    translation: () => new ResponsesPassThrough({ request, callId: 'call_1', seal: NO_SEAL.seal }),
    frames: responseEvents({ callId: 'call_1', request, model: 'm' }),
  },
} satisfies Partial<Record<Dialect, Streamed>>

/** How often JSON is parsed, and written, while something is done. */
async function passesOf(work: () => unknown): Promise<{ parsed: number; written: number }> {
  const { parse, stringify } = JSON
  const passes = { parsed: 0, written: 0 }
  JSON.parse = (...args: Parameters<typeof parse>): unknown => {
    passes.parsed++
    return parse(...args)
  }
  JSON.stringify = ((value: unknown, ...args: []) => {
    if (typeof value === 'object') passes.written++
    return stringify(value, ...args)
  }) as typeof stringify
  try {
    await work()
  } finally {
    Object.assign(JSON, { parse, stringify })
  }
  return passes
}

/** What a worker sends of a stream that breaks off: its frames, as it reads them. */
async function sentBy(dialect: keyof typeof STREAMS, events: string, model = 'm'): Promise<string[]> {
  const form = dialectOf(dialect).answers
  const [assembly, completion] = [form.assemble(Infinity), form.completion()]
  const lines: string[] = []
  const reading = readChat(bodyOf([events]), STREAMS[dialect].translation(), {}, (event) => {
    if (event.type === 'usage') return
    assembly.add(event.frame)
    completion.take(event.frame)
    lines.push(form.written(event.frame, model, event.text))
  })
  await reading.catch(() => {})
  return lines
}

describe('a chunk of a stream', () => {
  for (const dialect of ['chat', 'messages', 'responses'] as const) {
    const { first, word, frames } = STREAMS[dialect]
    const events = [...first, ...Array.from({ length: WORDS }, (_, nth) => word(nth))]

    it(`of ${dialect} is parsed once in the worker, and written at most once`, async () => {
      const stream = streamOf(...events)
      const { parsed, written } = await passesOf(() => sentBy(dialect, stream))
      expect(parsed).to.equal(events.length)
      expect(written).to.be.at.most(events.length)
    })

    it(`of ${dialect} is neither parsed nor written again in the web process`, async () => {
      const chunks = (await sentBy(dialect, streamOf(...events))).slice(first.length)
      const sent: string[] = []
      const writer = frames.begin({ send: (text: string) => sent.push(text) } as unknown as EventStream)
      const message = writeChunks([{ callId, from: 0, chunks, words: 9, isEnd: false }])
      const relayed = new RelayedStreams().begin(dialect)
      const passes = await passesOf(() => {
        for (const reply of readReplies(message)) {
          if (reply.kind !== 'update' || reply.update.type !== 'chunks') throw new Error('no chunks')
          relayed.take(reply.update)
          for (const line of reply.update.chunks) writer.take(line)
        }
      })
      expect(sent).to.have.length(WORDS)
      expect(passes).to.deep.equal({ parsed: 0, written: 0 })
    })
  }

  it('that needs no change is passed on in the bytes of its upstream', async () => {
    const odd = JSON.stringify(chunk({ content: 'é' }, { more: 1e2 }))
      .replaceAll(':', ' :  ')
      .replace('é', '\\u00e9')
    const stream = streamOf(...STREAMS.chat.first, odd)
    const [, passed] = await sentBy('chat', stream, 'theirs')
    expect(passed).to.equal(odd)
    const [, renamed] = await sentBy('chat', stream, 'ours')
    expect(JSON.parse(renamed!)).to.deep.equal({ ...JSON.parse(odd), model: 'ours' })
  })

  it('that its upstream wrote in several lines is one line', async () => {
    const lines = JSON.stringify(chunk({ content: 'a' }), null, 1).split('\n')
    const stream = streamOf(...STREAMS.chat.first) + lines.map((line) => `data: ${line}\n`).join('') + '\n'
    const [, passed] = await sentBy('chat', stream, 'theirs')
    expect(passed).to.equal(JSON.stringify(chunk({ content: 'a' })))
  })

  const said = { index: 0, delta: { content: 'a' }, finish_reason: null }
  for (const [name, change] of Object.entries({
    'an error, also an empty one': { error: null },
    'a usage': { usage: { prompt_tokens: 1, completion_tokens: 1 } },
    'another id': { id: 'another' },
    'no time': { created: undefined },
    'a role again': { choices: [{ ...said, delta: { role: 'assistant', content: 'a' } }] },
    'a message next to its delta': { choices: [{ ...said, message: null }] },
    'no word of its end': { choices: [{ index: 0, delta: { content: 'a' } }] },
  }))
    it(`that has ${name} is changed into one that every client can read`, async () => {
      const stream = streamOf(...STREAMS.chat.first, chunk({ content: 'a' }, change))
      const [, passed] = await sentBy('chat', stream, 'theirs')
      const { choices, ...head } = JSON.parse(passed!)
      expect(head).to.deep.equal({ id: 'c', object: 'chat.completion.chunk', created: 1_790_000_000, model: 'theirs' })
      expect(choices[0]).to.include({ index: 0, finish_reason: null }).and.not.have.property('message')
      expect(choices[0].delta).to.deep.equal({ content: 'a' })
    })
})
