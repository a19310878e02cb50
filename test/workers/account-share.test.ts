import { expect } from 'chai'
import { useGateway } from '../support/gateway.ts'
import type { Redis } from 'ioredis'
import { createQueues } from '../../src/shared/queues.ts'
import type { Queues } from '../../src/shared/queues.ts'
import { connectPersistent } from '../../src/shared/platform/redis/redis.ts'
import { expectBooksToBalance } from '../support/books.ts'
import { anAccount, balanceOf } from '../../scripts/harness/factories.ts'
import type { TestAccount } from '../../scripts/harness/factories.ts'
import { chat, chatBody } from '../../scripts/harness/calling.ts'
import { until } from '../../scripts/harness/until.ts'
import { startChildWorker } from '../upstreams/support/child-worker.ts'

const FUNDS = 1_000_000

type Row = { status: string; attempts: number }

describe('the places of a worker', function () {
  const gateway = useGateway({ CHAT_CONCURRENCY: '6' })
  let redis: Redis
  let queues: Queues
  let heavy: TestAccount

  before(async () => {
    redis = connectPersistent(gateway.config)
    queues = createQueues(redis, gateway.config.REDIS_PREFIX)
  })
  after(async () => {
    await queues.close()
    redis.disconnect()
  })
  beforeEach(async () => {
    heavy = await anAccount(gateway.db, FUNDS)
  })
  afterEach(async () => {
    gateway.sandbox.release('held')
    await expectBooksToBalance(gateway.db)
  })

  const held = (count: number, more: object = {}) =>
    Array.from({ length: count }, (_one, nth) => chat(gateway, heavy, `held ${nth} [hold]`, more))
  const rows = (): Promise<Row[]> =>
    gateway.db('calls').where({ account_id: heavy.id }).select<Row[]>('status', 'attempts')
  const inState = async (status: string): Promise<number> =>
    (await rows()).filter((row) => row.status === status).length
  const parked = async (): Promise<number> => (await queues.jobCounts('chat')).delayed

  /** Ends all calls that are held, and those that follow them. */
  const releaseAll = (count: number) =>
    until('the end of every call', async () => {
      gateway.sandbox.release('held')
      return (await inState('succeeded')) === count
    })

  it('are never held by one account beyond its share, whether others wait or not', async () => {
    const asked = held(20)
    let most = 0
    await until('the end of every call', async () => {
      const running = await inState('running')
      most = Math.max(most, running)
      const ended = await inState('succeeded')
      if (running === Math.min(3, asked.length - ended)) gateway.sandbox.release('held')
      return ended === asked.length
    })
    expect((await Promise.all(asked)).map(({ status }) => status)).to.deep.equal(asked.map(() => 200))
    expect(most).to.equal(3)
    expect(
      (await rows()).map(({ attempts }) => attempts),
      'parked is not tried',
    ).to.deep.equal(asked.map(() => 1))
  })

  it('serve a parked call as soon as a call of its account has ended', async () => {
    const asked = held(4)
    await until('three that run and one that is parked', async () => {
      return (await inState('running')) === 3 && (await parked()) === 1
    })
    const releasedAt = performance.now()
    gateway.sandbox.release('held 0')
    await until('the fourth', async () => (await inState('succeeded')) === 1 && (await inState('running')) === 3)
    expect(performance.now() - releasedAt, 'not by its return after some seconds').to.be.below(4000)
    expect(await parked()).to.equal(0)
    await releaseAll(4)
    await Promise.all(asked)
  })

  it('have no part in a parked call whose client leaves, or whose deadline comes: it is refunded, unsent', async () => {
    const asked = held(3)
    await until('three that run', async () => (await inState('running')) === 3)
    const leaving = new AbortController()
    const left = fetch(`${gateway.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${heavy.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(chatBody('left behind', { stream: true })),
      signal: leaving.signal,
    }).catch(() => null)
    await until('the stream to be parked', async () => (await parked()) === 1)
    leaving.abort()
    await left
    const late = await chat(gateway, heavy, 'too late', { model: 'hasty-chat' })
    expect(late.status, late.text).to.equal(502)
    await until('the refund of both', async () => (await inState('failed')) === 2)
    const { id } = await gateway
      .db('calls')
      .where({ account_id: heavy.id, model: 'sandbox-chat', status: 'failed' })
      .first()
    await until('the job of the stream being removed', async () => !(await queues.hasJob('chat', id)), 15_000)
    await releaseAll(3)
    await Promise.all(asked)
    for (const prompt of ['left behind', 'too late']) expect(gateway.sandbox.journal(prompt)).to.deep.equal([])
  })

  it('are given to the parked calls of a worker that was killed by those that live', async () => {
    await gateway.stopWorker()
    const doomed = await startChildWorker(gateway.config)
    const asked = held(6)
    await until('three that run and three that are parked', async () => {
      return (await inState('running')) === 3 && (await parked()) === 3
    })
    await doomed.kill()
    await gateway.startWorker()
    await releaseAll(6)
    expect((await Promise.all(asked)).map(({ status }) => status)).to.deep.equal(asked.map(() => 200))
    expect(await balanceOf(gateway.db, heavy.id)).to.be.below(FUNDS)
  })
})
