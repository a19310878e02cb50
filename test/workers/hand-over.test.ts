import { expect } from 'chai'
import { expectBooksToBalance } from '../support/books.ts'
import { anAccount } from '../../scripts/harness/factories.ts'
import type { Gateway } from '../../scripts/harness/harness.ts'
import { startGateway } from '../../scripts/harness/harness.ts'
import { post } from '../../scripts/harness/http.ts'
import { until } from '../../scripts/harness/until.ts'

describe('a worker that is told to stop', () => {
  let gateway: Gateway
  before(async () => {
    gateway = await startGateway()
  })
  after(() => gateway.stop())
  afterEach(() => expectBooksToBalance(gateway.db))

  it('hands a running video over to the next, which continues its task: one billed submission', async () => {
    const account = await anAccount(gateway.db, 1000)
    const prompt = 'handed over half-way [duration 4]'
    const answer = post(`${gateway.url}/v1/videos/generations`, account.key, { model: 'sandbox-video', prompt })
    await until('the task is persisted', async () =>
      gateway.db('calls').where({ account_id: account.id }).whereNotNull('upstream_ref').first('id'),
    )
    await gateway.stopWorker()
    await gateway.startWorker()
    const reply = await answer
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.usage).to.include({ credits: 250, balance: 750 })
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
  })
})
