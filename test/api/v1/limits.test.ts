import { expect } from 'chai'
import { Redis } from 'ioredis'
import type { LimitChanges } from '../../../src/shared/identity/account-limits.ts'
import { setAccountLimits } from '../../../src/shared/operators/changes.ts'
import type { TestWeb } from '../../../scripts/harness/harness.ts'
import { createKey } from '../../../src/shared/identity/api-keys.ts'
import { changeKey } from '../../../src/shared/identity/key-limits.ts'
import { aGrant } from '../../../scripts/harness/factories.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { MAX_REQUEST_BYTES } from '../../../src/shared/terms/lifecycle.ts'
import { aResult, opened, outstandingOf, verbs } from '../../shared/calls/opening.ts'
import { image, prompted } from '../../../scripts/harness/calling.ts'
import { useAccount, useGateway, useSecondWeb } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'

const LIMIT = 5
const ASYNC = { prefer: 'respond-async' }

describe('the limits of the gateway', () => {
  const gateway = useGateway({ GATEWAY_RATE_LIMIT: String(LIMIT), MAX_OUTSTANDING_CALLS: '3' })
  const account = useAccount(gateway, 10_000)

  /** A request that costs nothing, but counts as a call does. */
  const counted = (key = account.key): Promise<Reply> => get(`${gateway.url}/v1/key`, key)
  const allowance = (reply: Reply): (string | null)[] =>
    ['limit', 'remaining', 'reset'].map((what) => reply.headers.get(`x-ratelimit-${what}-requests`))

  function expectLimited(reply: Reply): void {
    expect([reply.status, reply.json.error.type], reply.text).to.deep.equal([429, 'rate_limited'])
    expect(reply.headers.get('retry-after')).to.match(/^\d+$/)
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
    expect(replies.map((reply) => allowance(reply).slice(0, 2))).to.deep.equal([
      ['5', '4'],
      ['5', '3'],
      ['5', '2'],
      ['5', '1'],
      ['5', '0'],
    ])
    const reply = await account.image(prompted())
    expectLimited(reply)
    expect(allowance(reply).slice(0, 2)).to.deep.equal(['5', '0'])
    for (const one of [...replies, reply]) expect(allowance(one)[2]).to.match(/^(60|[1-5]?\d)s$/)
    expect(await account.counts()).to.include({ charged: 2 })
  })

  it('allow exactly that number of simultaneous requests', async () => {
    const replies = await Promise.all(Array.from({ length: 40 }, () => counted()))
    expect(replies.filter(({ status }) => status === 200).length).to.equal(LIMIT)
    replies.filter(({ status }) => status !== 200).forEach(expectLimited)
  })

  it('apply to an account: all its keys share them, and refused keys do not count', async () => {
    const second = await createKey(gateway.db, account.id, 'second')
    for (let request = 0; request < 10; request++) await counted('tg_nonsense')
    for (let request = 0; request < LIMIT; request++)
      expect((await counted(request % 2 ? account.key : second.secret)).status).to.equal(200)
    expectLimited(await counted(second.secret))
    expect((await counted((await gateway.account()).key)).status).to.equal(200)
  })

  it('count a request once, also where its key or another one got a limit since the last', async () => {
    const left = async () => allowance(await account.image(prompted()))[1]
    expect(await left()).to.equal('4')
    await createKey(gateway.db, account.id, 'second', { budget: { credits: 1, period: 'day' } })
    expect(await left()).to.equal('3')
    await changeKey(gateway.db, account.keyId, { models: ['sandbox-chat'] })
    expect(await left()).to.equal('2')
    await changeKey(gateway.db, account.keyId, { models: null, rateLimit: 2 })
    expect(await left()).to.equal('1')
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
      const leftMs = await redis.pttl(key!)
      expect(leftMs).to.be.within(60_000 - (performance.now() - begun), 60_000)
      // A refused request does not extend it.
      await redis.pexpire(key!, 1)
      await until('the end of the window', async () => (await redis.exists(key!)) === 0)
      const reply = await counted()
      expect([reply.status, allowance(reply)]).to.deep.equal([200, ['5', '4', '60s']])
    } finally {
      redis.disconnect()
    }
  })

  it('record the refusals of a minute once, with their count, under their X-Call-Id', async () => {
    for (let request = 0; request < LIMIT; request++) await counted()
    const replies = await Promise.all(Array.from({ length: 20 }, () => account.image(prompted())))
    replies.forEach(expectLimited)
    const ids = [...new Set(replies.map((reply) => reply.headers.get('x-call-id')))]
    // More than one if a minute ended in between.
    expect(ids.length).to.be.within(1, 2)
    const records = await Promise.all(
      ids.map((id) => gateway.record(replies.find((reply) => reply.headers.get('x-call-id') === id)!)),
    )
    for (const record of records)
      expect(record).to.include({ status: 'rejected', httpStatus: 429, errorType: 'rate_limited', credits: 0 })
    expect(records.reduce((sum, { count }) => sum + count, 0)).to.equal(20)
    expect(await account.counts()).to.deep.equal({ calls: 20, charged: 0, entries: 1 })
  })

  it('do not apply to reads of calls and models, which have a limit of their own', async function () {
    const done = await account.image(prompted())
    const url = `${gateway.url}/v1/calls/${done.headers.get('x-call-id')}`
    const first = await get(url, account.key)
    expect(allowance(first).slice(0, 2)).to.deep.equal(['600', '599'])
    for (const path of ['/v1/models', '/v1/models/sandbox-chat']) expect((await account.get(path)).status).to.equal(200)
    for (let request = 0; request < 12; request++)
      await Promise.all(Array.from({ length: 50 }, () => get(url, account.key)))
    for (const path of ['/v1/models', '/v1/models/sandbox-chat', new URL(url).pathname])
      expectLimited(await account.get(path))
    expect(allowance(await counted()).slice(0, 2)).to.deep.equal(['5', '3'])
  })

  it("bound the bytes of an account's open requests, and accept more as these end", async () => {
    const large = await opened(verbs(gateway.db), account, 1, { requestBytes: MAX_REQUEST_BYTES - 10 })
    const refused = await account.image(prompted())
    expectLimited(refused)
    expect(await account.counts()).to.include({ charged: 1 })
    await verbs(gateway.db).settle(large, 'image', aResult(1))
    expect((await account.image(prompted())).status).to.equal(200)
    const row = await gateway.db('accounts').where({ id: account.id }).first<{ request_bytes: number }>('request_bytes')
    expect(row.request_bytes, 'what is open by now').to.equal(0)
  })

  it('refuse the calls of an account with debt for lack of credits, until it is repaid', async () => {
    const dear = await account.chat(prompted('[usage 100 4000000]'), { max_tokens: 2_000_000 })
    expect([dear.status, dear.json.usage.balance], dear.text).to.deep.equal([200, 0])
    expect(await gateway.record(dear)).to.include({ credits: 10_000, creditsUncollected: 2001 })
    const refused = await account.image(prompted())
    expect([refused.status, refused.json.error.type]).to.deep.equal([402, 'insufficient_credits'])
    await aGrant(gateway.db, account.id, { amount: 2100 })
    expect((await account.image(prompted())).status).to.equal(200)
  })

  it('bound the open calls of an account, and accept more as these end', async () => {
    await gateway.stopWorker()
    for (let call = 0; call < 3; call++) expect((await account.image(prompted(), {}, ASYNC)).status).to.equal(202)
    const refused = await account.image(prompted(), {}, ASYNC)
    expectLimited(refused)
    expect(await account.counts()).to.include({ charged: 3 })
    await gateway.startWorker()
    await until('the calls to end', async () => (await outstandingOf(gateway.db, account.id)) === 0)
    expect((await account.image(prompted())).status).to.equal(200)
  })

  describe('of an account itself', () => {
    const second = useSecondWeb(gateway)

    const limit = (account: Caller, changes: LimitChanges) => setAccountLimits(gateway.db, null, account.id, changes)

    const countedAt = (account: Caller, web: TestWeb = gateway): Promise<Reply> => account.get('/v1/key')
    const left = (reply: Reply) => allowance(reply).slice(0, 2)

    it('take the place of the usual rate limit on every process at once, and go on in its window', async () => {
      const account = await gateway.account()
      expect(left(await countedAt(account))).to.deep.equal(['5', '4'])
      await limit(account, { rateLimit: 8 })
      expect(left(await countedAt(account, second))).to.deep.equal(['8', '6'])
      expect(left(await countedAt(account))).to.deep.equal(['8', '5'])
      await limit(account, { rateLimit: 3 })
      const refused = [await countedAt(account), await countedAt(account, second)]
      expect(refused.map(({ status }) => status)).to.deep.equal([429, 429])
      expect(refused.map(left)).to.deep.equal([
        ['3', '0'],
        ['3', '0'],
      ])
      await limit(account, { rateLimit: null })
      expect(left(await countedAt(account))[0]).to.equal('5')
      expect(left(await countedAt(await gateway.account()))).to.deep.equal(['5', '4'])
    })

    it('hold a key with a higher limit to that of its account', async () => {
      const account = await gateway.account()
      await limit(account, { rateLimit: 100 })
      await changeKey(gateway.db, account.keyId, { rateLimit: 50 })
      expect(left(await countedAt(account))).to.deep.equal(['50', '49'])
      await limit(account, { rateLimit: 2 })
      expect(left(await countedAt(account, second))).to.deep.equal(['2', '0'])
      expect((await countedAt(account)).status).to.equal(429)
    })

    it('take the place of the usual number of open calls', async () => {
      const [more, fewer, usual] = [
        await gateway.account(1000),
        await gateway.account(1000),
        await gateway.account(1000),
      ]
      for (const account of [more, fewer, usual]) await limit(account, { rateLimit: 100 })
      await limit(more, { maxOutstanding: 4 })
      await limit(fewer, { maxOutstanding: 1 })
      await gateway.stopWorker()
      try {
        const statuses = async (account: Caller): Promise<number[]> => {
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
})
