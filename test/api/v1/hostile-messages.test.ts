import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { prompted } from '../../../scripts/harness/calling.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { claudeAndGpt } from './support/message-models.ts'
import { startMessage } from './support/message-streams.ts'

const BALANCE = 1_000_000

const tool = (name: string) => ({ name, input_schema: { type: 'object' } })
const nested = (depth: number): unknown => (depth === 0 ? 1 : { a: nested(depth - 1) })
const saying = (...content: unknown[]) => ({ messages: [{ role: 'user', content }] })
const document = (content: unknown[]) => ({ type: 'document', source: { type: 'content', content } })
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
const hour = { cache_control: { type: 'ephemeral', ttl: '1h' } }
const search = { type: 'web_search_20250305', name: 'web_search' }

describe('a hostile client of POST /v1/messages', () => {
  let gateway: Gateway
  let account: TestAccount
  before(async () => {
    gateway = await startGateway({}, claudeAndGpt)
  })
  beforeEach(async () => {
    account = await anAccount(gateway.db, BALANCE)
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  const bodyOf = (more: object = {}) => ({
    model: 'claude',
    max_tokens: 100,
    messages: [{ role: 'user', content: prompted('[answer fine]') }],
    ...more,
  })
  const post = (body: unknown, headers: Record<string, string> = {}, path = '/v1/messages'): Promise<Reply> =>
    send('POST', `${gateway.url}${path}`, { key: account.key, body, headers })

  const REFUSED: [what: string, more: object, message: RegExp][] = [
    ['20,001 turns', { messages: Array.from({ length: 20_001 }, () => 0) }, /messages/],
    ['513 tools', { tools: Array.from({ length: 513 }, (_one, at) => tool(`t${at}`)) }, /tools/],
    ['65 levels', saying({ type: 'tool_use', id: 'a', name: 'b', input: nested(65) }), /deeper/],
    ['a list as an object', saying([]), /messages\.0\.content\.0/],
    ['a block of the type of a prototype', saying({ type: '__proto__' }), /Input tag '__proto__'/],
    ['a block whose type is an object', saying({ type: { toString: 1 } }), /discriminator/],
    ['a tool whose type is an object', { tools: [{ type: { toString: 1 }, name: 'a' }] }, /^tools\.0/],
    ['a hosted tool whose name splits a header', { tools: [{ ...search, name: 'a\r\nx: y' }] }, /^tools\.0\.name/],
    ['a hosted tool whose type splits a header', { tools: [{ type: 'a\nb' }] }, /^tools\.0\.type/],
    ['any hosted tool at will', { tools: [search], tool_choice: { type: 'any' } }, /^tool_choice/],
    ['a hosted tool in the middle', saying({ type: 'tool_addition', tool: search }), /^messages\.0\.content\.0/],
    ['one deeper in it', saying({ type: 'tool_addition', x: [{ y: search }] }), /^messages\.0\.content\.0/],
    [
      'a cache for an hour of a document',
      saying(document([text('a', hour)])),
      /source\.content\.0\.cache_control\.ttl/,
    ],
    ['one of a tool', { tools: [{ ...tool('a'), ...hour }] }, /^tools\.0\.cache_control\.ttl/],
    ['one in an added tool', saying({ type: 'tool_addition', tool: { ...tool('a'), ...hour } }), /cache_control\.ttl/],
    ['one of a result', saying({ type: 'tool_result', tool_use_id: 'a', content: [text('a', hour)] }), /ttl/],
    ['more than all tokens', { max_tokens: 1e21 }, /^max_tokens/],
    ['half a token', { max_tokens: 0.5 }, /^max_tokens/],
    ['no token', { max_tokens: 0 }, /^max_tokens/],
    ['less than that', { max_tokens: -1 }, /^max_tokens/],
    [
      'bytes that are no picture',
      saying({ type: 'image', source: { type: 'base64', media_type: 'image/png', data: '*' } }),
      /source/,
    ],
    ['an address of this machine', saying({ type: 'image', source: { type: 'url', url: 'http://127.0.0.1/' } }), /url/],
    ['another scheme', saying({ type: 'image', source: { type: 'url', url: 'file:///etc/passwd' } }), /url/],
    ['several answers', { n: 2 }, /^n: Extra inputs/],
    ['a field of a prototype', { constructor: 1 }, /^constructor: Extra inputs/],
  ]
  for (const [what, more, message] of REFUSED)
    it(`gets a refusal for ${what}, uncharged`, async () => {
      const reply = await post(bodyOf(more))
      expect(reply.status, reply.text).to.equal(400)
      expect(reply.json).to.deep.include({ type: 'error' })
      expect(reply.json.error.type).to.equal('invalid_request_error')
      expect(reply.json.error.message).to.match(message)
      expect(await balanceOf(gateway.db, account.id)).to.equal(BALANCE)
    })

  it('may write null for every field that is not needed', async () => {
    const names = ['system', 'tools', 'tool_choice', 'thinking', 'metadata', 'temperature', 'stop_sequences', 'speed']
    const nulls = Object.fromEntries(names.map((name) => [name, null]))
    for (const model of ['claude', 'gpt']) {
      const reply = await post(bodyOf({ model, ...nulls }))
      expect(reply.status, reply.text).to.equal(200)
    }
  })

  it('makes no header longer than clients read, however many tools are left out', async () => {
    const tools = Array.from({ length: 500 }, (_one, at) => ({ ...search, name: `${'x'.repeat(58)}${at}` }))
    const reply = await post(bodyOf({ tools }))
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.headers.get('x-tollgate-tools-dropped')!.length).to.be.below(2000)
  })

  it('is answered, whatever the names and ids of its tools', async () => {
    const names = ['a\0b', '__proto__', 'toString', '\u202e', 'ä'.repeat(100), ' ']
    for (const model of ['claude', 'gpt'])
      for (const name of names) {
        const messages = [
          { role: 'user', content: prompted('[answer fine]') },
          { role: 'assistant', content: [{ type: 'tool_use', id: name, name, input: { __proto__: 1, [name]: 1 } }] },
          { role: 'user', content: [{ type: 'tool_result', tool_use_id: name, content: 'a\0' }, text('go on')] },
        ]
        const reply = await post(bodyOf({ model, messages, tools: [tool(name), tool(name)] }))
        expect(reply.status, `${JSON.stringify(name)}: ${reply.text}`).to.be.oneOf([200, 400, 502])
      }
  })

  it('is refused with two keys, another coding, or another type of body, not for versions and betas', async () => {
    const other = await anAccount(gateway.db, BALANCE)
    expect((await post(bodyOf(), { 'x-api-key': other.key })).status).to.equal(401)
    expect((await post(bodyOf(), { 'x-api-key': account.key })).status).to.equal(200)
    for (const coding of ['gzip', 'br', 'gzip, gzip', 'x'])
      expect((await post(bodyOf(), { 'content-encoding': coding })).status).to.equal(415)
    expect((await post(bodyOf(), { 'content-type': 'text/plain' })).status).to.equal(415)
    const prompt = prompted('[answer fine]')
    const odd = { 'anthropic-version': '1999-01-01, x', 'anthropic-beta': `${'x,'.repeat(4000)}fast-mode-2026-02-01` }
    const reply = await post(bodyOf({ messages: [{ role: 'user', content: prompt }] }), odd)
    expect(reply.status, reply.text).to.equal(200)
    const { headers } = gateway.sandbox.journal(prompt).at(-1)!
    expect(headers).to.include({ 'anthropic-version': '2023-06-01' })
    expect(headers).to.not.have.property('anthropic-beta')
  })

  it("cannot read another account's message", async () => {
    const reply = await post(bodyOf())
    const stranger = await anAccount(gateway.db, BALANCE)
    const path = `${gateway.url}/v1/calls/${reply.headers.get('x-call-id')}`
    expect((await get(path, stranger.key)).status).to.equal(404)
    expect((await get(path, account.key)).json).to.deep.equal(reply.json)
  })

  it('is charged once for equal requests with one key at once, and refused for it in another dialect', async () => {
    const headers = { 'idempotency-key': 'one' }
    const body = bodyOf({ model: 'gpt', messages: [{ role: 'user', content: prompted('[answer fine] [delay 200]') }] })
    const replies = await Promise.all(Array.from({ length: 5 }, () => post(body, headers)))
    for (const reply of replies) expect(reply.status, reply.text).to.equal(200)
    const [first] = replies as [Reply]
    for (const reply of replies) expect(reply.json).to.deep.equal(first.json)
    const { credits } = first.json.usage
    expect(await balanceOf(gateway.db, account.id)).to.equal(BALANCE - credits)
    const elsewhere = await post(body, headers, '/v1/chat/completions')
    expect(elsewhere.status, elsewhere.text).to.be.within(409, 422)
    const mixed = { 'idempotency-key': 'two' }
    const both = await Promise.all(
      ['/v1/messages', '/v1/chat/completions', '/v1/messages', '/v1/chat/completions'].map((path) =>
        post({ ...body, messages: [{ role: 'user', content: 'both' }] }, mixed, path),
      ),
    )
    const statuses = both.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).to.have.length(2)
    expect(
      new Set(both.filter(({ status }) => status === 200).map(({ headers: h }) => h.get('x-call-id'))).size,
    ).to.equal(1)
  })

  it('pays at most what it got, whenever it goes', async () => {
    const slow = prompted('[tokens 100] [chunks 100 10]')
    for (const model of ['claude', 'gpt'])
      for (const afterMs of [0, 2, 10, 50, 300]) {
        const body = bodyOf({ model, messages: [{ role: 'user', content: slow }] })
        const client = new AbortController()
        const whole = send('POST', `${gateway.url}/v1/messages`, { key: account.key, body, signal: client.signal })
        const stream = startMessage(gateway, account, body)
        whole.catch(() => {})
        await sleep(afterMs)
        client.abort()
        await stream.then(({ leave }) => leave())
      }
    await until('the end of every call', async () => (await outstandingOf(gateway.db, account.id)) === 0)
    expect(await balanceOf(gateway.db, account.id)).to.be.at.least(BALANCE - 20 * 400)
  })
})
