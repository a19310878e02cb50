import { expect } from 'chai'
import { useGateway } from '../support/gateway.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { prompted } from '../../scripts/harness/calling.ts'
import { balanceOf } from '../../scripts/harness/factories.ts'
import { until } from '../../scripts/harness/until.ts'
import { FUNDS, PRICES, aFundedAccount, ask, everyProtocol } from './support/targets.ts'

const VIDEOS = 100

describe('many videos at once', () => {
  const gateway = useGateway({}, everyProtocol)

  it('are all made by one worker, and settled once each', async () => {
    const account = await aFundedAccount(gateway)
    const prompt = prompted('[hold] [duration 0.1]')
    const video = { protocol: 'openai', modality: 'video' } as const
    const asked = Array.from({ length: VIDEOS }, () => ask(gateway, account, video, prompt))
    const running = gateway
      .db('calls')
      .where({ account_id: account.id, status: 'running' })
      .whereNotNull('upstream_ref')
    await until('all to run', async () => (await running.clone().select('id')).length === VIDEOS)
    gateway.sandbox.release(prompt)
    expect((await Promise.all(asked)).map(({ status }) => status)).to.deep.equal(asked.map(() => 200))
    expect(gateway.sandbox.billed(prompt).total).to.equal(VIDEOS)
    expect(await balanceOf(gateway.db, account.id)).to.equal(FUNDS - VIDEOS * PRICES.video)
    await expectBooksToBalance(gateway.db)
  })
})
