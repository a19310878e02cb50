import { expect } from 'chai'
import { CHAT, chatBody, prompted } from '../../../../scripts/harness/calling.ts'
import { useGateway } from '../../../support/gateway.ts'

// What an upstream is sent: test/workers/upstreams/openai/chat.test.ts, and which limit: default-output.test.ts.
describe('POST /v1/chat/completions', () => {
  const gateway = useGateway({}, ({ models }) => {
    const pricing = { input: 0, output: 1, perTokens: 1, minimum: 1 }
    const upstreams = [{ upstream: 'sandbox', model: 'gpt-sandbox' }]
    models.push({ id: 'short-chat', modality: 'chat', maxOutputTokens: 100, pricing, upstreams })
  })

  it('answers in the specified form, settled on the real usage', async () => {
    const account = await gateway.account(1000)
    const asked = Math.floor(Date.now() / 1000)
    const reply = await account.chat(`Hello [usage 1500 500] [answer Good day]${' and'.repeat(400)}`)
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json).to.include({ ok: true, object: 'chat.completion', model: 'sandbox-chat' })
    expect(reply.json.id).to.be.a('string').that.is.not.empty
    expect(reply.json.created).to.be.within(asked, Date.now() / 1000)
    const [choice, ...others] = reply.json.choices
    expect(others).to.deep.equal([])
    expect(choice).to.include({ index: 0, finish_reason: 'stop' }).and.to.have.property('logprobs')
    expect(choice.message).to.include({ role: 'assistant', content: 'Good day' })
    const counts = { input_tokens: 1500, output_tokens: 500, prompt_tokens: 1500, completion_tokens: 500 }
    expect(reply.json.usage).to.include({ ...counts, total_tokens: 2000, credits: 3, balance: 997 })
    expect(reply.json.usage.completion_tokens_details).to.include({ reasoning_tokens: 0 })
    expect(await account.balance()).to.equal(997)
    expect(await gateway.record(reply)).to.include({
      status: 'succeeded',
      httpStatus: 200,
      errorType: null,
      model: 'sandbox-chat',
      modality: 'chat',
      credits: 3,
      creditsUncollected: 0,
      inputTokens: 1500,
      outputTokens: 500,
      upstream: 'sandbox',
      attempts: 1,
      count: 1,
    })
  })

  it("pre-charges a third of the body's bytes and all of max_tokens, then gives back the rest", async () => {
    const account = await gateway.account(100_000)
    const body = chatBody(`${'é'.repeat(3000)} [usage 10 4]`, { model: 'dear-chat', max_tokens: 2 })
    const reply = await account.post(CHAT, body)
    const estimate = Math.ceil(Buffer.byteLength(JSON.stringify(body)) / 3) + 2 * 2
    expect(await gateway.movements(reply)).to.deep.equal([`charge -${estimate}`, `settlement ${estimate - 18}`])
    expect(reply.json.usage).to.include({ credits: 18, balance: 99_982 })
    expect((await gateway.record(reply)).creditsPrecharged).to.equal(estimate)
  })

  it('charges a settlement above the pre-charge, down to a balance of zero', async () => {
    const account = await gateway.account(30)
    const paid = await account.chat('[usage 0 40]', { model: 'short-chat', max_tokens: 20 })
    expect(paid.json.usage).to.include({ credits: 30, balance: 0 })
    expect(await gateway.record(paid)).to.include({ credits: 30, creditsPrecharged: 20, creditsUncollected: 10 })
    expect(await gateway.movements(paid)).to.deep.equal(['charge -20', 'settlement -10'])
  })

  it("sends the upstream its own key, never the caller's, and the call's id", async () => {
    const account = await gateway.account(1000)
    const prompt = prompted()
    const reply = await account.chat(prompt)
    const { headers } = gateway.sandbox.journal(prompt)[0]!
    expect(JSON.stringify(headers)).not.to.include(account.key)
    expect(headers['idempotency-key']).to.equal(reply.headers.get('x-call-id'))
  })
})
