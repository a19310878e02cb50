import { expect } from 'chai'
import { prompted } from '../../../scripts/harness/calling.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { claudeAndGpt } from './support/message-models.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const BALANCE = 1_000_000
const MESSAGES = '/v1/messages'
const CHAT = '/v1/chat/completions'

describe('a hostile client of POST /v1/messages', () => {
  const gateway = useGateway({}, claudeAndGpt)
  const account = useAccount(gateway, BALANCE)

  const bodyOf = (content: string, more: object = {}) => ({
    model: 'claude',
    max_tokens: 100,
    messages: [{ role: 'user', content }],
    ...more,
  })

  it('may name any version and any betas, of which known ones pass with their fields to Anthropic alone', async () => {
    const odd = { 'anthropic-version': '1999-01-01, x', 'anthropic-beta': `${'x,'.repeat(4000)}fast-mode-2026-02-01` }
    const known = { 'anthropic-beta': 'context-management-2025-06-27,advanced-tool-use-2025-11-20' }
    const schema = { type: 'object', additionalProperties: false }
    const fields = {
      tools: [{ name: 'look', input_schema: schema, defer_loading: true, strict: true }],
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    }
    const sent = async (model: string, headers: Record<string, string>, more: object = fields) => {
      const prompt = prompted('[answer fine] [usage 50 5]')
      const reply = await account.post(MESSAGES, bodyOf(prompt, { model, ...more }), headers)
      expect(reply.status, reply.text).to.equal(200)
      // What a tool that is loaded later would have counted for is given back.
      expect(reply.json.usage).to.include({ input_tokens: 50, output_tokens: 5, credits: 50 + 3 * 5 })
      return gateway.sandbox.journal(prompt).at(-1)!
    }
    const unknown = (await sent('claude', odd, {})).headers
    expect(unknown).to.include({ 'anthropic-version': '2023-06-01' }).and.not.have.property('anthropic-beta')
    const native = await sent('claude', known)
    expect(native.headers).to.include(known)
    expect(native.body).to.deep.include(fields)
    const other = await sent('gpt', known)
    expect(other.headers).to.not.have.property('anthropic-beta')
    expect(other.body).to.not.have.property('context_management')
  })

  it('is charged once for equal requests with one key at once, and refused for it in another dialect', async () => {
    const headers = { 'idempotency-key': 'one' }
    const body = bodyOf(prompted('[answer fine] [delay 200]'), { model: 'gpt' })
    const replies = await Promise.all(Array.from({ length: 5 }, () => account.post(MESSAGES, body, headers)))
    const [first] = replies as [Reply]
    for (const reply of replies) {
      expect(reply.status, reply.text).to.equal(200)
      expect(reply.json).to.deep.equal(first.json)
    }
    expect(await account.balance()).to.equal(BALANCE - first.json.usage.credits)
    expect((await account.post(CHAT, body, headers)).status).to.be.within(409, 422)
    const both = await Promise.all(
      [MESSAGES, CHAT, MESSAGES, CHAT].map((path) =>
        account.post(path, bodyOf('both', { model: 'gpt' }), { 'idempotency-key': 'two' }),
      ),
    )
    const served = both.filter(({ status }) => status === 200)
    expect(served).to.have.length(2)
    expect(new Set(served.map((reply) => reply.headers.get('x-call-id'))).size).to.equal(1)
  })
})
