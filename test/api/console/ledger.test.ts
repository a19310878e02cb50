import { expect } from 'chai'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { DescribedWeb } from './support/records.ts'
import { aCall, startDescribed } from './support/records.ts'

type Entry = {
  id: string
  kind: string
  amount: number
  balanceAfter: number
  origin: string
  callId: string | null
  grantId: string
}

describe('GET /api/ledger', () => {
  let web: DescribedWeb
  before(async () => {
    web = await startDescribed()
  })
  after(() => web.stop())

  it('shows every movement, newest first, each with the balance after it', async () => {
    const { account, api } = await web.signedIn([{ amount: 30, days: 5, origin: 'bonus' }, { amount: 100 }])
    const call = publicId('call', await aCall(web.db, account, { amount: 40, end: 'failed' }))
    const { data, nextCursor } = (await api('GET', '/api/ledger')).json
    expect(
      data.map(({ kind, amount, balanceAfter, origin, callId }: Entry) => [kind, amount, balanceAfter, origin, callId]),
    ).to.deep.equal([
      ['refund', 30, 130, 'bonus', call],
      ['refund', 10, 100, 'purchase', call],
      ['charge', -10, 90, 'purchase', call],
      ['charge', -30, 100, 'bonus', call],
      ['grant', 100, 130, 'purchase', null],
      ['grant', 30, 30, 'bonus', null],
    ])
    expect(nextCursor).to.equal(null)
  })

  it('adds up to the balance', async () => {
    const { account, api } = await web.signedIn(500)
    for (const end of ['succeeded', 'failed', null] as const) await aCall(web.db, account, { end })
    const { data } = (await api('GET', '/api/ledger')).json
    expect(data.reduce((sum: number, entry: Entry) => sum + entry.amount, 0)).to.equal(data[0].balanceAfter)
  })

  it('has pages with each entry once, which do not change while credits move', async () => {
    const { account, api } = await web.signedIn(1000)
    for (let nth = 0; nth < 4; nth++) await aCall(web.db, account)
    const whole = (await api('GET', '/api/ledger')).json.data as Entry[]
    const first = (await api('GET', '/api/ledger?limit=3')).json
    await aCall(web.db, account)
    const second = (await api('GET', `/api/ledger?limit=3&cursor=${first.nextCursor}`)).json
    expect([...first.data, ...second.data]).to.deep.equal(whole)
    expect(second.nextCursor).to.equal(null)
  })

  it('shows nothing of another account', async () => {
    const [mine, theirs] = [await web.signedIn(), await web.signedIn(100)]
    await aCall(web.db, theirs.account)
    expect((await mine.api('GET', '/api/ledger')).json).to.deep.equal({ ok: true, data: [], nextCursor: null })
  })

  it('refuses invalid parameters by name', async () => {
    const { api } = await web.signedIn()
    for (const query of [
      'limit=0',
      'limit=101',
      'limit=x',
      'cursor=',
      'cursor=1',
      `cursor=${Buffer.from('1').toString('base64url')}`,
    ]) {
      const refused = await api('GET', `/api/ledger?${query}`)
      expect([refused.status, refused.json.error], query).to.deep.equal([400, 'invalid_request'])
      expect(refused.json.message).to.match(new RegExp(`^${query.split('=')[0]} `))
    }
  })
})
