import { expect } from 'chai'
import { ChatCompletionStream } from 'openai/lib/ChatCompletionStream'
import type { Tokens } from '../../../src/shared/terms/pricing.ts'
import type { DirectMediaAdapter, FailureKind, MediaSource } from '../../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'
import type { Upstreams } from '../../../src/workers/upstreams/registry.ts'
import { PIXEL } from '../../support/pixel.ts'
import { TEXT } from '../../upstreams/recorded/answers.ts'
import { startRecorded } from '../../upstreams/recorded/upstream.ts'
import type { Recorded } from '../../upstreams/recorded/upstream.ts'
import { chatOf, choiceOf, contextOf, failureOf, routeTo } from '../upstreams/sandbox-upstreams.ts'
import { BOUNDS, readAnswer } from './reading.ts'
import type { ReadAnswer, Way } from './reading.ts'

/** Our own count of the input; that of the text is 28. */
const OWN = BOUNDS.estimate.input

const call = (id: string, name: string, args: string) => ({ id, type: 'function', function: { name, arguments: args } })
const said = { content: TEXT }
const ping = { tool_calls: [call('call_1', 'ping', '{}')] }
const weather = { tool_calls: [call('call_1', 'get_weather', '{"city":"Paris"}')] }
const claudePing = { tool_calls: [call('toolu_1', 'ping', '{}')] }
const manyCalls = [
  call('call_1', 'get_weather', '{"city":"Paris"}'),
  call('call_2', 'get_weather', '{"city":"Rome"}'),
  call('call_3', 'get_time', '{"tz":"UTC"}'),
]
const claude = { format: 'anthropic-claude-v1' }
const thought = { type: 'reasoning.text', text: 'Let me think.', signature: 'SIG==', ...claude, index: 0 }
const redacted = { type: 'reasoning.encrypted', data: 'REDACTED', ...claude, index: 1 }

/** Input and output; that of the streamed answer, or of each where they differ. */
type Counts = Partial<Tokens>
const USUAL = { input: 11, output: 17 }

/** What the message has that clients get, and what it is settled on. */
const GOOD: [names: string, ways: string, message: object, counts?: Counts][] = [
  ['openai-default', 'SR', said],
  ['openai-default openai-ids-missing openai-gzip openai-error-empty-object', 'W', said, { input: 11, output: 7 }],
  ['openai-message-beside-delta openai-message-full-beside-delta', 'SR', said],
  ['openai-sse-empty-data openai-sse-keepalive-word openai-sse-done-space openai-sse-done-newline-json', 'SR', said],
  ['openai-sse-done-quoted openai-sse-ping openai-sse-crlf openai-sse-bom openai-sse-nodone', 'SR', said],
  ['openai-sse-broken-json-event', 'SR', said],
  ['openai-sse-one-bad-byte', 'SR', { content: TEXT.replace('lazy', 'lazy\ufffd') }],
  ['azure-filter', 'S', { content: 'The quick brown fox' }, { input: 11, output: 4 }],
  ['openai-content-null', 'S', { content: null }, { input: 11, output: 0 }],
  ['openai-content-null', 'W', { content: null }, { input: 11, output: 7 }],
  ['openai-sse-bytes', 'SR', { content: 'Grüße 🌍 你好' }],
  ['openai-reset-after-finish openai-reset-after-done', 'SR', said],
  ['openai-hang-after-finish', 'S', said],
  ['openai-ct-json-sse openai-ct-none-sse openai-ids-missing openai-ids-null', 'SR', said],
  ['openai-ct-sse-for-whole', 'W', said],
  ['openai-gzip openai-error-empty-object', 'S', said],
  ['mistral-thinking', 'SR', { content: 'The answer is 42.', reasoning_content: 'Let me think.' }],
  ['mistral-parts', 'SR', { content: 'Hello big world' }],
  ['openai-function-call', 'SR', { function_call: { name: 'get_weather', arguments: '{"city":"Paris"}' } }],
  ['openai-tools-index0', 'SR', { tool_calls: manyCalls }],
  ['openai-tools-empty-id openai-tools-null-fields', 'SR', weather],
  ['openai-tools-no-args', 'SR', ping],
  ['anthropic-default', 'SRW', said],
  ['gemini-default', 'SRW', said],
  ['gemini-finish-each', 'SR', said],
  ['gemini-list gemini-nulls', 'SRW', said],
  ['gemini-calls', 'SRW', { tool_calls: manyCalls }],
  ['gemini-thoughts', 'SR', { ...said, reasoning_content: 'Let me think.' }],
  ['gemini-thoughts-added gemini-thoughts-no-total gemini-tool-use', 'W', said],
  ['gemini-length-thinking', 'W', { content: '' }],
  ['gemini-safety', 'SR', { content: 'The quick brown fox', refusal: 'Stopped for safety.' }, { input: 11, output: 4 }],
  ['anthropic-no-event-lines', 'SR', said],
  ['anthropic-tool-noargs', 'SRW', claudePing],
  ['anthropic-thinking', 'SR', { reasoning_content: 'Let me think.', reasoning_details: [thought] }],
  ['anthropic-thinking', 'W', { content: 'Checking.', reasoning_details: [thought, redacted] }],
  // What they have used.
  ['openai-usage-none openai-usage-zero', 'SRW', said, { input: OWN, output: 28 }],
  ['openai-usage-zero-then-words', 'S', said, { input: OWN, output: 28 }],
  ['openai-usage-zero-prompt', 'SW', said, { input: OWN, output: 17 }],
  ['openai-usage-zero-output', 'SW', said, { input: 11, output: 28 }],
  ['openai-usage-every-chunk', 'SR', said],
  ['openai-usage-total-strange', 'W', said, { input: 100, output: 28 }],
  ['openai-usage-prompt-huge', 'W', said, { input: OWN, output: 17 }],
  ['anthropic-all-zero', 'S', said, { input: OWN, output: 28 }],
  ['anthropic-start-zero-never', 'S', said, { input: OWN, output: 17 }],
  ['anthropic-usage-huge', 'W', said, { input: 11, output: 28 }],
  ['openai-usage-prompt-without-cache', 'SW', said, { input: 100, cached: 5000, output: 17 }],
  ['gemini-cached', 'W', said, { input: 100, cached: 1900, output: 17 }],
  ['moonshot-usage', 'SW', said, { input: 100, cached: 1900, output: 17 }],
  ['moonshot-usage-both deepseek-usage', 'W', said, { input: 100, cached: 1900, output: 17 }],
  ['openai-usage-anthropic-names', 'W', said, { input: 50, cached: 1900, written: 50, output: 17 }],
  ['openrouter-usage-cache', 'W', said, { input: 100, cached: 400, written: 1500, output: 17 }],
  // Reported behind [DONE].
  ['openai-usage-after-done', 'S', said, { input: 1000, output: 17 }],
  ['openai-usage-null-details', 'W', said, { input: 2000, output: 17 }],
  ['anthropic-start-zero', 'S', said, { input: 1000, output: 17 }],
  [
    'anthropic-delta-zero anthropic-delta-cache-null',
    'S',
    said,
    { input: 1000, cached: 5000, written: 300, output: 17 },
  ],
]

/** What failed, and how: only an unknown outcome is tried again at the same upstream. */
const BAD: [names: string, ways: string, kind: FailureKind][] = [
  ['openrouter-choice-error', 'SW', 'unknown'],
  ['openai-finish-error-only vllm-object-error openai-error-text-data openrouter-top-error', 'S', 'unknown'],
  ['openai-close-mid', 'S', 'unknown'],
  ['openai-event-error vllm-object-error', 'SR', 'unknown'],
  ['openai-error-200-string', 'W', 'unknown'],
  ['openai-error-first openai-role-then-error anthropic-error-event', 'S', 'overloaded'],
  ['openai-wrong-key openrouter-no-credit openai-no-such-model openai-no-quota', 'W', 'not_served'],
  ['gemini-cut', 'S', 'unknown'],
  ['gemini-error-event', 'S', 'overloaded'],
  ['gemini-malformed-call', 'SW', 'unknown'],
  ['gemini-empty', 'SW', 'unknown'],
  ['gemini-blocked', 'SRW', 'rejected'],
  ['gemini-error-list', 'SW', 'rate_limited'],
  ['gemini-wrong-key', 'SW', 'not_served'],
  ['moonshot-no-balance zhipu-no-balance openai-gzip-error', 'W', 'not_served'],
]

describe('a recorded answer', () => {
  let upstream: Recorded
  let upstreams: Upstreams
  before(async () => {
    upstream = await startRecorded()
    upstreams = createUpstreams({ accountShare: 1 })
  })
  after(async () => {
    await upstreams.close()
    await upstream.close()
  })

  function read(name: string, way: Way): Promise<ReadAnswer> {
    const vendor = name.split('-')[0]!
    const protocol = vendor === 'anthropic' || vendor === 'gemini' ? vendor : 'openai'
    const path = protocol === 'openai' ? '/v1' : ''
    const route = routeTo(protocol, `${upstream.origin}${path}`, { allow: ['thinking'] })
    return readAnswer(upstreams, route, chatOf(`Hello [case ${name}]`), way)
  }

  for (const [names, ways, message, counts = USUAL] of GOOD)
    for (const name of names.split(' '))
      for (const way of ways as Iterable<Way>) {
        it(`is read as it was meant, and settled as far as it can be true: ${name}, ${way}`, async () => {
          const { answer, tokens, frames } = await read(name, way)
          const got = choiceOf({ answer, usage: null }).message
          expect(got).to.deep.include({ role: 'assistant', ...message })
          const { input, output, cached = 0, written = 0 } = tokens
          expect({ input, output, cached, written }).to.deep.equal({ cached: 0, written: 0, ...counts })
          if (way === 'S') await expectSound(frames, got)
        })
      }

  /** What every client may expect of chunks, and that the official SDK puts them together to this message. */
  async function expectSound(frames: string[], message: ReturnType<typeof choiceOf>['message']): Promise<void> {
    type Chunk = { id: string; created: number; choices: { index: number; delta: { role?: string } }[] }
    const chunks = frames.map((frame) => JSON.parse(frame) as Chunk)
    expect(new Set(chunks.map(({ id }) => id)).size).to.equal(1)
    expect(new Set(chunks.map(({ created }) => created)).size).to.be.at.most(2)
    const choices = chunks.flatMap((chunk) => chunk.choices)
    expect(choices.every(({ index }) => index === 0)).to.equal(true)
    const roles = choices.flatMap(({ delta }) => delta.role ?? [])
    expect([choices[0]!.delta.role, roles.length]).to.deep.equal(['assistant', 1])
    const lines = new Blob([frames.map((frame) => `${frame}\n`).join('')]).stream()
    const read = (await ChatCompletionStream.fromReadableStream(lines).finalChatCompletion()).choices[0]!.message
    expect(read.content ?? '').to.equal(message.content ?? '')
    const labels = (calls: readonly object[] | undefined) =>
      (calls ?? []).map((one) => {
        const { id, type, function: called } = one as ReturnType<typeof call>
        return [id, type, called.name]
      })
    expect(labels(read.tool_calls)).to.deep.equal(labels(message.tool_calls))
    expect(read.function_call ?? null).to.deep.equal(message['function_call'] ?? null)
  }

  for (const [names, ways, kind] of BAD)
    for (const name of names.split(' '))
      for (const way of ways as Iterable<Way>) {
        it(`is a failure that is ${kind}: ${name}, ${way}`, async () => {
          expect(await failureOf(read(name, way))).to.include({ kind })
        })
      }

  it('is a picture, in whichever field it is', async () => {
    const adapter = upstreams.adapterOf('openai').image as DirectMediaAdapter
    const filesOf = async (name: string): Promise<readonly MediaSource[]> => {
      const context = contextOf(routeTo('openai', `${upstream.origin}/v1`))
      return (await adapter.generate({ prompt: `x [case openai-image-${name}]` }, context)).files
    }
    for (const name of ['b64', 'datauri']) {
      const [file] = await filesOf(name)
      expect(file?.from === 'bytes' && Buffer.from(file.bytes).toString('base64'), name).to.equal(PIXEL)
    }
    for (const name of ['url-emptyb64', 'url-nullb64', 'images'])
      expect(await filesOf(name), name).to.have.nested.property('[0].url', `${upstream.origin}/file/picture`)
  })
})
