import { expect } from 'chai'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/folders.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { post, send } from '../../../scripts/harness/http.ts'
import { eventsOf, saying, streaming } from '../../upstreams/support/scripted.ts'
import { useAccount, useGateway, useScripted } from '../../support/gateway.ts'

type Fields = Record<string, unknown>

/** Values that a careless copy changes. `__proto__` is a key like others. */
const INPUT = JSON.parse(
  '{"z":9007199254740991,"a":[0.1,-0.5,1e+21,1e-7,true,null,{},[],""],"__proto__":{"x":1},' +
    '"text":"é 你好 😀 \u2028 \\" \\\\ \\n \\t \\u0001 </script>","constructor":"c"}',
) as Fields

const USE = { type: 'tool_use', id: 'toolu_1', name: 'look', input: INPUT }
const TOOLS = [
  { name: 'look', description: 'x', input_schema: { type: 'object', properties: { z: { default: INPUT } } } },
]

/** JSON as some clients spell it, and Node does not. */
const ODD = String.raw`{"a":1.0,"b":10.50,"c":"\u0041\/\u00e9","d":1,"d":2,"10":"ten"}`

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

describe('a call and its upstream', () => {
  const scripted = useScripted()
  const gateway = useGateway({}, ({ upstreams, models }) => {
    const pricing = { input: 1000, output: 3000, perTokens: 1000, minimum: 1 }
    for (const protocol of [...Object.keys(STREAMS), 'responses']) {
      upstreams[protocol] = { ...upstreams.sandbox, protocol, baseUrl: scripted.origin }
      models.push({ id: `by-${protocol}`, modality: 'chat', pricing, upstreams: [{ upstream: protocol, model: 'm' }] })
    }
  })
  const account = useAccount(gateway, 100_000)

  const ask = (body: string): Promise<Reply> => send('POST', `${gateway.url}/v1/messages`, { key: account.key, body })

  const message = (content: unknown): Fields => ({
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    model: 'a-claude',
    content,
    stop_reason: 'tool_use',
    stop_sequence: null,
    usage: { input_tokens: 5, output_tokens: 5 },
  })

  /** Turns in which a tool was called; the prompt is of whom the script says. */
  const turnsOf = (prompt: string): Fields[] => [
    { role: 'user', content: prompt },
    { role: 'assistant', content: [{ type: 'thinking', thinking: 'hm', signature: 'c2ln' }, USE] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen', is_error: false }] },
  ]

  it('of the same dialect exchange turns, tools and answers byte for byte', async () => {
    let sent = ''
    const prompt = scripted.prompt((request, response, body) => {
      sent = body
      saying(JSON.stringify(message([USE])))(request, response, body)
    })
    const messages = turnsOf(prompt)
    const reply = await ask(JSON.stringify({ model: 'by-anthropic', max_tokens: 50, tools: TOOLS, messages }))
    expect(reply.status, reply.text).to.equal(200)
    expect(sent)
      .to.include(`"messages":${JSON.stringify(messages)}`)
      .and.include(`"tools":${JSON.stringify(TOOLS)}`)
    expect(reply.text).to.include(`"content":${JSON.stringify([USE])}`)
  })

  it('of the same dialect exchange a stream byte for byte, but for its first event and the last two', async () => {
    const { content: _content, ...head } = message([])
    const text = JSON.stringify(INPUT)
    const middle = [
      { type: 'content_block_start', index: 0, content_block: { ...USE, input: {} } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text.slice(0, 40) } },
      { type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: text.slice(40) } },
      { type: 'content_block_stop', index: 0 },
    ]
    const events = [
      { type: 'message_start', message: { ...head, content: [], stop_reason: null } },
      ...middle,
      { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ]
    const frame = (event: Fields): string => `event: ${String(event.type)}\ndata: ${JSON.stringify(event)}\n\n`
    const prompt = scripted.prompt(streaming(events.map(frame).join('')))
    const reply = await ask(
      JSON.stringify({ model: 'by-anthropic', max_tokens: 50, stream: true, messages: turnsOf(prompt) }),
    )
    expect(reply.text).to.include(middle.map(frame).join(''))
  })

  it('of the same dialect exchange JSON that is spelt in another way as what it says', async () => {
    let sent = ''
    const answer = JSON.stringify(message([{ ...USE, input: 'ODD' }])).replace('"ODD"', ODD)
    const prompt = scripted.prompt((request, response, body) => {
      sent = body
      saying(answer)(request, response, body)
    })
    const messages = [
      { role: 'user', content: prompt },
      { role: 'assistant', content: [{ ...USE, input: 'ODD' }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'seen' }] },
    ]
    const reply = await ask(JSON.stringify({ model: 'by-anthropic', max_tokens: 50, messages }).replace('"ODD"', ODD))
    expect(reply.status, reply.text).to.equal(200)
    const said = JSON.parse(ODD) as unknown
    const turns = (JSON.parse(sent) as { messages: { content: { input: unknown }[] }[] }).messages
    expect(turns[1]!.content[0]!.input).to.deep.equal(said)
    expect(reply.json.content[0].input).to.deep.equal(said)
  })

  it('of the same dialect is sent the bytes of its client, with what is to be changed in its place', async () => {
    const odd = String.raw`{ "a" : 1.0,  "big": 12345678901234567890, "c":"\u0041\/\u00e9" , "10":[ 1e2 ] }`
    const call = (id: string) => `{"type":"tool_use","id":"${id}","name":"look","input":${odd} }`
    const said = (prompt: string) => `{"role":"user" ,"content":"${prompt}"}`
    const looking =
      `{"type":"function","name":"look",` + `"parameters":{"type":"object", "properties":{}, "default": ${odd} }}`
    const bodies: [path: string, body: (prompt: string) => string, edited: (prompt: string) => string][] = [
      [
        '/v1/messages',
        (prompt) =>
          `{ "stream" : false, "metadata": {"z": 1.50}, "system":null,\n"messages" :[${said(prompt)},` +
          ` {"content":[ {"type":"text","text":" "}, ${call('a.b')}], "role":"assistant"}],` +
          ' "max_tokens": 5e1, "model":"by-anthropic" }',
        (prompt) =>
          `{ "stream" : false, "metadata": {"z": 1.50},\n"messages" :[${said(prompt)},` +
          ` {"content":[ ${call('a_b')}], "role":"assistant"}],` +
          ' "max_tokens": 5e1, "model":"m","service_tier":"standard_only" }',
      ],
      [
        '/v1/responses',
        (prompt) =>
          `{ "max_output_tokens": 5e1, "input" : [ ${said(prompt)} ], "store" : true,` +
          ` "tools": [{"type":"web_search"}, ${looking}], "model":"by-responses"}`,
        (prompt) =>
          `{ "max_output_tokens": 5e1, "input" : [ ${said(prompt)} ], "store" : false,` +
          ` "tools": [${looking}], "model":"m","service_tier":"default","stream":false}`,
      ],
    ]
    for (const [path, body, edited] of bodies) {
      let sent = ''
      const prompt = scripted.prompt((request, response, text) => {
        sent = text
        const answer = path === '/v1/messages' ? message([]) : { object: 'response', status: 'completed', output: [] }
        saying(JSON.stringify({ ...answer, usage: { input_tokens: 5, output_tokens: 1 } }))(request, response, text)
      })
      const written = body(prompt)
      const reply = await send('POST', `${gateway.url}${path}`, { key: account.key, body: written })
      expect(reply.status, reply.text).to.equal(200)
      expect(sent).to.equal(edited(prompt))
    }
  })

  for (const [dialect, { path, tools }] of Object.entries(ASKED)) {
    for (const [protocol, said] of Object.entries(STREAMS)) {
      it(`stream the bytes of the sample: ${dialect} over ${protocol}`, async () => {
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
