import { expect } from 'chai'
import type { Redis } from 'ioredis'
import { CHAT, chat, chatBody, prompted } from '../../../scripts/harness/calling.ts'
import { until } from '../../../scripts/harness/until.ts'
import { connectProducer } from '../../../src/shared/platform/redis/redis.ts'
import { useAccount, useGateway } from '../../support/gateway.ts'

const MOST = 4 * 1024 * 1024

describe('a large request', () => {
  const gateway = useGateway({ MAX_BODY_BYTES: String(MOST) })
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

  it('may have MAX_BODY_BYTES, and a quote 1 KB more', async () => {
    const bodyOf = (bytes: number): object => {
      const body = chatBody('')
      return chatBody('x'.repeat(bytes - JSON.stringify(body).length))
    }
    expect((await account.post(CHAT, bodyOf(MOST))).status).to.equal(200)
    const tooLarge = await account.post(CHAT, bodyOf(MOST + 1))
    expect([tooLarge.status, tooLarge.json.error.code]).to.deep.equal([413, 'payload_too_large'])
    expect(tooLarge.json.error.message).to.include('4,194,304 bytes')
    const quoted = (bytes: number) => account.post('/v1/quotes', { endpoint: CHAT, body: bodyOf(bytes) })
    expect((await quoted(MOST)).status).to.equal(200)
    expect((await quoted(MOST + 2000)).status).to.equal(413)
  })
})
