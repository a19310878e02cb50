import type { Reply } from '../../../scripts/harness/http.ts'
import { expect } from 'chai'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../scripts/folders.ts'
import { saying, streaming } from '../../upstreams/support/scripted.ts'
import { VENDOR_STREAMS } from '../../upstreams/recorded/vendor-streams.ts'
import { streamOf } from '../../workers/upstreams/answer-bodies.ts'
import { useAccount, useGateway, useScripted } from '../../support/gateway.ts'

/** JSON as some clients spell it, and Node does not. */
const ODD = String.raw`{ "a" : 1.0,  "big": 12345678901234567890, "c":"\u0041\/\u00e9" , "10":[ 1e2 ], "__proto__":1 }`

/** Set, the samples are written anew from what is answered: to be read before they are committed. */
const RECORDS = process.env.RECORD_SAMPLES === '1'

const SCHEMA = { type: 'object', properties: {} }
const chat = (model: string, content: string, tool: object) => ({
  model,
  max_tokens: 100,
  stream: true,
  messages: [{ role: 'user', content }],
  tools: [tool],
})
const gemini = (text: string) => ({
  contents: [{ parts: [{ text }] }],
  tools: [{ functionDeclarations: [{ name: 'look', parametersJsonSchema: SCHEMA }] }],
})
/** How a chat is asked for in each form. */
const ASKED: Record<string, (model: string, prompt: string) => [path: string, body: object]> = {
  chat: (model, prompt) => [
    '/v1/chat/completions',
    chat(model, prompt, { type: 'function', function: { name: 'look', parameters: SCHEMA } }),
  ],
  messages: (model, prompt) => ['/v1/messages', chat(model, prompt, { name: 'look', input_schema: SCHEMA })],
  gemini: (model, prompt) => [`/v1beta/models/${model}:streamGenerateContent?alt=sse`, gemini(prompt)],
  'gemini-list': (model, prompt) => [`/v1beta/models/${model}:streamGenerateContent`, gemini(prompt)],
}
/** Protocols of upstreams, and the dialect in which each streams. */
const PROTOCOLS = { openai: 'chat', anthropic: 'messages' } as const

/** An answer without what differs from one to the next. */
const steady = (text: string): string =>
  text
    .replaceAll(/"id":"(msg|chatcmpl|toolu|call)[-_][0-9a-zA-Z-]{16,}"/g, '"id":"$1-…"')
    .replaceAll(/"created":\d+/g, '"created":…')
    .replaceAll(/"(responseId|thoughtSignature)":"[^"]*"/g, '"$1":"…"')

function expectSample({ status, text }: Reply, name: string): void {
  expect(status, text).to.equal(200)
  const file = join(root, 'test/api/v1/stream-samples', `${name}.txt`)
  if (RECORDS) writeFileSync(file, steady(text))
  expect(steady(text)).to.equal(readFileSync(file, 'utf8'))
}

// The bytes of a stream within its own dialect: calls/json-passes.test.ts.
describe('a call and its upstream', () => {
  const scripted = useScripted()
  const gateway = useGateway({}, ({ upstreams, models }) => {
    const pricing = { input: 1000, output: 3000, perTokens: 1000, minimum: 1 }
    for (const protocol of [...Object.keys(PROTOCOLS), 'responses']) {
      upstreams[protocol] = { ...upstreams.sandbox, protocol, baseUrl: scripted.origin }
      models.push({ id: `by-${protocol}`, modality: 'chat', pricing, upstreams: [{ upstream: protocol, model: 'm' }] })
    }
  })
  const account = useAccount(gateway, 100_000)

  const use = (id: string) => `{"type":"tool_use","id":"${id}","name":"look","input":${ODD} }`
  const said = (prompt: string) => `{"role":"user" ,"content":"${prompt}"}`
  const looking = `{"type":"function","name":"look","parameters":{"type":"object", "properties":{}, "x": ${ODD} }}`
  const message = '{"id":"msg_1","type":"message","role":"assistant","model":"a-claude","stop_reason":"tool_use",'
  const usage = '"usage":{"input_tokens":5,"output_tokens":5}}'
  const BODIES: [path: string, body: (prompt: string) => string, sent: (prompt: string) => string, answer: string][] = [
    [
      '/v1/messages',
      (prompt) =>
        `{ "stream" : false, "metadata": {"z": 1.50}, "system":null,\n"messages" :[${said(prompt)},` +
        ` {"content":[ {"type":"text","text":" "}, ${use('a.b')}], "role":"assistant"}],` +
        ' "max_tokens": 5e1, "model":"by-anthropic" }',
      (prompt) =>
        `{ "stream" : false, "metadata": {"z": 1.50},\n"messages" :[${said(prompt)},` +
        ` {"content":[ ${use('a_b')}], "role":"assistant"}],` +
        ' "max_tokens": 5e1, "model":"m","service_tier":"standard_only" }',
      `${message}"content":[${use('toolu_1')}],${usage}`,
    ],
    [
      '/v1/responses',
      (prompt) =>
        `{ "max_output_tokens": 5e1, "input" : [ ${said(prompt)} ], "store" : true,` +
        ` "tools": [{"type":"web_search"}, ${looking}], "model":"by-responses"}`,
      (prompt) =>
        `{ "max_output_tokens": 5e1, "input" : [ ${said(prompt)} ], "store" : false,` +
        ` "tools": [${looking}], "model":"m","service_tier":"default","stream":false}`,
      `{"object":"response","status":"completed","output":[],${usage}`,
    ],
  ]
  for (const [path, body, edited, answer] of BODIES)
    it(`of the same dialect is sent the bytes of its client, changed in their place: ${path}`, async () => {
      let sent = ''
      const prompt = scripted.prompt((request, response, text) => {
        sent = text
        saying(answer)(request, response, text)
      })
      const reply = await account.post(path, body(prompt))
      expect(reply.status, reply.text).to.equal(200)
      expect(sent).to.equal(edited(prompt))
      if (path === '/v1/messages') expect(reply.json.content[0].input).to.deep.equal(JSON.parse(ODD))
    })

  for (const [form, ask] of Object.entries(ASKED))
    for (const [protocol, own] of Object.entries(PROTOCOLS))
      it(`stream the bytes of the sample: ${form} over ${protocol}`, async () => {
        const { events, end } = VENDOR_STREAMS[own]
        const [path, body] = ask(`by-${protocol}`, scripted.prompt(streaming(streamOf(...events, ...end))))
        expectSample(await account.post(path, body), `${form}-over-${protocol}`)
      })
})
