import { expect } from 'chai'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { newDatabaseUrl } from '../../../../scripts/harness/database.ts'
import { startPrivateRedis } from '../../../../scripts/harness/services.ts'
import { until } from '../../../../scripts/harness/until.ts'
import type { PrivateRedis } from '../../../../scripts/services/redis.ts'
import { ConfigError, readDatabaseConfig } from '../../../../src/shared/platform/config/config.ts'
import { connectDb } from '../../../../src/shared/platform/postgres/db.ts'
import { SchemaGate } from '../../../../src/shared/platform/postgres/schema.ts'
import {
  ServiceUnavailable,
  checkPostgres,
  checkRedis,
  checkServices,
} from '../../../../src/shared/platform/process/start-up.ts'
import { readableLog } from '../../../support/log-lines.ts'

/** Takes connections, and never sends anything. */
const silent = createServer(() => {})

const edited = (address: string, parts: Partial<URL>): string => Object.assign(new URL(address), parts).href

const atRedis = (REDIS_URL: string) => ({ REDIS_URL, REDIS_TLS_VERIFY: 'on' as const, REDIS_PREFIX: 'tollgate' })

/** How a check fails. */
const failure = (check: Promise<unknown>): Promise<unknown> =>
  check.then(
    () => null,
    (error: unknown) => error,
  )

describe('the first check of a start', () => {
  let databaseUrl: string
  let redis: PrivateRedis
  before(async () => {
    silent.listen(0, '127.0.0.1')
    databaseUrl = await newDatabaseUrl()
    redis = await startPrivateRedis()
  })
  after(async () => {
    silent.close()
    await redis.stop()
  })

  const mute = () => `127.0.0.1:${(silent.address() as AddressInfo).port}`
  const open = (url: string) => connectDb(readDatabaseConfig({ DATABASE_URL: url }), { silenceMs: 0 })

  async function lookAtPostgres(url: string): Promise<unknown> {
    const db = open(url)
    const found = await failure(checkPostgres(db))
    await db.destroy()
    return found
  }

  for (const [what, parts, words] of [
    ['an sslmode that it cannot keep', { search: '?sslmode=require' }, /: .*SSL/],
    ['a wrong password', { password: 'hunter2' }, /: password authentication failed/],
    ['a database that is not there', { pathname: '/nowhere' }, /: database "nowhere" does not exist/],
  ] as const) {
    it(`refuses ${what} of Postgres, and names the variable, never the password`, async () => {
      const refusal = await lookAtPostgres(edited(databaseUrl, parts))
      expect(refusal).to.be.instanceOf(ConfigError)
      expect(String(refusal))
        .to.include('DATABASE_URL: Postgres cannot be used')
        .and.match(words)
        .and.not.match(/hunter2/)
    })
  }

  it('refuses a wrong password of Redis, and a Redis that evicts jobs', async () => {
    const wrong = await failure(checkRedis(atRedis(edited(redis.url, { username: 'nobody', password: 'hunter2' }))))
    expect(wrong).to.be.instanceOf(ConfigError)
    expect(String(wrong))
      .to.match(/REDIS_URL: Redis cannot be used: WRONGPASS/)
      .and.not.match(/hunter2/)
    const operator = new Redis(redis.url)
    await operator.config('SET', 'maxmemory-policy', 'allkeys-lru')
    const evicting = await failure(checkRedis(atRedis(redis.url)))
    await operator.config('SET', 'maxmemory-policy', 'noeviction')
    operator.disconnect()
    expect(String(evicting)).to.match(/REDIS_URL: this Redis evicts keys \(maxmemory-policy allkeys-lru\)/)
  })

  for (const [how, host] of [
    ['unknown by name', () => 'services.invalid'],
    ['not listening', () => '127.0.0.1:9'],
    ['silent', mute],
  ] as const) {
    it(`finds a service away that is ${how}`, async () => {
      const [postgres, queue] = await Promise.all([
        lookAtPostgres(`postgres://${host()}/x`),
        failure(checkRedis(atRedis(`redis://${host()}`))),
      ])
      for (const [found, name] of [
        [postgres, 'Postgres'],
        [queue, 'Redis'],
      ] as const) {
        expect(found).to.be.instanceOf(ServiceUnavailable)
        expect((found as Error).message).to.equal(`${name} is away`)
        expect(String((found as Error).cause)).not.to.match(/Knex|pool/)
      }
    })
  }

  it('logs each service that is away at once, and never waits for one before it looks at the other', async () => {
    for (const [postgres, queue, away] of [
      [`postgres://${mute()}/x`, `redis://${mute()}`, ['Postgres', 'Redis']],
      [databaseUrl, `redis://${mute()}`, ['Redis']],
    ] as const) {
      const { log, lines } = readableLog()
      const stopped = new AbortController()
      const db = open(postgres)
      const schema = new SchemaGate(async () => [])
      const { checked, available } = checkServices({ config: atRedis(queue), db, schema }, log, stopped.signal)
      await checked
      await until('all to be logged', () => lines.length === away.length)
      expect(lines.map(({ msg }) => msg).toSorted()).to.deep.equal(
        away.map((name) => `${name} is away: waiting for it`),
      )
      stopped.abort()
      expect(await failure(available)).to.include({ name: 'AbortError' })
      await db.destroy()
    }
  })
})
