import { expect } from 'chai'
import type { CountedChat } from '../../src/shared/chat/completions/estimate.ts'
import { estimateChat } from '../../src/shared/chat/completions/estimate.ts'
import type { Protocol } from '../../src/shared/catalogue/catalogue.ts'
import { countOutput } from '../../src/shared/requests/token-count.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { recordOf } from '../../scripts/harness/calling.ts'
import { get } from '../../scripts/harness/http.ts'
import { eventsOf, saying, startScripted, streaming } from './support/scripted.ts'
import type { Scripted } from './support/scripted.ts'
import { startStream } from './support/streams.ts'
import type { Asked } from './support/targets.ts'
import { FUNDS, TARGETS, aFundedAccount, ask, bodyOf, modelEntry, modelOf } from './support/targets.ts'

const chat = (message: unknown, more: object = {}) =>
  JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], ...more })
const openai = { protocol: 'openai', modality: 'chat' } as const

/** Answers with status 200 that are invalid. The call fails, whatever they cost. */
const NONSENSE: [Protocol, Asked, what: string, body: string][] = [
  ['openai', 'chat', 'an array', '[]'],
  ['openai', 'chat', 'null', 'null'],
  ['openai', 'chat', 'a text', '"fine"'],
  ['openai', 'chat', 'nothing', ''],
  ['openai', 'chat', 'a hundred thousand brackets', '['.repeat(100_000)],
  ['openai', 'chat', 'choices that are a text', '{"choices":"one"}'],
  ['openai', 'chat', 'choices that are an object', '{"choices":{"0":{}}}'],
  ['openai', 'chat', 'a choice that is null', '{"choices":[null]}'],
  ['openai', 'chat', 'a choice without a message', '{"choices":[{}]}'],
  ['openai', 'chat', 'a message that is a text', '{"choices":[{"message":"hi"}]}'],
  ['openai', 'chat', 'a content that is a number', chat({ content: 42 })],
  ['openai', 'chat', 'a content that is true', chat({ content: true })],
  ['openai', 'chat', 'tool calls that are a text', chat({ content: null, tool_calls: 'none' })],
  ['openai', 'chat', 'tool calls that are numbers', chat({ content: null, tool_calls: [7] })],
  ['openai', 'chat', 'an error under status 200', '{"error":{"message":"no","type":"server_error"}}'],
  ['anthropic', 'chat', 'content that is a text', '{"content":"hi","stop_reason":"end_turn"}'],
  ['anthropic', 'chat', 'content that is null', '{"content":null}'],
  ['anthropic', 'chat', 'a block whose text is a number', '{"content":[{"type":"text","text":7}]}'],
  ['anthropic', 'chat', 'an error under status 200', '{"type":"error","error":{"type":"api_error","message":"no"}}'],
  ['openai', 'image', 'data that is an object', '{"data":{"url":"http://x.example/"}}'],
  ['openai', 'image', 'a picture that is null', '{"data":[null]}'],
  ['openai', 'image', 'base64 that is a number', '{"data":[{"b64_json":42}]}'],
  ['openai', 'image', 'base64 that is none', '{"data":[{"b64_json":"<svg onload=alert(1)>"}]}'],
  ['openai', 'image', 'an address of no web', '{"data":[{"url":"file:///etc/passwd"}]}'],
  ['openai', 'image', 'an address that is none', '{"data":[{"url":"http://"}]}'],
  ['openrouter', 'image', 'data that is a text', '{"data":"x"}'],
  ['openai', 'video', 'an id that is a number', '{"id":7,"status":"queued"}'],
  ['openai', 'video', 'an id that is empty', '{"id":"","status":"queued"}'],
  ['openrouter', 'video', 'an id that is an object', '{"id":{},"status":"pending"}'],
  ['replicate', 'image', 'an id that is null', '{"id":null,"status":"starting"}'],
  ['fal', 'video', 'no addresses', '{"request_id":"r"}'],
  [
    'fal',
    'video',
    'addresses of another origin',
    '{"request_id":"r","status_url":"http://169.254.169.254/s","response_url":"http://169.254.169.254/r",' +
      '"cancel_url":"http://169.254.169.254/c"}',
  ],
]

/** Answers that are irregular, but usable. */
const USABLE: [what: string, body: string, expected: object][] = [
  ['a usage that is a text', chat({ role: 'assistant', content: 'ok' }, { usage: 'lots' }), {}],
  [
    'counts that are texts',
    chat({ role: 'assistant', content: 'ok' }, { usage: { prompt_tokens: '5', completion_tokens: '6' } }),
    {},
  ],
  [
    'fractions of tokens',
    chat({ role: 'assistant', content: 'ok' }, { usage: { prompt_tokens: 1.5, completion_tokens: 2.5 } }),
    {},
  ],
  [
    'an infinity of tokens',
    '{"choices":[{"message":{"role":"assistant","content":"ok"}}],' +
      '"usage":{"prompt_tokens":1e999,"completion_tokens":1}}',
    {},
  ],
  [
    'an id, a time and a model of wrong types',
    chat({ role: 'assistant', content: 'ok' }, { id: 7, created: 'now', model: {} }),
    { object: 'chat.completion' },
  ],
  [
    'an `ok` and a `usage` of its own that lie',
    chat({ role: 'assistant', content: 'ok' }, { ok: false, usage: { credits: -5, balance: 1e9 } }),
    { ok: true },
  ],
  ['a content that is an object', chat({ role: 'assistant', content: { text: 'ok' } }), {}],
  [
    'a `__proto__` and a `constructor`',
    '{"__proto__":{"polluted":1},"constructor":1,' +
      '"choices":[{"message":{"role":"assistant","content":"ok","__proto__":{"x":1}}}]}',
    {},
  ],
]

const piece = (delta: unknown, more: object = {}) => ({
  id: 'c',
  choices: [{ index: 0, delta, finish_reason: null, ...more }],
})

/** Streams that break. The status says so before anything was sent, and after that the last line. */
const BROKEN_STREAMS: [what: string, begun: boolean, events: string][] = [
  ['is no JSON', false, 'data: {"choi\n\n'],
  ['has choices of a wrong type', false, eventsOf({ choices: [7] })],
  ['numbers a choice with a billion', false, eventsOf(piece({ content: 'x' }, { index: 1e9 }))],
  ['numbers a tool call below zero', false, eventsOf(piece({ tool_calls: [{ index: -1 }] }))],
  ['ends at once', false, ''],
  ['says an error at once', false, eventsOf({ error: { message: 'no' } })],
  ['ends without a finish', true, eventsOf(piece({ content: 'half a' }))],
  ['turns to a content that is a number', true, eventsOf(piece({ content: 'half a' }), piece({ content: 42 }))],
  ['says an error later', true, eventsOf(piece({ content: 'half a' }), { error: { message: 'no' } })],
  ['turns to no JSON later', true, `${eventsOf(piece({ content: 'half a' }))}data: {"choi\n\n`],
]

/** Streams that are irregular, but usable. */
const USABLE_STREAMS: [what: string, events: string][] = [
  [
    'has no finish_reason before its [DONE]',
    `${eventsOf(piece({ content: 'all ' }), piece({ content: 'of it' }))}data: [DONE]\n\n`,
  ],
  [
    'has no blank line behind its last event',
    `${eventsOf(piece({ content: 'all of it' }))}data: ${JSON.stringify(piece({}, { finish_reason: 'stop' }))}`,
  ],
  [
    'has comments, events of other names, CRLF and a byte order mark',
    [
      '\uFEFF: hello\r\nevent: ping\r\ndata: {}\r\n\r\n',
      eventsOf(piece({ content: 'all of it' }), piece({}, { finish_reason: 'stop' })).replaceAll('\n', '\r\n'),
      'data: [DONE]\r\n\r\n',
    ].join(''),
  ],
  [
    'has deltas of null',
    eventsOf(
      { choices: [{ index: 0, delta: null }] },
      piece({ content: 'all of it' }),
      piece(null, { finish_reason: 'stop' }),
    ) + 'data: [DONE]\n\n',
  ],
]

describe('an upstream with irregular JSON', () => {
  let gateway: Gateway
  let scripted: Scripted
  before(async () => {
    scripted = await startScripted()
    gateway = await startGateway({}, ({ upstreams, models }) => {
      for (const target of TARGETS) {
        upstreams[target.protocol] = { protocol: target.protocol, baseUrl: scripted.origin }
        models.push(modelEntry(modelOf(target), target.modality, [{ upstream: target.protocol, model: 'some/model' }]))
      }
    })
  })
  after(async () => {
    await gateway.stop()
    await scripted.close()
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  for (const [protocol, modality, what, body] of NONSENSE) {
    it(`is refunded for ${what} as a ${modality} of ${protocol}`, async () => {
      const account = await aFundedAccount(gateway)
      const reply = await ask(gateway, account, { protocol, modality }, scripted.prompt(saying(body)))
      expect(reply.status, reply.text).to.equal(502)
      expect(reply.json.error).to.include({ type: 'upstream_failed' })
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
    })
  }

  for (const [what, body, expected] of USABLE) {
    it(`is used as far as possible, and replayed as a stream: ${what}`, async () => {
      const account = await aFundedAccount(gateway)
      const prompt = scripted.prompt(saying(body))
      const asking = { headers: { 'idempotency-key': prompt } }
      const reply = await ask(gateway, account, openai, prompt, asking)
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json).to.include({ ok: true, model: 'openai-chat', ...expected })
      expect(reply.json.id).to.be.a('string')
      expect(reply.json.created).to.be.a('number')
      expect(reply.json.choices[0].message.content).to.equal('ok')
      expect(reply.json.usage.credits)
        .to.equal(FUNDS - (await balanceOf(gateway.db, account.id)))
        .and.to.be.above(0)
      const asked = bodyOf(openai, prompt) as CountedChat
      const counted = { inputTokens: estimateChat(asked, {}).input, outputTokens: countOutput(reply.json.choices) }
      expect(await recordOf(gateway.db, reply)).to.include(counted)
      const stream = await startStream(gateway, account, openai, prompt, asking)
      await stream.ended
      expect(stream.last(), stream.text()).to.equal('[DONE]')
      expect(stream.content()).to.equal('ok')
    })
  }

  for (const [what, begun, events] of BROKEN_STREAMS) {
    it(`is refunded where its stream ${what}`, async () => {
      const account = await aFundedAccount(gateway)
      const stream = await startStream(gateway, account, openai, scripted.prompt(streaming(events)))
      await stream.ended
      expect(stream.status).to.equal(begun ? 200 : 502)
      const last = begun ? stream.chunks().at(-1) : JSON.parse(stream.text())
      expect(last.error).to.include({ type: 'upstream_failed' })
      expect(stream.text()).to.not.include('[DONE]')
      expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS)
    })
  }

  for (const [what, events] of USABLE_STREAMS) {
    it(`is passed on where its stream ${what}`, async () => {
      const account = await aFundedAccount(gateway)
      const stream = await startStream(gateway, account, openai, scripted.prompt(streaming(events)))
      await stream.ended
      expect(stream.last(), stream.text()).to.equal('[DONE]')
      expect(stream.content()).to.equal('all of it')
      expect(stream.chunks().filter(({ choices }) => choices[0]?.finish_reason === 'stop')).to.have.length(1)
      expect(stream.chunks().at(-1)!.usage).to.include({ balance: await balanceOf(gateway.db, account.id) })
    })
  }

  it('is kept without gaps where its stream counts the tool calls from one', async () => {
    const account = await aFundedAccount(gateway)
    const events = [1, 3].map((index) =>
      piece({ tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }] }),
    )
    const script = streaming(eventsOf(...events, piece({}, { finish_reason: 'tool_calls' })))
    const stream = await startStream(gateway, account, openai, scripted.prompt(script))
    await stream.ended
    const { json } = await get(`${gateway.url}/v1/calls/${stream.headers.get('x-call-id')}`, account.key)
    expect(json.choices[0].message.tool_calls.map((call: { id: string } | null) => call?.id)).to.deep.equal([
      'c1',
      'c3',
    ])
  })

  it('is paid for the tool calls that it has streamed, if a model produces more than are allowed', async () => {
    const account = await aFundedAccount(gateway)
    const calls = Array.from({ length: 1002 }, (_one, index) =>
      piece({ tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }] }),
    )
    const stream = await startStream(gateway, account, openai, scripted.prompt(streaming(eventsOf(...calls))))
    await stream.ended
    expect(stream.last(), stream.text().slice(-300)).to.equal('[DONE]')
    const last = stream.chunks().at(-1)!
    expect(last.choices[0]!.finish_reason).to.equal('length')
    const usage = last.usage!
    expect(usage).to.include({ output_tokens: 1000, credits: FUNDS - (await balanceOf(gateway.db, account.id)) })
    expect(usage.credits).to.be.above(2000)
  })
})
