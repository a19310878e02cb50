import { expect } from 'chai'
import { setTimeout as sleep } from 'node:timers/promises'
import { prompted } from '../../../scripts/harness/calling.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { get, send } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import { outstandingOf } from '../../shared/calls/opening.ts'
import { claudeAndGpt } from './support/message-models.ts'
import { startMessage } from './support/message-streams.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const BALANCE = 1_000_000

const tool = (name: string) => ({ name, input_schema: { type: 'object' } })
const text = (words: string, more: object = {}) => ({ type: 'text', text: words, ...more })
const search = { type: 'web_search_20250305', name: 'web_search' }

describe('a hostile client of POST /v1/messages', () => {
  const gateway = useGateway({}, claudeAndGpt)
  const account = useAccount(gateway, BALANCE)

  const bodyOf = (more: object = {}) => ({
    model: 'claude',
    max_tokens: 100,
    messages: [{ role: 'user', content: prompted('[answer fine]') }],
    ...more,
  })
  const post = (body: unknown, headers: Record<string, string> = {}, path = '/v1/messages'): Promise<Reply> =>
    send('POST', `${gateway.url}${path}`, { key: account.key, body, headers })

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

  it('may name any version and any betas, of which none passes that is unknown', async () => {
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
