import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { expect } from 'chai'
import { Redis } from 'ioredis'
import pg from 'pg'
import type { Postgres } from '../../../scripts/services/postgres.ts'
import type { PrivateRedis } from '../../../scripts/services/redis.ts'
import { FAILPOINT_CHANNEL } from '../../../src/shared/platform/process/failpoints.ts'
import type { Failpoint } from '../../../src/shared/platform/process/failpoints.ts'
import { expectBooksToBalance } from '../../support/books.ts'
import { askedOf } from '../../support/caller.ts'
import type { Asked, Caller } from '../../support/caller.ts'
import { testQueues } from '../../support/console.ts'
import { migrate } from '../../../scripts/harness/database.ts'
import type { Gateway } from '../../../scripts/harness/harness.ts'
import { startGateway } from '../../../scripts/harness/harness.ts'
import { get } from '../../../scripts/harness/http.ts'
import { eventually, until } from '../../../scripts/harness/until.ts'
import type { Reply } from '../../../scripts/harness/http.ts'
import { startPrivatePostgres, startPrivateRedis } from '../../../scripts/harness/services.ts'
import { prompted } from '../../../scripts/harness/calling.ts'

/** How long a Redis that goes on may take to hand out a job, in ms: what stops it must end before the next test. */
const HANDED_OUT_MS = 30_000

const REJECTED = { httpStatus: 503, errorType: 'service_unavailable', credits: 0 }

/** Expects 503s that can be retried. */
function expectAway(...replies: Reply[]): void {
  for (const reply of replies) {
    expect([reply.status, reply.json?.error?.type], reply.text).to.deep.equal([503, 'service_unavailable'])
    expect(Number(reply.headers.get('retry-after'))).to.be.at.least(1)
    expect(reply.headers.get('x-should-retry')).to.equal('true')
    expect(reply.text).not.to.match(/ECONN|127\.0\.0\.1|redis|postgres|knex/i)
  }
}

// Calls that run when they are killed: test/crash/outages.test.ts and lost-calls.test.ts.
describe('while Redis or Postgres is away', () => {
  let postgres: Postgres
  let redis: PrivateRedis
  let gateway: Gateway & Asked
  let account: Caller
  /** How long a call takes while all is well. */
  let usualMs: number
  before(async () => {
    ;[postgres, redis] = await Promise.all([startPrivatePostgres(), startPrivateRedis()])
    await migrate(postgres.url)
    const own = await startGateway({ DATABASE_URL: postgres.url, REDIS_URL: redis.url, LOG_LEVEL: 'silent' })
    gateway = { ...own, ...askedOf(own) }
  })
  after(async () => {
    await gateway.stop()
    await Promise.all([postgres.stop('immediate'), redis.stop()])
  })
  beforeEach(async () => {
    const warm = await gateway.account(1000)
    const started = performance.now()
    expect((await warm.image(prompted())).status).to.equal(200)
    usualMs = performance.now() - started
    account = await gateway.account(1000)
  })
  afterEach(async () => {
    await until('the service to be ready', async () => (await get(`${gateway.url}/readyz`)).status === 200)
    await expectBooksToBalance(gateway.db)
  })

  /** Waits until a call goes through again. */
  const serving = (): Promise<unknown> =>
    until('a call to go through', async () => (await account.image(prompted())).status === 200)
  const seenAway = (service: string): Promise<unknown> =>
    until('the outage to be seen', async () => {
      const { down } = (await get(`${gateway.url}/readyz`)).json as { down: string[] }
      return down.length === 1 && down[0] === service
    })
  const withRedis = async (work: (client: Redis) => Promise<void>): Promise<void> => {
    const client = new Redis(redis.url)
    await work(client).finally(() => client.disconnect())
  }

  for (const service of ['redis', 'postgres'] as const)
    it(`calls are answered 503 without a charge, and work again when ${service} is back`, async () => {
      expect((await account.image('')).status).to.equal(400)
      const away = service === 'redis' ? redis : postgres
      await away.kill()
      const started = performance.now()
      const asked = [
        account.image('x'),
        account.chat('x'),
        account.chat('x', { stream: true }),
        account.get('/v1/models'),
      ]
      const replies = await Promise.all(asked)
      if (service === 'postgres') replies.push(await account.get('/v1/calls/call_1'))
      expect(performance.now() - started).to.be.below(15_000 + 10 * usualMs)
      expectAway(...replies)
      await seenAway(service)
      expect((await get(`${gateway.url}/healthz`)).status).to.equal(200)
      if (service === 'redis') {
        expect(await account.counts()).to.deep.equal({ calls: 4, charged: 0, entries: 1 })
        expect(await gateway.record(replies[0]!)).to.include({ status: 'rejected', ...REJECTED })
        // Nobody can tell whether the key is still valid.
      } else for (const { headers } of replies) expect(headers.get('x-ratelimit-remaining-requests')).to.equal(null)
      await away.start()
      await serving()
      expect(await account.balance()).to.equal(960)
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
      const refused = await account.chat(prompt).finally(() => process.kill(pid, 'SIGCONT'))
      expectAway(refused)
      expect(seen, refused.text).to.include('call.enqueuing')
      await eventually(() => void expect(seen).to.include('call.beginning'), HANDED_OUT_MS)
      await until('its job to end', async () => (await queues.jobCounts('chat')).active === 0)
    } finally {
      unsubscribe(FAILPOINT_CHANNEL, note)
      await stop()
    }
    expect(gateway.sandbox.journal(prompt)).to.deep.equal([])
    expect(await account.balance()).to.equal(1000)
  })

  it('a changed password of Postgres is an outage until it is known: 503, and calls that run are settled', async () => {
    const prompt = prompted('[hold]')
    const waiting = account.image(prompt)
    await until('the upstream to have it', () => gateway.sandbox.open(prompt).open > 0)
    const operator = new pg.Client(postgres.url)
    await operator.connect()
    const changePassword = (to: string) => operator.query(`ALTER ROLE tollgate PASSWORD '${to}'`)
    const others = 'usename = current_user AND pid <> pg_backend_pid()'
    try {
      await changePassword('another')
      await operator.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE ${others}`)
      expectAway(...(await Promise.all([account.image('x'), account.get('/v1/models')])))
      await seenAway('postgres')
      gateway.sandbox.release(prompt)
      await until('the upstream to answer', () => gateway.sandbox.open(prompt).open === 0)
    } finally {
      await changePassword(new URL(postgres.url).password)
      await operator.end()
    }
    expect((await waiting).json.usage).to.include({ credits: 40, balance: 960 })
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
  })

  it('a charge that cannot be enqueued is refunded at once, and frees its Idempotency-Key', async () => {
    const prompt = prompted()
    const asking = () => account.image(prompt, {}, { 'idempotency-key': 'again' })
    await withRedis(async (client) => {
      const broken = `${gateway.config.REDIS_PREFIX}:image:prioritized`
      try {
        await client.rename(broken, `${broken}-kept`).catch(() => {})
        await client.set(broken, 'no list of jobs')
        const reply = await asking()
        const fetched = await account.get(`/v1/calls/${reply.headers.get('x-call-id')}`)
        expectAway(reply, fetched)
        expect(fetched.json).to.deep.equal(reply.json)
        expect(await gateway.movements(reply)).to.deep.equal(['charge -40', 'refund 40'])
        expect(await account.balance()).to.equal(1000)
        expect(await gateway.record(reply)).to.include({ status: 'failed', ...REJECTED })
      } finally {
        await client.del(broken)
        await client.rename(`${broken}-kept`, broken).catch(() => {})
      }
    })
    const again = await asking()
    expect([again.status, again.headers.get('idempotent-replayed')]).to.deep.equal([200, null])
    expect(gateway.sandbox.billed(prompt).total).to.equal(1)
  })

  it('calls are refused before a charge if Redis accepts no more data', async () => {
    await withRedis(async (client) => {
      await client.config('SET', 'maxmemory', '1')
      try {
        expectAway(await account.image('x'))
        expect(await account.counts()).to.include({ charged: 0, entries: 1 })
      } finally {
        await client.config('SET', 'maxmemory', '0')
      }
    })
    await serving()
  })
})
