import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { LimitChanges } from '../../../src/shared/identity/account-limits.ts'
import { setAccountLimits } from '../../../src/shared/operators/changes.ts'
import type { TestWeb } from '../../../scripts/harness/harness.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { image, prompted } from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway, useSecondWeb } from '../../support/gateway.ts'

const LIMIT = 5
const ASYNC = { prefer: 'respond-async' }

// How events are counted: test/api/endpoint/rate-limits.test.ts.
describe('the limits of the gateway', () => {
  const gateway = useGateway({ GATEWAY_RATE_LIMIT: String(LIMIT), MAX_OUTSTANDING_CALLS: '3' })
  const account = useAccount(gateway, 10_000)

  /** A request that costs nothing, but counts as a call does. */
  const counted = (key = account.key, web: TestWeb = gateway): Promise<Reply> => get(`${web.url}/v1/key`, key)
  const allowance = (reply: Reply): (string | null)[] =>
    ['limit', 'remaining', 'reset'].map((what) => reply.headers.get(`x-ratelimit-${what}-requests`))
  const left = (reply: Reply) => allowance(reply).slice(0, 2).join()

  function expectLimited(reply: Reply): void {
    expect([reply.status, reply.json.error.type], reply.text).to.deep.equal([429, 'rate_limited'])
    expect(Number(reply.headers.get('retry-after'))).to.be.within(1, 60)
    expect(reply.headers.get('x-should-retry')).to.equal('true')
  }

  it('allow a number of requests a minute, and show how many are left', async () => {
    const replies = [
      await counted(),
      await account.image(prompted()),
      await account.image(''),
      await account.chat(prompted()),
      await counted(),
    ]
    expect(replies.map(({ status }) => status)).to.deep.equal([200, 200, 400, 200, 200])
    expect(replies.map(left)).to.deep.equal(['5,4', '5,3', '5,2', '5,1', '5,0'])
    const reply = await account.image(prompted())
    expectLimited(reply)
    expect(left(reply)).to.equal('5,0')
    for (const one of [...replies, reply]) expect(allowance(one)[2]).to.match(/^(60|[1-5]?\d)s$/)
    expect(await account.counts()).to.include({ charged: 2 })
  })

  it('allow exactly that number of simultaneous requests of all keys; refused keys do not count', async () => {
    const second = await createKey(gateway.db, account.id, 'second')
    for (let request = 0; request < 10; request++) await counted('tg_nonsense')
    const replies = await Promise.all(
      Array.from({ length: 40 }, (_, at) => counted(at % 2 ? account.key : second.secret)),
    )
    expect(replies.filter(({ status }) => status === 200).length).to.equal(LIMIT)
    replies.filter(({ status }) => status !== 200).forEach(expectLimited)
    expect((await counted((await gateway.account()).key)).status).to.equal(200)
  })

  it('count a request once, also where its key or another one got a limit since the last', async () => {
    const next = async () => allowance(await account.image(prompted()))[1]
    expect(await next()).to.equal('4')
    await createKey(gateway.db, account.id, 'second', { budget: { credits: 1, period: 'day' } })
    expect(await next()).to.equal('3')
    await changeKey(gateway.db, account.keyId, { models: ['sandbox-chat'] })
    expect(await next()).to.equal('2')
    await changeKey(gateway.db, account.keyId, { models: null, rateLimit: 2 })
    expect(await next()).to.equal('1')
    const last = await account.chat(prompted())
    expect([last.status, allowance(last)[1]]).to.deep.equal([200, '0'])
  })

  it('start a window with its first request, and another after 60 s', async () => {
    const redis = new Redis(gateway.config.REDIS_URL)
    try {
      const begun = performance.now()
      for (let request = 0; request < LIMIT; request++) await counted()
      expectLimited(await counted())
      const [key] = await redis.keys(`${gateway.config.REDIS_PREFIX}:limit:calls:*${account.id}`)
      expect(await redis.pttl(key!)).to.be.within(60_000 - (performance.now() - begun), 60_000)
      // A refused request does not extend it.
      await redis.pexpire(key!, 1)
      await until('the end of the window', async () => (await redis.exists(key!)) === 0)
      const reply = await counted()
      expect([reply.status, allowance(reply)]).to.deep.equal([200, ['5', '4', '60s']])
    } finally {
      redis.disconnect()
    }
  })

  it('do not apply to reads of calls and models, which have a limit of their own', async () => {
    const done = await account.image(prompted())
    const path = `/v1/calls/${done.headers.get('x-call-id')}`
    expect(left(await account.get(path))).to.equal('600,599')
    const reads = [path, '/v1/models', '/v1/models/sandbox-chat']
    for (const one of reads) expect((await account.get(one)).status).to.equal(200)
    for (let request = 0; request < 12; request++)
      await Promise.all(Array.from({ length: 50 }, () => account.get(path)))
    for (const one of reads) expectLimited(await account.get(one))
    expect(left(await counted())).to.equal('5,3')
  })

  describe('of an account itself', () => {
    const second = useSecondWeb(gateway)

    const limit = (changes: LimitChanges) => setAccountLimits(gateway.db, null, account.id, changes)
    const here = async () => left(await counted())
    const there = async () => left(await counted(account.key, second))

    it('take the place of the usual rate limit on every process at once, and go on in its window', async () => {
      expect(await here()).to.equal('5,4')
      await limit({ rateLimit: 8 })
      expect([await there(), await here()]).to.deep.equal(['8,6', '8,5'])
      await limit({ rateLimit: 3 })
      for (const refused of [await counted(), await counted(account.key, second)])
        expect([refused.status, left(refused)]).to.deep.equal([429, '3,0'])
      await limit({ rateLimit: null })
      expect((await here()).startsWith('5,')).to.equal(true)
    })

    it('take the place of the usual number of open calls, on every process at once', async () => {
      await limit({ maxOutstanding: 4, rateLimit: 100 })
      const opened = async (web: TestWeb) => (await image(web, account, prompted(), {}, ASYNC)).status
      const statuses = async () => [await opened(gateway), await opened(second)].join()
      await gateway.stopWorker()
      try {
        expect([await statuses(), await statuses(), await statuses()]).to.deep.equal(['202,202', '202,202', '429,429'])
        await limit({ maxOutstanding: 5 })
        expect(await statuses()).to.equal('202,429')
        await limit({ maxOutstanding: null })
        expect(await statuses()).to.equal('429,429')
      } finally {
        await gateway.startWorker()
      }
      await until('the calls to end', async () => (await account.image(prompted())).status === 200)
    })
  })
})
