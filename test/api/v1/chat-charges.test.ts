import { expect } from 'chai'
import { CHAT, chatBody, prompted } from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const PRICING = { input: 1, output: 3, perTokens: 25, minimum: 1 }

// That a charge covers every byte of a body, wherever it stands: test/upstreams/precharge.test.ts.
describe('what is billed was charged', () => {
  const gateway = useGateway({}, ({ models }) => {
    const entry = { upstream: 'sandbox', model: 'gpt-sandbox' }
    const tiered = { ...entry, allow: ['service_tier'] }
    const chat = (id: string, upstreams: object[], more: object = {}) =>
      models.push({ id, modality: 'chat', pricing: PRICING, upstreams, ...more })
    chat('tiered-chat', [{ ...entry, model: 'refusing-gpt' }, tiered])
    chat('set-chat', [{ ...tiered, set: { service_tier: 'default' } }])
    chat('narrow-chat', [entry], { pricing: { ...PRICING, perTokens: 1 }, bytesPerToken: 1 })
  })
  const account = useAccount(gateway, 10_000)

  it('with the bytes a token of the model', async () => {
    const body = chatBody(prompted('[usage 1 1]'), { model: 'narrow-chat', max_tokens: 1 })
    const record = await gateway.record(await account.post(CHAT, body))
    expect(record.creditsPrecharged).to.equal(Buffer.byteLength(JSON.stringify(body)) + 3)
  })

  it("with a field that one upstream allows: only that is asked, and the operator's value wins", async () => {
    for (const [model, tier, sent] of [
      ['tiered-chat', 'flex', 'flex'],
      ['set-chat', 'priority', 'default'],
    ]) {
      const prompt = prompted()
      expect((await account.chat(prompt, { model, service_tier: tier })).status).to.equal(200)
      const bodies = gateway.sandbox.journal(prompt).map(({ body }) => body as Record<string, unknown>)
      expect(bodies.map((body) => [body.model, body.service_tier])).to.deep.equal([['gpt-sandbox', sent]])
    }
    const refused = await account.chat('x', { service_tier: 'flex' })
    expect(refused.json.error).to.include({ type: 'invalid_request', param: 'service_tier' })
  })
})
