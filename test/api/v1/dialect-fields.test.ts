import { expect } from 'chai'
import { withPrevious } from '../../../src/api/v1/responses/previous.ts'
import type { Checked } from '../../../src/shared/chat/check-body.ts'
import { checkMessages } from '../../../src/shared/chat/messages/check.ts'
import { checkResponses } from '../../../src/shared/chat/responses/check.ts'

type Fields = Record<string, unknown>
type Refused = [what: string, more: Fields, message: RegExp]

const MODEL = { partTokens: {}, upstreams: [{ allow: [] }] }
const odd = { toString: 1 }
const many = <T>(length: number, one: (at: number) => T): T[] => Array.from({ length }, (_, at) => one(at))

/** Expects a refusal in these words, which names a field. */
function expectRefused(check: () => Checked, message: RegExp): void {
  expect(check).to.throw(message).and.to.include({ code: 'invalid_request' }).and.property('param').be.a('string')
}

describe('the fields of POST /v1/messages', () => {
  const check = (more: Fields) => () =>
    checkMessages({ model: 'm', max_tokens: 100, messages: [{ role: 'user', content: 'x' }], ...more }, MODEL)

  const tool = (name: string) => ({ name, input_schema: { type: 'object' } })
  const saying = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] })
  const document = (content: unknown[]) => ({ type: 'document', source: { type: 'content', content } })
  const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
  const picture = (source: object) => saying({ type: 'image', source })
  const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  const search = { type: 'web_search_20250305', name: 'web_search' }
  const added = (more: object) => saying({ type: 'tool_addition', ...more })
  const FORCED = { type: 'tool', name: 'web_search' }
  const compacting = { edits: [{ type: 'compact_20260112' }] }

  const REFUSED: Refused[] = [
    ['an unknown field', { foo: 1 }, /^foo: Extra inputs are not permitted/],
    ['an unknown field of a block', saying(text('a', { b: 1 })), /^messages\.0\.content\.0\.b: Extra inputs/],
    ['an unknown kind of block', saying({ type: 'odd' }), /Input tag 'odd' found using 'type'/],
    ['a tier of its own price', { service_tier: 'priority' }, /^service_tier: /],
    ['a cache for an hour', { system: [text('a', hour)] }, /^system\.0\.cache_control\.ttl/],
    ['one of a document', saying(document([text('a', hour)])), /source\.content\.0\.cache_control\.ttl/],
    ['one of a tool', { tools: [{ ...tool('a'), ...hour }] }, /^tools\.0\.cache_control\.ttl/],
    ['one in an added tool', added({ tool: { ...tool('a'), ...hour } }), /cache_control\.ttl/],
    ['one of a result', saying({ type: 'tool_result', tool_use_id: 'a', content: [text('a', hour)] }), /ttl/],
    ['a compaction', { context_management: compacting }, /^context_management/],
    ['a hosted tool that is forced', { tools: [search], tool_choice: FORCED }, /^tool_choice/],
    ['any hosted tool at will', { tools: [search], tool_choice: { type: 'any' } }, /^tool_choice/],
    ['a hosted tool in the middle', added({ tool: search }), /^messages\.0\.content\.0/],
    ['one deeper in it', added({ x: [{ y: search }] }), /^messages\.0\.content\.0/],
    ['a hosted tool whose name splits a header', { tools: [{ ...search, name: 'a\r\nx: y' }] }, /^tools\.0\.name/],
    ['a hosted tool whose type splits a header', { tools: [{ type: 'a\nb' }] }, /^tools\.0\.type/],
    ['a tool whose type is an object', { tools: [{ type: odd, name: 'a' }] }, /^tools\.0/],
    ['no limit', { max_tokens: undefined }, /^max_tokens: Field required/],
    ['more than all tokens', { max_tokens: 1e21 }, /^max_tokens/],
    ['half a token', { max_tokens: 0.5 }, /^max_tokens/],
    ['no token', { max_tokens: 0 }, /^max_tokens/],
    ['less than that', { max_tokens: -1 }, /^max_tokens/],
    ['a role of nobody', { messages: [{ role: 'tool', content: 'a' }] }, /^messages\.0\.role: Input should be 'user'/],
    ['20,001 turns', { messages: many(20_001, () => 0) }, /^messages: .*20,?000/],
    ['513 tools', { tools: many(513, (at) => tool(`t${at}`)) }, /^tools: .*512/],
    ['a list as an object', saying([]), /messages\.0\.content\.0/],
    ['a block of the type of a prototype', saying({ type: '__proto__' }), /Input tag '__proto__'/],
    ['a block whose type is an object', saying({ type: odd }), /discriminator/],
    ['bytes that are no picture', picture({ type: 'base64', media_type: 'image/png', data: '*' }), /source/],
    ['a stored picture', picture({ type: 'file', file_id: 'f' }), /^messages\.0\.content\.0\.source\.file_id: names/],
    ['an address of this machine', picture({ type: 'url', url: 'http://127.0.0.1/' }), /url/],
    ['another scheme', picture({ type: 'url', url: 'file:///etc/passwd' }), /url/],
    ['several answers', { n: 2 }, /^n: Extra inputs/],
    ['a field of a prototype', { constructor: 1 }, /^constructor: Extra inputs/],
  ]
  for (const [what, more, message] of REFUSED)
    it(`are refused in the words of the API: ${what}`, () => expectRefused(check(more), message))

  it('may be null where they are not needed', () => {
    const names = ['system', 'tools', 'tool_choice', 'thinking', 'metadata', 'temperature', 'stop_sequences', 'speed']
    expect(check(Object.fromEntries(names.map((name) => [name, null])))().request).to.have.property('messages')
  })
})

describe('the fields of POST /v1/responses', () => {
  const check = (more: Fields) => () =>
    checkResponses({ model: 'm', max_output_tokens: 100, input: 'x', ...more }, MODEL)

  const search = { type: 'web_search' }
  const LONG = { ttl: '12h' }
  const items = (...input: unknown[]) => ({ input })
  const saying = (...content: unknown[]) => items({ role: 'user', content })
  const picture = (more: object) => saying({ type: 'input_image', ...more })
  const updated = (more: object) => items({ type: 'configuration_update', ...more })

  const REFUSED: Refused[] = [
    ['an unknown field', { foo: 1 }, /^Unknown parameter: 'foo'/],
    ['a field of a prototype', { constructor: 1 }, /Unknown parameter: 'constructor'/],
    ['an unknown field of an item', items({ role: 'user', content: 'a', b: 1 }), /'input\.0\.b'/],
    ['an unknown kind of item', items({ type: 'odd' }), /'odd' is no known type of item/],
    ['an unknown kind of part', saying({ type: 'odd' }), /input\.0\.content\.0/],
    ['an item whose type is an object', items({ type: odd }), /^Invalid 'input\.0'/],
    ['a part whose type is an object', saying({ type: odd }), /^Invalid 'input\.0\.content\.0'/],
    ['a tier of its own price', { service_tier: 'priority' }, /service_tier/],
    ['a mode of its own price', { reasoning: { mode: 'pro' } }, /reasoning\.mode/],
    ['a cache of a day', { prompt_cache_retention: '24h' }, /prompt_cache_retention/],
    ['a stored prompt', { prompt: { id: 'pmpt_1' } }, /'prompt'/],
    ['a stored conversation', { conversation: 'conv_1' }, /'conversation'/],
    ['a compaction', { context_management: [{ type: 'compaction' }] }, /context_management/],
    ['a stored file', picture({ image_url: 'data:,', file_id: 'file_1' }), /input\.0\.content\.0\.file_id/],
    ['a stored file alone', picture({ file_id: 'file_1' }), /input\.0\.content\.0\.file_id/],
    ['a private address', picture({ image_url: 'http://127.0.0.1/a' }), /image_url/],
    ['a hosted tool that is forced', { tools: [search], tool_choice: search }, /tool_choice/],
    ['a tool whose type is an object', { tools: [{ type: odd }] }, /^Invalid 'tools\.0\.type'/],
    ['one in a namespace', { tools: [{ type: 'namespace', name: 'a', tools: [{ type: odd }] }] }, /tools/],
    ['a hosted tool whose name is one', { tools: [{ ...search, name: odd }] }, /^Invalid 'tools\.0\.name'/],
    ['a hosted tool whose name splits a header', { tools: [{ ...search, name: 'a\r\nx: y' }] }, /tools\.0\.name/],
    ['a hosted tool whose type splits a header', { tools: [{ type: 'a\nb' }] }, /tools\.0\.type/],
    ['a hosted tool deep in a search', items({ type: 'tool_search_output', x: [{ tools: [search] }] }), /x\.0\.tools/],
    ['a tier in a changed configuration', updated({ a: { service_tier: 'priority' } }), /input\.0\.a\.service_tier/],
    ['a longer limit in one', updated({ max_output_tokens: 1e6 }), /input\.0\.max_output_tokens/],
    ['a mark that lives longer', saying({ type: 'input_text', text: 'a', prompt_cache_breakpoint: LONG }), /ttl/],
    ['20,001 items', { input: many(20_001, () => 0) }, /input/],
    ['more than all tokens', { max_output_tokens: 1e21 }, /max_output_tokens/],
  ]
  for (const [what, more, message] of REFUSED)
    it(`are refused by name: ${what}`, () => expectRefused(check(more), message))

  for (const id of [odd, undefined])
    it(`are refused where a reference has the id ${JSON.stringify(id)}`, async () => {
      const body = { input: [{ type: 'item_reference', id }] }
      const refused = await withPrevious({} as never, body, {} as never).catch((error: Error) => error)
      expect(refused).to.include({ code: 'invalid_request', param: 'input' })
      expect((refused as Error).message).to.match(/id of an item/)
    })
})
