import { expect } from 'chai'
import type { Reply } from '../../../scripts/harness/http.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'
import type { Caller } from '../../support/caller.ts'
import type { Redis } from 'ioredis'
import { prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { connectProducer } from '../../../src/shared/platform/redis/redis.ts'

const KILOBYTE = 1024
const MEGABYTE = 1024 * KILOBYTE

describe('a call with a large body', () => {
  const gateway = useGateway({ GATEWAY_RATE_LIMIT: '1000', MAX_BODY_BYTES: String(4 * MEGABYTE) }, ({ models }) => {
    const [route] = (models.find(({ id }) => id === 'sandbox-chat') as { upstreams: object[] }).upstreams
    const pricing = { input: 0, output: 0, perTokens: 1000, minimum: 0 }
    models.push({ id: 'gratis', modality: 'chat', free: true, pricing, upstreams: [route!] })
  })

  const ask = (account: Caller, bytes: number, more: object = {}, path = '/v1/messages'): Promise<Reply> => {
    const messages = [{ role: 'user', content: 'a'.repeat(bytes) }]
    return account.post(path, { model: 'sandbox-chat', max_tokens: 9, messages, ...more })
  }
  const faultOf = ({ status, json }: Reply) => [status, json.error.type as string]

  it('is refused by its model before its fields, whatever its length', async () => {
    const account = await gateway.account(10)
    for (const bytes of [10, 100 * KILOBYTE])
      expect(faultOf(await ask(account, bytes, { model: 'none', max_tokens: 0 }))).to.deep.equal([
        404,
        'not_found_error',
      ])
  })

  it('is refused unread in the form of its dialect, and recorded, where its account has no credits', async () => {
    const account = await gateway.account()
    // Images have no model that costs nothing.
    const reply = await account.post('/v1/images/generations', { prompt: 'a'.repeat(MEGABYTE / 2) })
    expect(faultOf(reply)).to.deep.equal([402, 'insufficient_credits'])
    expect(reply.json.error.message).to.match(/before it was read/)
    expect(reply.headers.get('x-call-id')).to.match(/^call_/)
    const small = await account.post('/v1/images/generations', { prompt: 'a' })
    expect(small.json.error.type).to.equal('unsupported_model')
  })

  it('is served without credits by a model that costs nothing', async () => {
    const account = await gateway.account()
    const reply = await ask(account, 100 * KILOBYTE, { model: 'gratis' })
    expect(reply.status, reply.text.slice(0, 300)).to.equal(200)
  })

  it('counts by its bytes where it is refused, and small ones are not refused for it', async () => {
    const account = await gateway.account(1000)
    const statuses: number[] = []
    while (statuses.at(-1) !== 429 && statuses.length < 10)
      statuses.push((await ask(account, 7 * MEGABYTE, { model: 'none' })).status)
    expect(statuses).to.deep.equal([404, 404, 404, 404, 404, 404, 429])
    expect((await ask(account, 10)).status).to.equal(200)
  })

  describe('on its way through Redis', () => {
    const account = useAccount(gateway, 1_000_000)
    let redis: Redis
    before(() => {
      redis = connectProducer(gateway.config)
    })
    after(() => redis.disconnect())

    /** Requests that lie beside their jobs, and the longest job. */
    async function inRedis(): Promise<{ beside: number; longestJob: number }> {
      const prefix = gateway.config.REDIS_PREFIX
      const beside = await redis.keys(`${prefix}:request:*`)
      const jobs = await redis.keys(`${prefix}:chat:*-*-*`)
      const data = await Promise.all(jobs.map((job) => redis.hget(job, 'data').catch(() => null)))
      return { beside: beside.length, longestJob: Math.max(0, ...data.map((text) => text?.length ?? 0)) }
    }

    const filled = (words: string, bytes: number): string => `${'A'.repeat(bytes)} ${prompted(words)}`

    it('lies beside its job until its call has ended, and reaches its upstream whole', async () => {
      for (const stream of [false, true]) {
        const content = filled('[delay 1500] [answer done]', 3 * 1024 * 1024)
        const waiting = account.chat(content, { stream })
        const prompt = content.slice(-60)
        await until('the upstream to have it', () => {
          const { open, streams } = gateway.sandbox.open(prompt)
          return open + streams > 0
        })
        const { beside, longestJob } = await inRedis()
        expect(beside).to.equal(1)
        expect(longestJob).to.be.within(1, 10_000)
        const reply = await waiting
        expect([reply.status, reply.text.includes('done')]).to.deep.equal([200, true])
        // The sandbox counts what it was sent: a token for four bytes.
        expect((await gateway.record(reply)).inputTokens).to.be.at.least((3 * 1024 * 1024) / 4)
        await until('it to be gone', async () => (await inRedis()).beside === 0)
      }
    })

    it('travels in its job up to 64 KB', async () => {
      const content = filled('[hold]', 50_000)
      const waiting = account.chat(content)
      await until('the upstream to have it', () => gateway.sandbox.open(content.slice(-40)).open > 0)
      expect((await inRedis()).beside).to.equal(0)
      gateway.sandbox.release(content.slice(-40))
      expect((await waiting).status).to.equal(200)
    })

    it('is gone too where its call fails', async () => {
      expect((await account.chat(filled('[status 400]', 200_000))).status).to.equal(502)
      await until('it to be gone', async () => (await inRedis()).beside === 0)
    })

    it('is refunded where Redis has lost it', async () => {
      await gateway.stopWorker()
      const waiting = account.chat(filled('', 200_000))
      await until('it to be enqueued', async () => (await inRedis()).beside === 1)
      await redis.del(await redis.keys(`${gateway.config.REDIS_PREFIX}:request:*`))
      await gateway.startWorker()
      const reply = await waiting
      expect([reply.status, reply.json.error.code]).to.deep.equal([502, 'upstream_failed'])
    })
  })
})
