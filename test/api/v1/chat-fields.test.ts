import { expect } from 'chai'
import { checkChat } from '../../../src/shared/chat/completions/check.ts'
import type { JsonObject } from '../../../src/api/middleware/json-body.ts'
import { cpuRatio } from '../../support/pace.ts'
import { PIXEL_URI } from '../../support/pixel.ts'
import { OK, verdict } from './support/parsing.ts'

const PARTS = { file: 100, input_audio: 100, video: 100, document: 100 }
const call = { id: 'a', type: 'function', function: { name: 'f', arguments: '{}' } }
const tool = { type: 'function', function: { name: 'f' } }

/** `ok`, or the code of a body's error and the field that it names. */
const verdictOn = (body: object, partTokens?: Record<string, number>, allow: string[] = []): string =>
  verdict(() => checkChat(body as JsonObject, { upstreams: [{ allow }], partTokens }))

const message = { role: 'user', content: 'x' }
const withField = (name: string, value: unknown): object => ({ messages: [message], [name]: value })
const withPart = (...content: unknown[]): object => ({ messages: [{ role: 'user', content }] })
const picture = (url: string): object => ({ type: 'image_url', image_url: { url } })
const FIRST = 'messages[0].content[0]'

/** The accepted fields: in JSON, values that are taken, and values that are refused. */
const FIELDS = `
top_p               | 0, 1                     | -0.1, 1.1, "1"
top_k               | 0, 40                    | 1.5, "4"
min_p               | 0.05                     | 2, "0"
stop                | "x", ["a", "b"]          | 5, [5], ["a", "b", "c", "d", "e"]
seed                | 7, -7                    | 1.5, "7"
presence_penalty    | -2, 2                    | 2.1, "1"
frequency_penalty   | -2, 2                    | -2.1, {}
repetition_penalty  | 1.1                      | -1, "x"
logit_bias          | {}, {"50": -100}         | {"50": 101}, {"50": "x"}, [1], "x"
logprobs            | true                     | "true", 1
top_logprobs        | 0, 20                    | 21, 1.5
tools               | [], [{"type": "function", "function": {"name": "f"}}] | {}, "x"
tools               | [{"type": "function", "function": {"name": "f", "parameters": {}, "strict": true}}] |
tool_choice         | "auto", "none", "required", "any" | "all", {"type": "web_search"}, 5
tool_choice         | {"type": "function", "function": {"name": "f"}}, {"type": "custom", "custom": {"name": "f"}} |
parallel_tool_calls | false                    | "false"
response_format     | {"type": "text"}, {"type": "json_object"} | {"type": "xml"}, {"type": "text", "url": "x"}, "text"
response_format     | {"type": "json_schema", "json_schema": {"name": "n", "schema": {}, "strict": true}} |
reasoning_effort    | "none", "minimal", "low", "medium", "high", "xhigh" | "enormous", 5
verbosity           | "low"                    | "x", 1
user                | "u"                      | 5, {}
metadata            | {"a": "b"}               | "x", 5
store               | true                     | "x"
stream_options      | {"include_usage": true, "include_obfuscation": false} | {"more": 1}, {"include_usage": "x"}, "x"
prompt_cache_key    | "k"                      | 5
safety_identifier   | "k"                      | 5
prediction          | {"type": "content", "content": "x"} | "x"
prediction          | {"type": "content", "content": [{"type": "text", "text": "x"}]} |
prediction          |                          | {"type": "content", "content": [{}]}
functions           | [{"name": "f", "parameters": {}}] | {}, "x"
function_call       | "auto", "none", {"name": "f"} | "any", {}
modalities          | ["text"]                 | ["text", "audio"], ["audio"], [], "text"
usage               | {"include": true}, {}    | true, {"include": "x"}, {"more": 1}
service_tier        | "auto", "default"        | "flex", "priority", 5
reasoning           | {"effort": "high"}, {"enabled": true, "exclude": false} | {"max_tokens": 100}, "high"
reasoning           | {"effort": null, "summary": "auto"} | {"effort": "enormous"}
`

describe('the accepted fields of a chat', () => {
  for (const row of FIELDS.trim().split('\n')) {
    const [name, good, bad] = row.split('|').map((cell) => cell.trim()) as [string, string, string]
    it(`include ${name}, of its own type and range: ${good}`, () => {
      for (const value of [...(JSON.parse(`[${good}]`) as unknown[]), null])
        expect(verdictOn(withField(name, value)), JSON.stringify(value)).to.equal(OK)
      for (const value of JSON.parse(`[${bad}]`) as unknown[])
        expect(verdictOn(withField(name, value)), JSON.stringify(value)).to.match(
          new RegExp(`^invalid_request ${name}`),
        )
    })
  }

  const UNKNOWN =
    'models provider plugins enable_thinking thinking chat_template_kwargs n_predict api_base web_search_options ' +
    'prompt_cache_retention best_of audio prompt messages2 toString __proto__ '
  for (const name of UNKNOWN.split(' '))
    it(`do not include ${JSON.stringify(name)}, which is refused by its name, unless it is null`, () => {
      const given = (value: unknown): object =>
        JSON.parse(`{"messages":[${JSON.stringify(message)}],"${name}":${JSON.stringify(value)}}`) as object
      expect(verdictOn(given(null))).to.equal(OK)
      for (const value of ['x', {}, [], false]) expect(verdictOn(given(value))).to.equal(`invalid_request ${name}`)
    })

  it('include those that an upstream of the model allows', () => {
    expect(verdictOn(withField('service_tier', 'flex'), undefined, ['service_tier'])).to.equal(OK)
    expect(verdictOn(withField('models', []), undefined, ['service_tier'])).to.equal('invalid_request models')
  })

  it('are refused with why, and where the operator can allow them', () => {
    const refusing = (name: string, value: unknown) => () =>
      checkChat(withField(name, value) as JsonObject, { upstreams: [] })
    for (const name of ['enable_thinking', 'thinking', 'chat_template_kwargs', 'prompt_cache_retention', 'models'])
      expect(refusing(name, true)).to.throw(
        new RegExp(`^${name} can change the price of a call: .*operator.*"allow".*catalogue\\.$`),
      )
    expect(refusing('service_tier', 'flex')).to.throw(
      /^service_tier other than "auto" and "default" can change the price of a call: .*"allow"/,
    )
    expect(refusing('truncate', true)).to.throw('truncate is not a known field.')
  })

  const INSIDE = 'http://10.0.0.1/'
  const results = { role: 'tool', tool_call_id: 'a', content: 'x', url: 'x' }
  const WITHIN: [what: string, body: object, param: string][] = [
    ['a message', { messages: [{ ...message, image_urls: [INSIDE] }] }, 'messages[0].image_urls'],
    ['a text part', withPart({ type: 'text', text: 'x', aurl: INSIDE }), `${FIRST}.aurl`],
    ['an image part', withPart({ ...picture(PIXEL_URI), fetch: INSIDE }), `${FIRST}.fetch`],
    ['a result of a tool', { messages: [results] }, 'messages[0].url'],
    ['a tool', withField('tools', [{ ...tool, web_search: {} }]), 'tools[0].web_search'],
    [
      'a function',
      withField('tools', [{ ...tool, function: { name: 'f', server_url: 'x' } }]),
      'tools[0].function.server_url',
    ],
  ]
  for (const [what, body, param] of WITHIN)
    it(`have nothing unknown within ${what}`, () => expect(verdictOn(body)).to.equal(`invalid_request ${param}`))

  it('have faults of the messages reported before those of other fields', () => {
    expect(verdictOn({ ...withPart({ type: 'file' }), models: [] })).to.equal(`invalid_messages ${FIRST}.type`)
    expect(verdictOn({ ...withPart({ type: 'text', text: 'x' }), temperature: 9, models: [] })).to.equal(
      'invalid_request models',
    )
  })

  it("accept only tools that their client runs: an upstream's own tools are billed by the call", () => {
    const format = { type: 'grammar', grammar: { syntax: 'lark' } }
    const custom = { type: 'custom', custom: { name: 'patch', format } }
    expect(verdictOn(withField('tools', [tool, custom]))).to.equal(OK)
    expect(verdictOn(withField('tools', [{ ...custom, custom: { name: 'patch', server_url: 'x' } }]))).to.equal(
      'invalid_request tools[0].custom.server_url',
    )
    for (const type of ['web_search', 'web_search_20250305', 'code_interpreter', undefined, 5])
      expect(verdictOn(withField('tools', [tool, { ...tool, type }])), `${type}`).to.equal(
        'invalid_request tools[1].type',
      )
  })

  it("accept a tool call's arguments only as a string, every byte of which counts", () => {
    const given = (args: unknown) => ({
      messages: [{ role: 'assistant', tool_calls: [{ ...call, function: { name: 'f', arguments: args } }] }],
    })
    expect(verdictOn(given('{"url":"data:,x"}'))).to.equal(OK)
    expect(verdictOn(given({ url: 'data:,x' }))).to.equal(
      'invalid_messages messages[0].tool_calls[0].function.arguments',
    )
  })

  it('accept a cached prefix only with the short lifetime: the long one is billed double', () => {
    const given = (ttl: object) =>
      verdictOn(withPart({ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ...ttl } }))
    expect([given({}), given({ ttl: '5m' })]).to.deep.equal([OK, OK])
    expect(given({ ttl: '1h' }).startsWith(`invalid_messages ${FIRST}.cache_control`)).to.equal(true)
  })

  it('accept parts of kinds that the model prices, and no others', () => {
    for (const part of [
      { type: 'file', file: { file_data: 'x' } },
      { type: 'input_audio', input_audio: { data: 'x', format: 'wav' } },
      { type: 'video_url', video_url: { url: 'https://example.com/v.mp4' } },
    ]) {
      expect(verdictOn(withPart(part)), part.type).to.equal(`invalid_messages ${FIRST}.type`)
      expect(verdictOn(withPart(part), PARTS), part.type).to.equal(OK)
    }
    for (const type of ['image', 'tool_result', 'refusal', 'toString'])
      expect(verdictOn(withPart({ type }), { image: 5 }), type).to.equal(`invalid_messages ${FIRST}.type`)
  })

  it('have every address in other parts checked, however deeply nested', () => {
    const url = 'http://169.254.169.254/latest'
    const HIDING: [part: object, field: string][] = [
      [{ type: 'video_url', video_url: { url } }, 'video_url'],
      [{ type: 'video_url', video_url: url }, 'video_url'],
      [{ type: 'video', video: ['https://example.com/1.png', url] }, 'video[1]'],
      [{ type: 'file', file: { file_url: url } }, 'file.file_url'],
      [{ type: 'file', file: { file_data: url } }, 'file.file_data'],
      [{ type: 'file', file: { fileUri: 'gs://bucket/x' } }, 'file.fileUri'],
      [{ type: 'file', file: { url: '//10.0.0.1/x' } }, 'file.url'],
      [{ type: 'input_audio', input_audio: { data: ` ${url}` } }, 'input_audio.data'],
      [{ type: 'document', source: { type: 'url', url } }, 'source.url'],
      [{ type: 'document', source: { content: [{ source: { url } }] } }, 'source.content[0].source.url'],
    ]
    for (const [part, field] of HIDING)
      expect(verdictOn(withPart(part), PARTS), JSON.stringify(part)).to.equal(`invalid_request ${FIRST}.${field}`)
    const text = { type: 'document', title: 'x', source: { type: 'text', text: 'http://10.0.0.1 is mine' } }
    expect(verdictOn(withPart(text), PARTS)).to.equal(OK)
  })

  it('are at most 2,000 messages, 128 tools or functions, and 50 addresses', () => {
    const many = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)
    expect(verdictOn({ messages: many(2000, message) })).to.equal(OK)
    expect(verdictOn({ messages: many(2001, message) })).to.equal('invalid_messages messages')
    for (const [name, one] of Object.entries({ tools: tool, functions: { name: 'f' } })) {
      expect(verdictOn(withField(name, many(128, one)))).to.equal(OK)
      expect(verdictOn(withField(name, many(129, one)))).to.equal(`invalid_request ${name}`)
    }
    const shown = many(25, picture('https://example.com/a.png'))
    const turns = (...contents: object[][]) => ({ messages: contents.map((content) => ({ role: 'user', content })) })
    expect(verdictOn(turns(shown, shown))).to.equal(OK)
    expect(verdictOn(turns(shown, [...shown, shown[0]!]))).to.equal('invalid_messages messages')
    expect(verdictOn(withPart(...many(60, picture(PIXEL_URI)))), 'images that are no addresses').to.equal(OK)
  })
})

describe('a body of a million faults', () => {
  const fill = (one: string): string =>
    Array<string>(Math.floor(1_000_000 / (one.length + 1)))
      .fill(one)
      .join(',')
  const field = (more: string): string => `{"messages":[{"role":"user","content":"x"}],${more}}`
  const content = (one: string): string => `{"messages":[{"role":"user","content":[${fill(one)}]}]}`
  const assistant = (more: string): string => `{"messages":[{"role":"assistant",${more}}]}`
  const BODIES: Record<string, string> = {
    'tools that are {}': field(`"tools":[${fill('{}')}]`),
    'messages that are {}': `{"messages":[${fill('{}')}]}`,
    'parts that are {}': content('{}'),
    'parts with an address': content('{"type":"x","aurl":"http://h.example/"}'),
    'tool calls that are {}': assistant(`"tool_calls":[${fill('{}')}]`),
    'pieces of reasoning': assistant(`"content":"","reasoning_details":[${fill('{"type":""}')}]`),
    'stops that are {}': field(`"stop":[${fill('{}')}]`),
    'a prediction of {}': field(`"prediction":{"type":"content","content":[${fill('{}')}]}`),
  }
  for (const [what, text] of Object.entries(BODIES))
    it(`is refused in less CPU time than its JSON takes to parse: ${what}`, () => {
      const body = JSON.parse(text) as object
      const check = () => expect(verdictOn(body)).to.match(/^invalid_(messages|request) /)
      expect(cpuRatio(check, () => JSON.parse(text))).to.be.below(1)
    })
})
