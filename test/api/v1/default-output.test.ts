import { expect } from 'chai'
import { CHAT, chat, chatBody, image, prompted, recordOf } from '../../../scripts/harness/calling.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { post } from '../../../scripts/harness/http.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { useGateway } from '../../support/gateway.ts'

/** One credit a token of output, and nothing for input: what is reserved is the limit. */
const pricing = { input: 0, output: 1, perTokens: 1, minimum: 1 }
const upstreams = [{ upstream: 'sandbox', model: 'gpt-sandbox' }]

describe('a chat that does not limit its output', () => {
  const gateway = useGateway({}, ({ models }) => {
    const common = { modality: 'chat' as const, pricing, upstreams }
    models.push(
      { ...common, id: 'agents-chat', defaultOutputTokens: 16_384, maxOutputTokens: 128_000 },
      { ...common, id: 'low-chat', defaultOutputTokens: 2000 },
      { ...common, id: 'tiny-chat', defaultOutputTokens: 500 },
      { ...common, id: 'plain-chat', maxOutputTokens: 128_000 },
    )
  })

  /** The limit that an upstream was sent, of a call that was answered. */
  const limitOf = (content: string): unknown =>
    (gateway.sandbox.journal(content).at(-1)!.body as { max_tokens: unknown }).max_tokens

  async function expectLimit(account: TestAccount, limit: number, more: object): Promise<Reply> {
    const content = prompted()
    const reply = await chat(gateway, account, content, more)
    expect(reply.status, reply.text).to.equal(200)
    expect(limitOf(content)).to.equal(limit)
    expect(reply.headers.get('x-max-output-tokens')).to.equal(String(limit))
    return reply
  }

  it("is given its model's default, which is 1024 where the catalogue states none", async () => {
    const account = await anAccount(gateway.db, 100_000)
    const reply = await expectLimit(account, 16_384, { model: 'agents-chat' })
    expect(await recordOf(gateway.db, reply)).to.include({ creditsPrecharged: 16_384 })
    await expectLimit(account, 1024, { model: 'plain-chat' })
    await expectLimit(account, 500, { model: 'tiny-chat' })
    await expectLimit(account, 16_384, { model: 'agents-chat', max_tokens: null })
  })

  it('is lowered to half of what the balance pays, for every choice', async () => {
    await expectLimit(await anAccount(gateway.db, 16_000), 8000, { model: 'agents-chat' })
    await expectLimit(await anAccount(gateway.db, 32_001), 8000, { model: 'agents-chat', n: 2 })
    const content = prompted()
    const streamed = await chat(gateway, await anAccount(gateway.db, 10_000), content, {
      model: 'agents-chat',
      stream: true,
    })
    expect(streamed.text).to.match(/\[DONE\]\n\n$/)
    expect(limitOf(content)).to.equal(5000)
  })

  it("is lowered to half of what the key's budget pays", async () => {
    const account = await anAccount(gateway.db, 100_000)
    await changeKey(gateway.db, account.keyId, { budget: { credits: 12_000, period: 'total' } })
    await expectLimit(account, 6000, { model: 'agents-chat' })
  })

  it('is not lowered below 4096 tokens, nor below a default that is less', async () => {
    await expectLimit(await anAccount(gateway.db, 4096), 4096, { model: 'agents-chat' })
    const short = await chat(gateway, await anAccount(gateway.db, 4095), prompted(), { model: 'agents-chat' })
    expect([short.status, short.json.error.code]).to.deep.equal([402, 'insufficient_credits'])
    expect(short.json.error.message).to.include('This call reserves 16384 credits (max_tokens 16384); 4095 are left.')
    const low = await chat(gateway, await anAccount(gateway.db, 1999), prompted(), { model: 'low-chat' })
    expect(low.status).to.equal(402)
    const tiny = await chat(gateway, await anAccount(gateway.db, 499), prompted(), { model: 'tiny-chat' })
    expect(tiny.status).to.equal(402)
  })

  it('is quoted as it would be charged', async () => {
    for (const [credits, charge, affordable] of [
      [50_000, 16_384, true],
      [9000, 4500, true],
      [8000, 4096, true],
      [4000, 16_384, false],
    ] as const) {
      const { key } = await anAccount(gateway.db, credits)
      const body = chatBody('x', { model: 'agents-chat' })
      const { json } = await post(`${gateway.url}/v1/quotes`, key, { endpoint: CHAT, body })
      expect(json).to.include({ credits: charge, affordable })
    }
  })

  it('is not lowered where the client has named the limit', async () => {
    const account = await anAccount(gateway.db, 120)
    const reply = await chat(gateway, account, prompted(), { model: 'agents-chat', max_tokens: 128_000 })
    expect(reply.status).to.equal(402)
    expect(reply.json.error.message).to.equal(
      'This call reserves 128000 credits (max_tokens 128000); 120 are left. ' +
        'Ask for less with a lower max_tokens. Nothing was charged.',
    )
  })

  it('is refused with what is left of the budget, and with the debt', async () => {
    const account = await anAccount(gateway.db, 100_000)
    await changeKey(gateway.db, account.keyId, { budget: { credits: 1, period: 'total' } })
    const reply = await chat(gateway, account, prompted(), { model: 'agents-chat', max_tokens: 4, n: 2 })
    expect(reply.json.error).to.include({ code: 'key_budget_exceeded' })
    expect(reply.json.error.message).to.include(
      'This call reserves 8 credits (max_tokens 4, n 2); 1 is left of the budget of this key.',
    )
    const drawn = await image(gateway, account, prompted())
    expect(drawn.json.error.message).to.equal(
      'This call reserves 40 credits; 1 is left of the budget of this key. Nothing was charged.',
    )
    const owing = await anAccount(gateway.db)
    await gateway.db('accounts').where({ id: owing.id }).update({ debt: 30 })
    const owed = await chat(gateway, owing, prompted(), { model: 'agents-chat' })
    expect([owed.status, owed.json.error.message]).to.deep.equal([
      402,
      'This account owes 30 credits for earlier calls, which the next credits repay. Nothing was charged.',
    ])
    await gateway.db('accounts').where({ id: owing.id }).update({ debt: 0 })
  })
})
