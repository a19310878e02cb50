import { expect } from 'chai'
import { aGrant } from '../../../scripts/harness/factories.ts'
import type { DescribedWeb } from './support/records.ts'
import { aCall, startDescribed } from './support/records.ts'

describe('GET /api/account', () => {
  let web: DescribedWeb
  before(async () => {
    web = await startDescribed()
  })
  after(() => web.stop())

  it('shows the balance, what running calls hold of it, and how many are running', async () => {
    const { account, api } = await web.signedIn(100)
    await aCall(web.db, account, { amount: 30, end: null })
    await aCall(web.db, account, { amount: 20 })
    expect((await api('GET', '/api/account')).json).to.include({ credits: 50, held: 30, running: 1, debt: 0 })
  })

  it('shows what past calls left uncollected as debt, until later credits have repaid it', async () => {
    const { account, api } = await web.signedIn(100)
    await aCall(web.db, account, { amount: 100, cost: 250 })
    expect((await api('GET', '/api/account')).json).to.include({ credits: 0, debt: 100 })
    await aGrant(web.db, account.id, { amount: 70 })
    expect((await api('GET', '/api/account')).json).to.include({ credits: 0, debt: 30 })
    const {
      data: [newest],
    } = (await api('GET', '/api/ledger')).json
    expect(newest).to.include({ kind: 'collection', amount: -70, balanceAfter: 0, callId: null })
    await aGrant(web.db, account.id, { amount: 50 })
    expect((await api('GET', '/api/account')).json).to.include({ credits: 20, debt: 0 })
  })
})
