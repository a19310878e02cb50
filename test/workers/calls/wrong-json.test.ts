import { expect } from 'chai'
import type { Protocol } from '../../../src/shared/catalogue/catalogue.ts'
import type { DirectMediaAdapter, TaskMediaAdapter } from '../../../src/workers/upstreams/adapter.ts'
import { createUpstreams } from '../../../src/workers/upstreams/registry.ts'
import type { Upstreams } from '../../../src/workers/upstreams/registry.ts'
import { eventsOf, saying, startScripted, streaming } from '../../upstreams/support/scripted.ts'
import type { Script, Scripted } from '../../upstreams/support/scripted.ts'
import type { Asked } from '../../upstreams/support/targets.ts'
import { chatOf, choiceOf, contextOf, failureOf, routeTo } from '../upstreams/sandbox-upstreams.ts'
import { BOUNDS, readAnswer } from './reading.ts'
import type { ReadAnswer, Way } from './reading.ts'

const chat = (message: unknown, more: object = {}) =>
  JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'stop' }], ...more })
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
  ['openai', 'chat', 'a message that is a list', '{"choices":[{"message":[]}]}'],
  ['openai', 'chat', 'tool calls that are a text', chat({ content: null, tool_calls: 'none' })],
  ['openai', 'chat', 'tool calls that are numbers', chat({ content: null, tool_calls: [7] })],
  ['openai', 'chat', 'an error under status 200', '{"error":{"message":"no","type":"server_error"}}'],
  ['anthropic', 'chat', 'content that is a text', '{"content":"hi","stop_reason":"end_turn"}'],
  ['anthropic', 'chat', 'content that is null', '{"content":null}'],
  ['anthropic', 'chat', 'a block whose text is a number', '{"content":[{"type":"text","text":7}]}'],
  ['anthropic', 'chat', 'an error under status 200', '{"type":"error","error":{"type":"api_error","message":"no"}}'],
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
    {},
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
  [
    'ends one of two choices',
    true,
    eventsOf(piece({ content: 'b' }, { index: 1 }), piece({}, { finish_reason: 'stop' })),
  ],
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
  let scripted: Scripted
  let upstreams: Upstreams
  before(async () => {
    scripted = await startScripted()
    upstreams = createUpstreams({ accountShare: 1 })
  })
  after(async () => {
    await upstreams.close()
    await scripted.close()
  })

  const read = (script: Script, way: Way, protocol: Protocol = 'openai'): Promise<ReadAnswer> =>
    readAnswer(upstreams, routeTo(protocol, scripted.origin), chatOf(scripted.prompt(script)), way)
  const messageOf = ({ answer }: ReadAnswer) => choiceOf({ answer, usage: null }).message

  function askFor(modality: Asked, protocol: Protocol, script: Script): Promise<unknown> {
    if (modality === 'chat') return read(script, 'W', protocol)
    const adapter = upstreams.adapterOf(protocol)[modality] as DirectMediaAdapter | TaskMediaAdapter
    const [request, context] = [{ prompt: scripted.prompt(script) }, contextOf(routeTo(protocol, scripted.origin))]
    return adapter.kind === 'direct' ? adapter.generate(request, context) : adapter.submit(request, context)
  }

  for (const [protocol, modality, what, body] of NONSENSE) {
    it(`fails with ${what} as a ${modality} of ${protocol}`, async () => {
      await failureOf(askFor(modality, protocol, saying(body)))
    })
  }

  for (const [what, body, expected] of USABLE) {
    it(`is used as far as possible, and paid by our own count: ${what}`, async () => {
      const got = await read(saying(body), 'W')
      expect(got.answer).to.include(expected)
      expect(got.answer.id).to.be.a('string')
      expect(got.answer.created).to.be.a('number')
      expect(messageOf(got).content).to.equal('ok')
      expect(got.tokens).to.include({ input: BOUNDS.estimate.input, output: 1 })
    })
  }

  for (const [what, begun, events] of BROKEN_STREAMS) {
    it(`fails where its stream ${what}`, async () => {
      await failureOf(read(streaming(events), begun ? 'S' : 'R'))
    })
  }

  for (const [what, events] of USABLE_STREAMS) {
    it(`is passed on where its stream ${what}`, async () => {
      const got = await read(streaming(events), 'S')
      expect(messageOf(got).content).to.equal('all of it')
      const ends = got.frames.filter((frame) => frame.includes('"finish_reason":"stop"'))
      expect(ends).to.have.length(1)
    })
  }

  const toolCall = (index: number) =>
    piece({ tool_calls: [{ index, id: `c${index}`, type: 'function', function: { name: 'f', arguments: '{}' } }] })

  it('is kept without gaps where its stream counts the tool calls from one', async () => {
    const events = eventsOf(toolCall(1), toolCall(3), piece({}, { finish_reason: 'tool_calls' }))
    const calls = messageOf(await read(streaming(events), 'S')).tool_calls!
    expect(calls.map(({ id }) => id)).to.deep.equal(['c1', 'c3'])
  })

  it('is paid for the tool calls that it has streamed, if a model produces more than are allowed', async () => {
    const calls = Array.from({ length: 1002 }, (_one, index) => toolCall(index))
    const { frames, tokens } = await read(streaming(eventsOf(...calls)), 'S')
    expect(frames.at(-1)).to.include('"finish_reason":"length"')
    expect(tokens.output).to.equal(1000)
  })
})
