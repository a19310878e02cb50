import { expect } from 'chai'
import { anAccount, balanceOf } from '../../support/factories.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import type { Gateway } from '../../support/harness.ts'
import { startGateway } from '../../support/harness.ts'
import { post } from '../../support/http.ts'

describe('POST /v1/chat/completions', () => {
  let gateway: Gateway
  before(async () => { gateway = await startGateway() })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  it('answers in the specified form, settled on the real usage', async () => {
    const account = await anAccount(gateway.db, 1000)
    const reply = await post(`${gateway.url}/v1/chat/completions`, account.key, {
      model: 'sandbox-chat', messages: [{ role: 'user', content: 'Hello [usage 1500 500]' }],
    })
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json).to.include({ ok: true, object: 'chat.completion', model: 'sandbox-chat' })
    expect(reply.json.usage).to.include({ input_tokens: 1500, output_tokens: 500, prompt_tokens: 1500, completion_tokens: 500, total_tokens: 2000, credits: 3, balance: 997 })
    expect(await balanceOf(gateway.db, account.id)).to.equal(997)
  })

  it('streams chunks, then the usage, then [DONE]', async () => {
    const account = await anAccount(gateway.db, 1000)
    const reply = await post(`${gateway.url}/v1/chat/completions`, account.key, {
      model: 'sandbox-chat', stream: true, messages: [{ role: 'user', content: 'Hello [usage 1500 500]' }],
    })
    expect(reply.status, reply.text).to.equal(200)
    const lines = reply.text.split('\n\n').filter((line) => line.startsWith('data: ')).map((line) => line.slice(6))
    expect(lines.at(-1)).to.equal('[DONE]')
    expect(JSON.parse(lines.at(-2)!).usage).to.include({ input_tokens: 1500, output_tokens: 500, credits: 3, balance: 997 })
  })
})
