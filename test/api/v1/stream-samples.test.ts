import { expect } from 'chai'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/folders.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { post } from '../../../scripts/harness/http.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import type { Scripted } from '../../upstreams/support/scripted.ts'
import { eventsOf, startScripted, streaming } from '../../upstreams/support/scripted.ts'

/** Set, the samples are written anew from what is answered: to be read before they are committed. */
const RECORDS = process.env.RECORD_SAMPLES === '1'

const chunk = (choice: object, more: object = {}) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 1_790_000_000,
  model: 'upstream-model',
  system_fingerprint: 'fp_1',
  choices: [{ index: 0, finish_reason: null, ...choice }],
  ...more,
})
const call = (index: number, more: object) => chunk({ delta: { tool_calls: [{ index, ...more }] } })

/** What upstreams of each protocol stream: thoughts, words, two calls of tools, usage. */
const STREAMS = {
  openai: eventsOf(
    chunk({ delta: { role: 'assistant', content: '' } }),
    chunk({ delta: { reasoning_content: 'Two ' } }),
    chunk({ delta: { reasoning_content: 'cities.' } }),
    chunk({ delta: { content: 'I look ' }, logprobs: null }),
    chunk({ delta: { content: 'at é 你好 😀.' } }),
    call(0, { id: 'call_a', type: 'function', function: { name: 'look', arguments: '' } }),
    call(0, { function: { arguments: '{"at":"Ro' } }),
    call(1, { id: 'call_b', type: 'function', function: { name: 'look', arguments: '{"at":"Oslo"}' } }),
    call(0, { function: { arguments: 'me"}' } }),
    chunk({ delta: {}, finish_reason: 'tool_calls' }),
    { ...chunk({}), choices: [], usage: { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 } },
  ),
  anthropic: eventsOf(
    {
      type: 'message_start',
      message: {
        id: 'msg_1',
        type: 'message',
        role: 'assistant',
        model: 'upstream-model',
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: { input_tokens: 12, cache_read_input_tokens: 8, cache_creation_input_tokens: 0, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Two cities.' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
    { type: 'ping' },
    { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'I look at é 你好 😀.' } },
    { type: 'content_block_stop', index: 1 },
    {
      type: 'content_block_start',
      index: 2,
      content_block: { type: 'tool_use', id: 'toolu_a', name: 'look', input: {} },
    },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"at":"Ro' } },
    { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: 'me"}' } },
    { type: 'content_block_stop', index: 2 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 9 } },
    { type: 'message_stop' },
  ),
}

/** How a chat is asked for in each dialect. */
const ASKED = {
  chat: {
    path: '/v1/chat/completions',
    tools: [{ type: 'function', function: { name: 'look', parameters: { type: 'object', properties: {} } } }],
  },
  messages: { path: '/v1/messages', tools: [{ name: 'look', input_schema: { type: 'object', properties: {} } }] },
}

/** What differs from one answer to the next. */
const steady = (text: string): string =>
  text
    .replaceAll(/"id":"(msg|chatcmpl|toolu|call)[-_][0-9a-zA-Z-]{16,}"/g, '"id":"$1-…"')
    .replaceAll(/"created":\d+/g, '"created":…')

describe('the bytes of a stream', () => {
  let gateway: Gateway
  let scripted: Scripted
  before(async () => {
    scripted = await startScripted()
    gateway = await startGateway({}, ({ upstreams, models }) => {
      for (const protocol of Object.keys(STREAMS)) {
        upstreams[protocol] = { ...upstreams.sandbox, protocol, baseUrl: scripted.origin }
        const pricing = { input: 1000, output: 3000, perTokens: 1000, minimum: 1 }
        models.push({
          id: `by-${protocol}`,
          modality: 'chat',
          pricing,
          upstreams: [{ upstream: protocol, model: 'm' }],
        })
      }
    })
  })
  after(async () => {
    await gateway.stop()
    await scripted.close()
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  for (const [dialect, { path, tools }] of Object.entries(ASKED)) {
    for (const [protocol, said] of Object.entries(STREAMS)) {
      it(`are those of its sample: ${dialect} over ${protocol}`, async () => {
        const account = await anAccount(gateway.db, 100_000)
        const messages = [{ role: 'user', content: scripted.prompt(streaming(said)) }]
        const body = { model: `by-${protocol}`, max_tokens: 100, stream: true, messages, tools }
        const { status, text } = await post(`${gateway.url}${path}`, account.key, JSON.stringify(body))
        expect(status, text).to.equal(200)
        const file = join(root, 'test/api/v1/stream-samples', `${dialect}-over-${protocol}.txt`)
        if (RECORDS) writeFileSync(file, steady(text))
        expect(steady(text)).to.equal(readFileSync(file, 'utf8'))
      })
    }
  }
})
