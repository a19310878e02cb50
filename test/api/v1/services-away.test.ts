import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Postgres } from '../../../scripts/services/postgres.ts'
import type { PrivateRedis } from '../../../scripts/services/redis.ts'
import { FAILPOINT_CHANNEL } from '../../../src/shared/platform/process/failpoints.ts'
import type { Failpoint } from '../../../src/shared/platform/process/failpoints.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { testQueues } from '../../support/console.ts'
import { migrate } from '../../../scripts/harness/database.ts'
import { anAccount, balanceOf } from '../../../scripts/harness/factories.ts'
import type { TestAccount } from '../../../scripts/harness/factories.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'
import { until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { startPrivatePostgres, startPrivateRedis } from '../../../scripts/harness/services.ts'
import { chat, countsOf, image, movementsOf, prompted, recordOf } from '../../../scripts/harness/calling.ts'

/** Expects a 503 that can be retried. */
function expectAway(reply: Reply): void {
  expect([reply.status, reply.json?.error?.type], reply.text).to.deep.equal([503, 'service_unavailable'])
  expect(Number(reply.headers.get('retry-after'))).to.be.at.least(1)
  expect(reply.headers.get('x-should-retry')).to.equal('true')
  expect(reply.text).not.to.match(/ECONN|127\.0\.0\.1|redis|postgres|knex/i)
}

describe('while Redis or Postgres is away', function () {
  let postgres: Postgres
  let redis: PrivateRedis
  let gateway: Gateway
  let account: TestAccount
  /** How long a call takes while all is well. */
  let usualMs: number
  before(async () => {
    ;[postgres, redis] = await Promise.all([startPrivatePostgres(), startPrivateRedis()])
    await migrate(postgres.url)
    gateway = await startGateway({ DATABASE_URL: postgres.url, REDIS_URL: redis.url, LOG_LEVEL: 'silent' })
  })
  after(async () => {
    await gateway.stop()
    await Promise.all([postgres.stop('immediate'), redis.stop()])
  })
  beforeEach(async () => {
    const { key } = await anAccount(gateway.db, 1000)
    const started = performance.now()
    expect((await image(gateway, { key }, prompted())).status).to.equal(200)
    usualMs = performance.now() - started
    account = await anAccount(gateway.db, 1000)
  })
  afterEach(async () => {
    await until('the service to be ready', async () => (await get(`${gateway.url}/readyz`)).status === 200)
    await expectBooksToBalance(gateway.db)
  })

  /** Waits until a call goes through again. */
  const serving = (): Promise<unknown> =>
    until('a call to go through', async () => (await image(gateway, account, prompted())).status === 200)
  const seenAway = (service: string): Promise<unknown> =>
    until('the outage to be seen', async () => {
      const { down } = (await get(`${gateway.url}/readyz`)).json as { down: string[] }
      return down.length === 1 && down[0] === service
    })
  const running = (prompt: string): Promise<unknown> =>
    until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)

  it('calls are answered 503 without a charge, and work again when Redis is back', async () => {
    await redis.kill()
    const started = performance.now()
    const replies = await Promise.all([
      image(gateway, account, 'x'),
      chat(gateway, account, 'x'),
      chat(gateway, account, 'x', { stream: true }),
      get(`${gateway.url}/v1/models`, account.key),
    ])
    expect(performance.now() - started).to.be.below(15_000 + 10 * usualMs)
    replies.forEach(expectAway)
    expect(await countsOf(gateway.db, account)).to.deep.equal({ calls: 3, charged: 0, entries: 1 })
    expect(await recordOf(gateway.db, replies[0]!)).to.include({
      status: 'rejected',
      httpStatus: 503,
      errorType: 'service_unavailable',
      credits: 0,
    })
    const [health, ready] = [await get(`${gateway.url}/healthz`), await get(`${gateway.url}/readyz`)]
    expect([health.status, ready.status, ready.json.down]).to.deep.equal([200, 503, ['redis']])
    await redis.start()
    await serving()
  })

  it('a call that was refunded is not sent once a Redis that stood still hands out its job', async () => {
    const { queues, redis: client, stop } = testQueues(gateway.config)
    const pid = Number(/process_id:(\d+)/.exec(await client.info('server'))![1])
    const seen: string[] = []
    const note = (message: unknown): void => {
      const { name } = message as Failpoint
      seen.push(name)
      if (name === 'call.enqueuing') process.kill(pid, 'SIGSTOP')
    }
    subscribe(FAILPOINT_CHANNEL, note)
    const prompt = prompted()
    try {
      const reply = await chat(gateway, account, prompt).finally(() => process.kill(pid, 'SIGCONT'))
      expectAway(reply)
      await until('its job to be handed out', () => seen.includes('call.beginning'))
      await until('its job to end', async () => (await queues.jobCounts('chat')).active === 0)
    } finally {
      unsubscribe(FAILPOINT_CHANNEL, note)
      await stop()
    }
    expect(gateway.sandbox.journal(prompt)).to.deep.equal([])
    expect(await balanceOf(gateway.db, account.id)).to.equal(1000)
  })

  it('calls are answered 503 without a charge, and work again when Postgres is back', async () => {
    expect((await image(gateway, account, '')).status).to.equal(400)
    await postgres.kill()
    const started = performance.now()
    const replies = await Promise.all([
      image(gateway, account, 'x'),
      chat(gateway, account, 'x'),
      get(`${gateway.url}/v1/models`, account.key),
      get(`${gateway.url}/v1/calls/call_1`, account.key),
    ])
    expect(performance.now() - started).to.be.below(15_000 + 10 * usualMs)
    replies.forEach(expectAway)
    // Nobody can tell whether the key is still valid.
    for (const { headers } of replies) expect(headers.get('x-ratelimit-remaining-requests')).to.equal(null)
    await seenAway('postgres')
    expect((await get(`${gateway.url}/healthz`)).status).to.equal(200)
    await postgres.start()
    await serving()
    expect(await balanceOf(gateway.db, account.id)).to.equal(960)
  })

  it('a call that was sent to its upstream is settled and answered once Postgres is back', async () => {
    const prompt = prompted('[hold]')
    const waiting = image(gateway, account, prompt)
    await running(prompt)
    await postgres.kill()
    gateway.sandbox.release(prompt)
    await until('the upstream to answer', () => gateway.sandbox.open(prompt).open === 0)
    await postgres.start()
    const reply = await waiting
    expect(reply.status, reply.text).to.equal(200)
    expect(reply.json.usage).to.include({ credits: 40, balance: 960 })
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
  })

  it('a changed password of Postgres is an outage until the process knows it: 503', async () => {
    const prompt = prompted('[hold]')
    const waiting = image(gateway, account, prompt)
    await running(prompt)
    const operator = new pg.Client(postgres.url)
    await operator.connect()
    const changePassword = (to: string) => operator.query(`ALTER ROLE tollgate PASSWORD '${to}'`)
    try {
      await changePassword('another')
      await operator.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity ' +
          'WHERE usename = current_user AND pid <> pg_backend_pid()',
      )
      const replies = await Promise.all([image(gateway, account, 'x'), get(`${gateway.url}/v1/models`, account.key)])
      replies.forEach(expectAway)
      await seenAway('postgres')
      gateway.sandbox.release(prompt)
      await until('the upstream to answer', () => gateway.sandbox.open(prompt).open === 0)
    } finally {
      await changePassword(new URL(postgres.url).password)
      await operator.end()
    }
    const reply = await waiting
    expect(reply.status, reply.text).to.equal(200)
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    expect(await balanceOf(gateway.db, account.id)).to.equal(960)
  })

  it('a call that was sent to its upstream is answered once Redis is back, even if it was flushed', async () => {
    const prompt = prompted('[hold]')
    const waiting = image(gateway, account, prompt)
    await running(prompt)
    await redis.kill()
    gateway.sandbox.release(prompt)
    await until('the upstream to answer', () => gateway.sandbox.open(prompt).open === 0)
    await redis.start()
    const reply = await waiting
    expect(reply.status, reply.text).to.equal(200)
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
    expect(await balanceOf(gateway.db, account.id)).to.equal(960)
  })

  it('a charge that cannot be enqueued is refunded at once, and frees its Idempotency-Key', async () => {
    const client = new Redis(redis.url)
    const broken = `${gateway.config.REDIS_PREFIX}:image:prioritized`
    const prompt = prompted()
    try {
      await client.rename(broken, `${broken}-kept`).catch(() => {})
      await client.set(broken, 'no list of jobs')
      const reply = await image(gateway, account, prompt, {}, { 'idempotency-key': 'again' })
      expectAway(reply)
      expect(await movementsOf(gateway.db, reply)).to.deep.equal(['charge -40', 'refund 40'])
      expect(await balanceOf(gateway.db, account.id)).to.equal(1000)
      expect(await recordOf(gateway.db, reply)).to.include({
        status: 'failed',
        httpStatus: 503,
        errorType: 'service_unavailable',
        credits: 0,
      })
      const fetched = await get(`${gateway.url}/v1/calls/${reply.headers.get('x-call-id')}`, account.key)
      expectAway(fetched)
      expect(fetched.json).to.deep.equal(reply.json)
    } finally {
      await client.del(broken)
      await client.rename(`${broken}-kept`, broken).catch(() => {})
      client.disconnect()
    }
    const again = await image(gateway, account, prompt, {}, { 'idempotency-key': 'again' })
    expect([again.status, again.headers.get('idempotent-replayed')]).to.deep.equal([200, null])
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
  })

  it('calls are refused before a charge if Redis accepts no more data', async () => {
    const client = new Redis(redis.url)
    try {
      await client.config('SET', 'maxmemory', '1')
      expectAway(await image(gateway, account, 'x'))
      expect(await countsOf(gateway.db, account)).to.include({ charged: 0, entries: 1 })
    } finally {
      await client.config('SET', 'maxmemory', '0')
      client.disconnect()
    }
    await serving()
  })
})
