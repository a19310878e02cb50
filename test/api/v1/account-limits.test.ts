import { expect } from 'chai'
import type { LimitChanges } from '../../../src/shared/identity/account-limits.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { setAccountLimits } from '../../../src/shared/operators/changes.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { anAccount } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway, TestWeb } from '../../../scripts/harness/harness.ts'
import { startGateway, startTestWeb } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { image, prompted } from '../../../scripts/harness/calling.ts'

const ASYNC = { prefer: 'respond-async' }

describe("an account's own limits", () => {
  let gateway: Gateway
  let second: TestWeb
  before(async () => {
    gateway = await startGateway({ GATEWAY_RATE_LIMIT: '5', MAX_OUTSTANDING_CALLS: '3' })
    second = await startTestWeb(gateway.config)
  })
  after(async () => {
    await second.stop()
    await gateway.stop()
  })
  afterEach(() => expectBooksToBalance(gateway.db))

  const limit = (account: TestAccount, changes: LimitChanges) => setAccountLimits(gateway.db, null, account.id, changes)

  /** A request that costs nothing, but counts as a call does, at either web process. */
  const counted = (account: TestAccount, web: TestWeb = gateway): Promise<Reply> =>
    get(`${web.url}/v1/key`, account.key)
  const allowance = ({ headers }: Reply): (string | null)[] =>
    ['limit', 'remaining'].map((what) => headers.get(`x-ratelimit-${what}-requests`))

  it('take the place of the usual rate limit on every process at once, and go on in its window', async () => {
    const account = await anAccount(gateway.db)
    expect(allowance(await counted(account))).to.deep.equal(['5', '4'])
    await limit(account, { rateLimit: 8 })
    expect(allowance(await counted(account, second))).to.deep.equal(['8', '6'])
    expect(allowance(await counted(account))).to.deep.equal(['8', '5'])
    await limit(account, { rateLimit: 3 })
    const refused = [await counted(account), await counted(account, second)]
    expect(refused.map(({ status }) => status)).to.deep.equal([429, 429])
    expect(refused.map(allowance)).to.deep.equal([
      ['3', '0'],
      ['3', '0'],
    ])
    await limit(account, { rateLimit: null })
    expect(allowance(await counted(account))[0]).to.equal('5')
    expect(allowance(await counted(await anAccount(gateway.db)))).to.deep.equal(['5', '4'])
  })

  it('hold a key with a higher limit to that of its account', async () => {
    const account = await anAccount(gateway.db)
    await limit(account, { rateLimit: 100 })
    await changeKey(gateway.db, account.keyId, { rateLimit: 50 })
    expect(allowance(await counted(account))).to.deep.equal(['50', '49'])
    await limit(account, { rateLimit: 2 })
    expect(allowance(await counted(account, second))).to.deep.equal(['2', '0'])
    expect((await counted(account)).status).to.equal(429)
  })

  it('take the place of the usual number of open calls', async () => {
    const [more, fewer, usual] = [
      await anAccount(gateway.db, 1000),
      await anAccount(gateway.db, 1000),
      await anAccount(gateway.db, 1000),
    ]
    for (const account of [more, fewer, usual]) await limit(account, { rateLimit: 100 })
    await limit(more, { maxOutstanding: 4 })
    await limit(fewer, { maxOutstanding: 1 })
    await gateway.stopWorker()
    try {
      const statuses = async (account: TestAccount): Promise<number[]> => {
        const replies: Reply[] = []
        for (let call = 0; call < 5; call++)
          replies.push(await image([gateway, second][call % 2]!, account, prompted(), {}, ASYNC))
        return replies.map(({ status }) => status)
      }
      expect(await statuses(more)).to.deep.equal([202, 202, 202, 202, 429])
      expect(await statuses(fewer)).to.deep.equal([202, 429, 429, 429, 429])
      expect(await statuses(usual)).to.deep.equal([202, 202, 202, 429, 429])
      await limit(fewer, { maxOutstanding: null })
      expect(await statuses(fewer)).to.deep.equal([202, 202, 429, 429, 429])
    } finally {
      await gateway.startWorker()
    }
  })
})
