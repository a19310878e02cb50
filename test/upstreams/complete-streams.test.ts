import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { expect } from 'chai'
import fc from 'fast-check'
import OpenAI from 'openai'
import type { EventStream } from '../../src/api/v1/calls/event-stream.ts'
import type { FrameStream } from '../../src/api/v1/calls/streamed-answer.ts'
import { chunksFor } from '../../src/api/v1/chat/completions.ts'
import { geminiObjects } from '../../src/api/v1/gemini/answers.ts'
import { messageEvents } from '../../src/api/v1/messages/messages.ts'
import { responseEvents } from '../../src/api/v1/responses/responses.ts'
import { DIALECTS, dialectOf } from '../../src/shared/chat/dialect.ts'
import type { Dialect } from '../../src/shared/chat/dialect.ts'
import { asFields, isText } from '../../src/shared/platform/fields.ts'
import type { Fields } from '../../src/shared/platform/fields.ts'
import type { ChatRequest } from '../../src/shared/requests/requests.ts'
import type { UpstreamUsage } from '../../src/workers/upstreams/adapter.ts'
import { MessagesDecoder } from '../../src/workers/upstreams/anthropic/decode-answer.ts'
import { MessagesPassThrough } from '../../src/workers/upstreams/anthropic/pass.ts'
import { GeminiDecoder } from '../../src/workers/upstreams/gemini/decode-answer.ts'
import { GeminiPassThrough } from '../../src/workers/upstreams/gemini/pass.ts'
import { OpenaiChunks } from '../../src/workers/upstreams/openai/chunks.ts'
import { ChunksDecoder } from '../../src/workers/upstreams/openai/decode-answer.ts'
import { canonicalFor } from '../../src/workers/upstreams/protocol.ts'
import { ResponsesDecoder } from '../../src/workers/upstreams/responses/decode-answer.ts'
import { ResponsesPassThrough } from '../../src/workers/upstreams/responses/pass.ts'
import type { Decoder, Translation } from '../../src/workers/upstreams/translation.ts'
import { readChat } from '../../src/workers/upstreams/translation.ts'
import { trustedUsage } from '../../src/workers/upstreams/trusted-usage.ts'
import { bodyOf, streamOf } from '../workers/upstreams/answer-bodies.ts'
import { contextOf, routeTo } from '../workers/upstreams/sandbox-upstreams.ts'
import { NO_SEAL } from '../../src/shared/chat/seal.ts'
import { TEXT, answerOf } from './recorded/answers.ts'
import { BRIEF, ODD, SAID, VENDOR_STREAMS } from './recorded/vendor-streams.ts'
import type { Spoken } from './recorded/vendor-streams.ts'
import { candidateOf, partsOfCandidate } from '../../src/shared/chat/gemini/join-frames.ts'

const CALL = 'call_0123456789abcdef0123456789abcdef'
const schema = { type: 'object', properties: { at: { type: 'string' } } }
const asked: Record<Dialect, Fields> = {
  chat: {
    messages: [{ role: 'user', content: 'hello' }],
    tools: [{ type: 'function', function: { name: 'look', parameters: schema } }],
    stream_options: { include_usage: true },
  },
  messages: { messages: [{ role: 'user', content: 'hello' }], tools: [{ name: 'look', input_schema: schema }] },
  responses: { messages: [], input: 'hello', tools: [{ type: 'function', name: 'look', parameters: schema }] },
  gemini: {
    messages: [],
    contents: [{ parts: [{ text: 'hello' }] }],
    tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: schema }] }],
  },
}

const requestOf = (dialect: Dialect) => ({ ...asked[dialect], max_tokens: 500, stream: true }) as unknown as ChatRequest

const DECODERS: Record<Spoken, () => Decoder> = {
  chat: () => new ChunksDecoder(),
  messages: () => new MessagesDecoder(),
  responses: () => new ResponsesDecoder(),
  gemini: () => new GeminiDecoder(NO_SEAL),
}

const PASSING: Record<Spoken, () => Translation> = {
  chat: () => new OpenaiChunks(1),
  messages: () => new MessagesPassThrough(),
  responses: () => new ResponsesPassThrough({ request: requestOf('responses'), callId: CALL, seal: NO_SEAL.seal }),
  gemini: () => new GeminiPassThrough(NO_SEAL.seal),
}

const WRITERS: Record<Dialect, () => FrameStream> = {
  chat: () => chunksFor(requestOf('chat')),
  messages: () => messageEvents,
  responses: () => responseEvents({ callId: CALL, request: requestOf('responses'), model: 'm' }),
  gemini: () => geminiObjects(true),
}

const BOUNDS = { estimate: { input: 40, output: 500 }, mostInput: 12_000 }

const sseOf = (data: string, event?: string): string => `${event ? `event: ${event}\n` : ''}data: ${data}\n\n`

/** What a client of a dialect gets of an upstream's answer: the text of its stream, and what it is charged for. */
async function served(dialect: Dialect, upstream: Spoken, answer: string) {
  const request = requestOf(dialect)
  const context = { ...contextOf(routeTo('openai', 'http://127.0.0.1')), callId: CALL, dialect }
  const translation =
    dialect === upstream ? PASSING[upstream]() : canonicalFor(request, context).translated(DECODERS[upstream]())
  const form = dialectOf(dialect).answers
  const assembly = form.assemble(1_000_000)
  const text: string[] = []
  const send = (data: string, event?: string) => text.push(sseOf(data, event))
  const writer = WRITERS[dialect]().begin({ send } as unknown as EventStream)
  let usage: UpstreamUsage | null = null
  await readChat(bodyOf([answer]), translation, {}, (event) => {
    if (event.type === 'usage') usage = event.usage
    else writer.take(form.written(assembly.add(event.frame), 'm', event.text))
  })
  const { tokens } = trustedUsage(usage, { bounds: BOUNDS, counted: assembly.tokens })
  const whole = JSON.parse(form.output(assembly.answer('stop'), 'm', tokens)) as Fields
  writer.end(whole)
  return { text: text.join(''), tokens, whole }
}

/** The stream of an answer that was stored. */
function replayed(dialect: Dialect, whole: Fields): string {
  const text: string[] = []
  const send = (data: string, event?: string) => text.push(sseOf(data, event))
  const writer = WRITERS[dialect]().begin({ send } as unknown as EventStream)
  writer.replay(whole)
  writer.end(whole)
  return text.join('')
}

/** A client's own way to the service, which answers with this text. */
const answering = (text: string): typeof fetch => {
  const headers = { 'content-type': 'text/event-stream' }
  return () => Promise.resolve(new Response(text, { headers }))
}

type Read = { text: string; calls: { name: string; input: unknown }[]; usages: number }

const inputOf = (json: string): unknown => JSON.parse(json)

/** What the official SDK of a dialect makes of a stream. */
const OFFICIAL: Record<Dialect, (text: string) => Promise<Read>> = {
  chat: async (text) => {
    const client = new OpenAI({ apiKey: 'x', fetch: answering(text), maxRetries: 0 })
    let [said, usages] = ['', 0]
    const stream = client.chat.completions.stream({ model: 'm', ...(asked.chat as { messages: [] }) })
    stream.on('content', (words) => (said += words)).on('chunk', (chunk) => (usages += chunk.usage ? 1 : 0))
    const { message } = (await stream.finalChatCompletion()).choices[0]!
    expect(message.content ?? '').to.equal(said)
    const calls = (message.tool_calls ?? []).map((call) => {
      if (call.type !== 'function') throw new Error('no function')
      return { name: call.function.name, input: inputOf(call.function.arguments) }
    })
    return { text: said, calls, usages }
  },
  messages: async (text) => {
    const client = new Anthropic({ apiKey: 'x', fetch: answering(text), maxRetries: 0 })
    let [said, usages] = ['', 0]
    const stream = client.messages.stream({ model: 'm', max_tokens: 500, messages: [] })
    stream
      .on('text', (words) => (said += words))
      .on('streamEvent', ({ type }) => (usages += type === 'message_delta' ? 1 : 0))
    const { content, stop_reason: reason } = await stream.finalMessage()
    expect(content.map((block) => (block.type === 'text' ? block.text : '')).join('')).to.equal(said)
    const calls = content.flatMap((block) => (block.type === 'tool_use' ? [block] : []))
    expect(reason).to.equal(calls.length > 0 ? 'tool_use' : 'end_turn')
    return { text: said, calls: calls.map(({ name, input }) => ({ name, input })), usages }
  },
  responses: async (text) => {
    const client = new OpenAI({ apiKey: 'x', fetch: answering(text), maxRetries: 0 })
    let [said, usages] = ['', 0]
    const stream = client.responses.stream({ model: 'm', input: 'x' })
    stream.on('response.output_text.delta', ({ delta }) => (said += delta))
    stream.on('event', (event) => {
      usages += 'response' in event && event.response?.usage ? 1 : 0
    })
    const response = await stream.finalResponse()
    expect(response.output_text).to.equal(said)
    const calls = response.output.flatMap((item) => (item.type === 'function_call' ? [item] : []))
    expect(calls.every(({ call_id: id, status }) => id !== '' && status === 'completed')).to.equal(true)
    return { text: said, calls: calls.map(({ name, arguments: args }) => ({ name, input: inputOf(args) })), usages }
  },
  gemini: readObjects,
}

/** What a client of Gemini's API reads of its objects: that Google's own do so is tested with them (test/clients). */
function readObjects(text: string): Promise<Read> {
  const objects = [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => inputOf(json!) as Fields)
  const parts = objects.flatMap((one) => partsOfCandidate(candidateOf(one)))
  const failed = objects.find(({ error }) => error !== undefined)
  if (failed) throw new Error(JSON.stringify(failed))
  expect(objects.filter((one) => isText(candidateOf(one).finishReason))).to.deep.equal(objects.slice(-1))
  return Promise.resolve({
    text: parts.map(({ text: said, thought }) => (isText(said) && thought !== true ? said : '')).join(''),
    calls: parts.flatMap(({ functionCall }) => {
      const { name, args } = asFields(functionCall)
      return functionCall ? [{ name: String(name), input: args }] : []
    }),
    usages: objects.filter(({ usageMetadata }) => usageMetadata !== undefined).length,
  })
}

const MODELS = {
  chat: (fetch: typeof globalThis.fetch) => createOpenAI({ apiKey: 'x', fetch }).chat('m'),
  messages: (fetch: typeof globalThis.fetch) => createAnthropic({ apiKey: 'x', fetch })('m'),
  responses: (fetch: typeof globalThis.fetch) => createOpenAI({ apiKey: 'x', fetch }).responses('m'),
}

async function all<T>(stream: AsyncIterable<T>): Promise<T[]> {
  const parts: T[] = []
  for await (const part of stream) parts.push(part)
  return parts
}

/** What the AI SDK makes of a stream. */
async function readByAi(dialect: Dialect, text: string): Promise<Read> {
  if (dialect === 'gemini') return readObjects(text)
  const prompt = [{ role: 'user' as const, content: [{ type: 'text' as const, text: 'hello' }] }]
  const { stream } = await MODELS[dialect](answering(text)).doStream({ prompt })
  const parts = await all(stream)
  const failed = parts.find(({ type }) => type === 'error')
  if (failed) throw new Error(JSON.stringify(failed), { cause: failed })
  return {
    text: parts.map((part) => (part.type === 'text-delta' ? part.delta : '')).join(''),
    calls: parts.flatMap((part) =>
      part.type === 'tool-call' ? [{ name: part.toolName, input: inputOf(part.input) }] : [],
    ),
    usages: parts.filter((part) => part.type === 'finish' && (part.usage.outputTokens.total ?? 0) > 0).length,
  }
}

async function expectWhole(dialect: Dialect, text: string, said: Omit<Read, 'usages'> = SAID): Promise<void> {
  for (const { calls, ...read } of [await OFFICIAL[dialect](text), await readByAi(dialect, text)]) {
    expect(read).to.deep.equal({ text: said.text, usages: 1 })
    expect(calls).to.have.deep.members(said.calls)
  }
}

describe('a stream of which events are missing', () => {
  for (const upstream of Object.keys(VENDOR_STREAMS) as Spoken[]) {
    const { events, end, isNeeded } = VENDOR_STREAMS[upstream]
    const streamWithout = (removed: readonly Fields[]): string => {
      const left = events.filter((event) => !removed.includes(event))
      return streamOf(...events.filter((event) => left.includes(event) || isNeeded(event, left)), ...end)
    }

    for (const dialect of DIALECTS) {
      it(`is complete for every client, and costs the same: ${dialect} over ${upstream}`, async () => {
        const all = await served(dialect, upstream, streamWithout([]))
        expect(all.tokens).to.include({ input: 20, output: 9 })
        await fc.assert(
          fc.asyncProperty(fc.subarray(events), async (removed) => {
            const stream = streamWithout(removed)
            const { text, tokens, whole } = await served(dialect, upstream, stream)
            await expectWhole(dialect, text)
            const isReported = /"(output|completion)_tokens":9|"thoughtsTokenCount":3/.test(stream)
            const counted = { input: BOUNDS.estimate.input, output: dialectOf(dialect).answers.count(whole) }
            if (isReported) expect(tokens.output).to.equal(9)
            else if (!/_tokens"|TokenCount"/.test(stream)) expect(tokens).to.deep.equal(counted)
          }),
          { numRuns: 40 },
        )
      })

      it(`is the same of a whole answer, and of one that was stored: ${dialect} over ${upstream}`, async () => {
        const { whole: answer } = await served(upstream, upstream, streamWithout([]))
        const { text, tokens, whole } = await served(dialect, upstream, JSON.stringify(answer))
        expect(tokens).to.include({ input: 20, output: 9 })
        for (const stream of [text, replayed(dialect, whole)]) await expectWhole(dialect, stream)
      })
    }
  }
})

const weather = (city: string) => ({ name: 'get_weather', input: { city } })

/** What recorded streams say: a text, or else calls. */
const RECORDED: [names: string, text: string, ...calls: Read['calls']][] = [
  ['openai-default openai-message-beside-delta openai-message-full-beside-delta openai-ids-missing', TEXT],
  ['openai-sse-empty-data openai-sse-keepalive-word openai-sse-done-space openai-sse-done-newline-json', TEXT],
  ['openai-sse-done-quoted openai-sse-ping openai-sse-crlf openai-sse-bom openai-ids-null', TEXT],
  ['openai-error-empty-object openai-usage-every-chunk openai-usage-after-done moonshot-usage', TEXT],
  ['anthropic-default anthropic-no-event-lines anthropic-delta-zero anthropic-delta-cache-null', TEXT],
  ['mistral-thinking', 'The answer is 42.'],
  ['mistral-parts', 'Hello big world'],
  ['openai-tools-empty-id openai-tools-null-fields anthropic-thinking', '', weather('Paris')],
  ['openai-tools-no-args anthropic-tool-noargs', '', { name: 'ping', input: {} }],
  ['openai-tools-index0', '', weather('Paris'), weather('Rome'), { name: 'get_time', input: { tz: 'UTC' } }],
]

/** The events without which nobody can know all of an answer. */
const NEEDED = {
  messages: /content_block_delta|"tool_use","id"|message_stop/,
  chat: /^data: (?!.*("delta":\{("role":"assistant"(,"content":"")?)?\}|"choices":\[\])).*[{\]]/m,
}

describe('a recorded stream', () => {
  for (const [names, text, ...calls] of RECORDED)
    for (const name of names.split(' '))
      it(`says the same to every client at the same charge, whatever is left out of it: ${name}`, async () => {
        const upstream = name.startsWith('anthropic-') ? 'messages' : 'chat'
        const events = String(answerOf(name, 'stream').body).split(/(?<=\n\r?\n)/)
        const optional = events.filter((event) => !NEEDED[upstream].test(event))
        const property = fc.asyncProperty(
          fc.constantFrom(...DIALECTS),
          fc.subarray(optional),
          async (dialect, removed) => {
            const stream = events.filter((event) => !removed.includes(event)).join('')
            const { text: told, tokens } = await served(dialect, upstream, stream)
            await expectWhole(dialect, told, { text, calls })
            const { tokens: own } = await served(upstream, upstream, stream)
            expect(tokens.output).to.be.closeTo(own.output, 1)
            expect({ ...tokens, output: 0 }).to.deep.equal({ ...own, output: 0 })
          },
        )
        await fc.assert(property, { numRuns: 12, examples: DIALECTS.map((dialect) => [dialect, []]) })
      })
})

describe('a stream that fails', () => {
  it("throws the error of OpenAI's SDK behind what had come", async () => {
    const { events, end } = VENDOR_STREAMS.chat
    const { text } = await served('chat', 'chat', streamOf(...events, ...end))
    const refused: string[] = []
    const send = (data: string) => refused.push(sseOf(data))
    const error = { type: 'upstream_failed', code: 'upstream_failed', message: 'The upstream failed.', param: null }
    WRITERS.chat()
      .begin({ send } as unknown as EventStream)
      .refuse({ ok: false, error })
    const begun = text.slice(0, text.indexOf('\n\n', text.length / 2) + 2)
    const failure: unknown = await OFFICIAL.chat(`${begun}${refused.join('')}`).catch((one: unknown) => one)
    expect(failure).to.be.instanceOf(OpenAI.APIError).and.to.include({ type: 'upstream_failed' })
  })
})

describe('an odd answer', () => {
  for (const { why, upstream, events, expected } of ODD) {
    for (const [dialect, brief] of expected) {
      it(`is what it means, and is counted once: ${why}, ${dialect} over ${upstream}`, async () => {
        const stream = streamOf(...events, '[DONE]')
        const { whole, tokens } = await served(dialect, upstream, stream)
        expect(BRIEF[dialect](whole)).to.deep.equal(brief)
        // A blank line between two parts is a token more.
        const { tokens: own } = await served(upstream, upstream, stream)
        expect(tokens.output).to.be.closeTo(own.output, 1)
      })
    }
  }
})
