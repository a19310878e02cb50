import { expect } from 'chai'
import { checkChat } from '../../../src/shared/chat/completions/check.ts'
import type { JsonObject } from '../../../src/api/middleware/json-body.ts'
import type { ChatRequest } from '../../../src/shared/requests/requests.ts'
import { PIXEL_URI } from '../../support/pixel.ts'
import { OK, verdict } from './support/parsing.ts'

const asked = { role: 'user', content: 'x' }

/** What an upstream is sent of a body, as JSON has it. */
function sent(body: object, allow: string[] = []): ChatRequest {
  const request = checkChat({ messages: [asked], ...body } as JsonObject, { upstreams: [{ allow }] })
  return JSON.parse(JSON.stringify(request)) as ChatRequest
}

const verdictOn = (body: object): string => verdict(() => sent(body))
const picture = (image_url: unknown) => ({ role: 'user', content: [{ type: 'image_url', image_url }] })

/** What an assistant has answered, the answer, and what is sent of it: in JSON, without its role. */
const RETURNED = `
parts with a role, a refusal and annotations
{"content":[{"type":"text","text":"one","role":"assistant","refusal":null,"annotations":[{"url":"http://h/"}]}]}
{"content":[{"type":"text","text":"one"}]}
a refusal in a part
{"content":[{"type":"refusal","refusal":"no"}]}
{"content":[{"type":"text","text":"no"}]}
a refusal beside no content
{"content":null,"refusal":"no"}
{"content":null,"refusal":"no"}
a refusal alone
{"refusal":"no"}
{"refusal":"no"}
reasoning beside no content
{"content":null,"reasoning_content":"hm"}
{"content":"","reasoning_content":"hm"}
nothing at all
{}
{"content":""}
unknown fields of its own
{"content":[{"type":"text","text":"x","logprobs":[]}],"prefix":false,"citations":["http://10.0.0.1/"]}
{"content":[{"type":"text","text":"x"}]}
unknown fields of its calls
{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}","output":1},"provider":{"url":"x"}}]}
{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}
unknown fields of its reasoning
{"content":"","reasoning_details":[{"type":"t","text":"hm","source":"x"}]}
{"content":"","reasoning_details":[{"type":"t","text":"hm"}]}
parts of a kind that the model has no price for
{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"x"}]}
{"content":[{"type":"text","text":"x"}]}
nothing but such parts
{"content":[{"type":"thinking","thinking":[]}]}
{"content":""}
a call of a tool without a type
{"tool_calls":[{"id":"a","type":"","function":{"name":"f","arguments":"{}"}}]}
{"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}
a call of a custom tool
{"content":null,"tool_calls":[{"id":"a","type":"custom","custom":{"name":"p","input":"*"}}]}
{"content":null,"tool_calls":[{"id":"a","type":"custom","custom":{"name":"p","input":"*"}}]}
the result of a legacy function
{"role":"function","name":"f","content":"ok"}
{"name":"f","content":"ok"}`

/** Messages that are refused, in JSON: of an assistant whose own fields are wrong, and of a user. */
const WRONG = `
{"role":"assistant","content":5}
{"role":"assistant","content":[{"type":"text"}]}
{"role":"assistant","content":null,"refusal":5}
{"role":"assistant","tool_calls":[{"function":{"name":5}}]}
{"role":"assistant","tool_calls":[{"type":"web_search","function":{"name":"f","arguments":""}}]}
{"role":"user","content":"x","prefix":false}
{"role":"user","content":null}
{"role":"user","content":[{"type":"refusal","refusal":"no"}]}
{"role":"user","content":[{"type":"text","text":"x","role":"assistant"}]}
{"role":"user","content":[{"type":"text","text":null}]}`

describe('an answer that is sent back', () => {
  for (const [, what, message, expected] of RETURNED.matchAll(/\n(.*)\n(.*)\n(.*)/g))
    it(`is taken with ${what}`, () => {
      const given = { role: 'assistant', ...(JSON.parse(message!) as object) }
      const whole = { role: given.role, ...(JSON.parse(expected!) as object) }
      expect(sent({ messages: [asked, given, asked] }).messages[1]).to.deep.equal(whole)
    })

  for (const message of WRONG.trim().split('\n'))
    it(`has its own fields checked, which assistants alone may send: ${message}`, () =>
      expect(verdictOn({ messages: [asked, JSON.parse(message)] })).to.match(/^invalid_\w+ messages\[1\]/))
})

describe('what clients send of themselves', () => {
  const schema = { type: 'object' }
  const format = { type: 'json_schema', json_schema: { name: 'answer', schema } }
  const fn = { type: 'function', function: { name: 'f' } }
  const TAKEN: [what: string, body: object, sent: object][] = [
    ['usage', { usage: { include: true } }, {}],
    ['service_tier auto', { service_tier: 'auto' }, {}],
    ['service_tier default', { service_tier: 'default' }, {}],
    ['reasoning with an effort', { reasoning: { effort: 'high', exclude: true } }, { reasoning_effort: 'high' }],
    [
      'reasoning beside an effort',
      { reasoning: { effort: 'high' }, reasoning_effort: 'low' },
      { reasoning_effort: 'low' },
    ],
    ['reasoning without an effort', { reasoning: { enabled: true } }, {}],
    ['tool_choice any', { tool_choice: 'any' }, { tool_choice: 'required' }],
    ['json_object with a schema', { response_format: { type: 'json_object', schema } }, { response_format: format }],
    ['unknown fields that are null', { audio: null, truncate: null, previous_response_id: null }, {}],
    [
      'unknown nulls at any depth',
      {
        stream_options: { include_usage: true, more: null },
        tools: [{ ...fn, function: { name: 'f', url: null }, web_search: null }],
      },
      { stream_options: { include_usage: true }, tools: [fn] },
    ],
  ]
  for (const [what, body, expected] of TAKEN)
    it(`is taken: ${what}`, () => {
      const { messages, max_tokens: _limit, ...rest } = sent(body)
      expect([rest, messages]).to.deep.equal([expected, [asked]])
    })

  it('reaches an upstream that allows it as it is, and is checked there too where it is a known field', () => {
    for (const service_tier of ['auto', 'priority'])
      expect(sent({ service_tier }, ['service_tier'])).to.include({ service_tier })
    expect(sent({ reasoning: { max_tokens: 5 } }, ['reasoning']).reasoning).to.deep.equal({ max_tokens: 5 })
    expect(sent({ thinking: null, enable_thinking: true }, ['thinking', 'enable_thinking']))
      .to.include({ enable_thinking: true })
      .and.not.to.have.property('thinking')
    expect(() => sent({ temperature: 9 }, ['temperature'])).to.throw('temperature')
  })
})

describe('the messages and limits of a chat', () => {
  const GOOD = `
{"role":"system","content":"x"}
{"role":"developer","content":"x"}
{"role":"user","content":"x"}
{"role":"assistant","content":"x"}
{"role":"tool","content":"x"}
{"role":"user","content":""}
{"role":"user","content":[{"type":"image_url","image_url":{"url":"${PIXEL_URI}"}}]}
{"role":"assistant","content":"x","refusal":null,"audio":null,"tool_calls":[],"annotations":[{"url":"http://h/"}]}
{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}
{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}
{"role":"user","content":"x","name":"bob","cache_control":{"type":"ephemeral"}}`
  for (const message of GOOD.trim().split('\n'))
    it(`may be ${message.slice(0, 90)}`, () => expect(verdictOn({ messages: [JSON.parse(message)] })).to.equal(OK))

  const BAD: [what: string, messages: unknown, param: string][] = [
    ['null', null, 'messages'],
    ['a text', 'hi', 'messages'],
    ['an object', asked, 'messages'],
    ['empty', [], 'messages'],
    ['of texts', ['hi'], 'messages[0]'],
    ['of null', [null], 'messages[0]'],
    ['without a role', [{ content: 'x' }], 'messages[0].role'],
    ['of an unknown role', [{ role: 'system2', content: 'x' }], 'messages[0].role'],
    ['without content', [{ role: 'user' }], 'messages[0].content'],
    ['with null for content', [{ role: 'user', content: null }], 'messages[0].content'],
    ['with a number for content', [{ role: 'user', content: 5 }], 'messages[0].content'],
    ['with an object for content', [{ role: 'user', content: {} }], 'messages[0].content'],
    ['of which the second is bad', [asked, { role: 'user' }], 'messages[1].content'],
  ]
  for (const [what, messages, param] of BAD)
    it(`are refused if they are ${what}`, () => expect(verdictOn({ messages })).to.equal(`invalid_messages ${param}`))

  it('are refused with a broken part, and a picture without an address or at a private one', () => {
    const said = (message: object): string => verdictOn({ messages: [message] })
    for (const content of [['x'], [null], [{}], [{ type: 5 }], [{ type: 'text' }], [{ type: 'text', text: 5 }]])
      expect(said({ role: 'user', content })).to.match(/^invalid_messages messages\[0\]\.content/)
    for (const address of [{}, undefined, null, 5, { url: 5 }])
      expect(said(picture(address))).to.equal('invalid_messages messages[0].content[0].image_url')
    for (const address of [{ url: 'http://127.0.0.1/a.png' }, 'http://10.0.0.1/', { url: '' }])
      expect(said(picture(address))).to.equal('invalid_request messages[0].content[0].image_url')
  })

  const WHOLE = [0, -1, 1.5, '5', true, [5], {}, 2 ** 53, Infinity, -0, 1e21]
  const LIMITS: [name: string, good: unknown[], bad: unknown[]][] = [
    ['max_tokens', [1, 4096, null, undefined], WHOLE],
    ['max_completion_tokens', [1, 4096, null, undefined], WHOLE],
    ['n', [1, 8, null], [0, 9, -1, 1.5, '2', true]],
    ['temperature', [0, 0.5, 2, null], [-0.1, 2.01, '1', true, [1], Infinity]],
    ['stream', [true, false], ['true', 1, {}]],
  ]
  for (const [name, good, bad] of LIMITS)
    it(`have ${name} in its range`, () => {
      for (const value of good) expect(verdictOn({ [name]: value }), String(value)).to.equal(OK)
      for (const value of bad) expect(verdictOn({ [name]: value }), String(value)).to.equal(`invalid_request ${name}`)
    })
})
