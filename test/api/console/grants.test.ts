import { expect } from 'chai'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { DescribedWeb } from './support/records.ts'
import { aCall, startDescribed } from './support/records.ts'

describe('GET /api/grants', () => {
  let web: DescribedWeb
  before(async () => {
    web = await startDescribed()
  })
  after(() => web.stop())

  it('shows every grant with what is left of it, newest first', async () => {
    const { account, api } = await web.signedIn([{ amount: 30, days: 5, origin: 'bonus' }, { amount: 100 }])
    await aCall(web.db, account, { amount: 40 })
    const { data } = (await api('GET', '/api/grants')).json
    expect(
      data.map((grant: Record<string, unknown>) => [grant.id, grant.origin, grant.amount, grant.remaining]),
    ).to.deep.equal([
      [publicId('grant', account.grants[1]!), 'purchase', 100, 90],
      [publicId('grant', account.grants[0]!), 'bonus', 30, 0],
    ])
    expect(data[0].expiresAt).to.equal(null)
    expect(Math.round((Date.parse(data[1].expiresAt) - Date.parse(data[1].createdAt)) / 86_400_000)).to.equal(5)
  })

  it('shows nothing of another account', async () => {
    const [mine] = [await web.signedIn(), await web.signedIn(100)]
    expect((await mine.api('GET', '/api/grants')).json).to.deep.equal({ ok: true, data: [] })
  })
})
