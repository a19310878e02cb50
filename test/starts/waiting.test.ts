import { expect } from 'chai'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import { migrate, migrationSource } from '../../migrations/index.ts'
import { connectTestDb, newDatabaseUrl, offer } from '../../scripts/harness/database.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { startPrivateRedis } from '../../scripts/harness/services.ts'
import { freePort } from '../../scripts/services/ports.ts'
import type { PrivateRedis } from '../../scripts/services/redis.ts'
import { until } from '../../scripts/harness/until.ts'
import type { Kind } from './support/started.ts'
import { Started, compiled, longestMs, refusalOf } from './support/started.ts'

describe('a process that starts before what it needs', function () {
  let redis: PrivateRedis
  let databaseUrl: string
  let longest: number
  let db: Db
  const processes: Started[] = []
  const catalogue = sandboxCatalogue('http://127.0.0.1:9')
  /** Takes connections, and never says anything. */
  const silent = createServer(() => {})
  const mute = (): number => (silent.address() as AddressInfo).port
  before(async function () {
    this.timeout(300_000)
    await compiled()
    longest = await longestMs()
    silent.listen(0, '127.0.0.1')
    redis = await startPrivateRedis()
    databaseUrl = await newDatabaseUrl()
    await offer(databaseUrl, catalogue)
    db = connectTestDb({ DATABASE_URL: databaseUrl, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(async () => {
    await Promise.all(processes.map((one) => one.kill()))
    await db.destroy()
    await redis.stop()
    silent.close()
  })

  async function start(kind: Kind, settings: Record<string, string>): Promise<[Started, string]> {
    const port = String(await freePort())
    const started = new Started(kind, {
      DATABASE_URL: databaseUrl,
      REDIS_URL: redis.url,
      APP_SECRET: 'x'.repeat(32),
      ...(kind === 'web' ? { PORT: port } : { HEALTH_PORT: port }),
      ...settings,
    })
    processes.push(started)
    return [started, `http://127.0.0.1:${port}`]
  }

  const readiness = async (url: string) => {
    const { status, json } = await get(`${url}/readyz`)
    return { status, down: json?.down as unknown }
  }

  /** Stops a process: it reports that it drains while it still serves, and ends. */
  async function expectToDrain(stopping: Started, url: string): Promise<void> {
    stopping.child.kill('SIGTERM')
    // A connection that was kept open may be closed at that moment.
    await until('it to be draining', async () => (await readiness(url).catch(() => null))?.status === 503)
    expect(await readiness(url)).to.deep.equal({ status: 503, down: ['draining'] })
    expect((await get(`${url}/healthz`)).status).to.equal(200)
    expect(await stopping.ended).to.equal(0)
  }

  it('a worker logs that Redis is unreachable, survives SIGHUP meanwhile, and works once Redis is there', async () => {
    await redis.kill()
    const [worker, url] = await start('worker', {
      NODE_ENV: 'production',
      GATEWAY_RATELIMIT: '5',
      BASE_URL: 'http://localhost:3000',
    })
    const line = JSON.parse(await worker.says('Redis is away')) as { level: string }
    expect(line.level).to.equal('warn')
    worker.child.kill('SIGHUP')
    const ready = await until('it to listen', () => readiness(url).catch(() => null))
    expect(ready).to.deep.equal({ status: 503, down: ['redis'] })
    await redis.start()
    await worker.says('worker process running')
    await until('it to be ready', async () => (await readiness(url)).status === 200)
    // What is odd and no reason to refuse is said before anything else.
    const warnings = worker.lines.join('\n')
    expect(warnings).to.match(/GATEWAY_RATELIMIT is unknown.*Did you mean GATEWAY_RATE_LIMIT\?/)
    expect(warnings).to.match(/SMTP_URL is not set/)
    expect(warnings).to.match(/BASE_URL is local/)
  })

  it('ends at a SIGTERM while it waits', async () => {
    const [worker] = await start('worker', { REDIS_URL: 'redis://127.0.0.1:9' })
    await worker.says('Redis is away')
    worker.child.kill('SIGTERM')
    expect(await worker.ended).to.equal(128 + 15)
  })

  const unknown = { DATABASE_URL: 'postgres://postgres.invalid/x', REDIS_URL: 'redis://redis.invalid' }
  const refusing = { DATABASE_URL: 'postgres://127.0.0.1:9/x', REDIS_URL: 'redis://127.0.0.1:9' }
  const hanging = () => ({ DATABASE_URL: `postgres://127.0.0.1:${mute()}/x`, REDIS_URL: `redis://127.0.0.1:${mute()}` })
  const cases: { how: string; settings: () => Record<string, string>; kinds: ('web' | 'worker' | 'release')[] }[] = [
    { how: 'unknown by name', settings: () => unknown, kinds: ['web', 'worker', 'release'] },
    { how: 'not listening', settings: () => refusing, kinds: ['web', 'worker', 'release'] },
    { how: 'silent', settings: hanging, kinds: ['web', 'worker', 'release'] },
    // One at a time: nothing may wait for the other first.
    { how: 'silent, Redis alone', settings: () => ({ REDIS_URL: hanging().REDIS_URL }), kinds: ['web', 'worker'] },
  ]
  for (const { how, settings, kinds } of cases) {
    for (const kind of kinds) {
      const services = kind === 'release' ? ['postgres'] : how.includes('alone') ? ['redis'] : ['postgres', 'redis']
      it(`says in 5 s which service is away, waits, and is not ready meanwhile: ${kind}, ${how}`, async () => {
        const [started, url] = await start(kind, settings())
        const said = await Promise.all(
          services.map((one) => started.says(one === 'redis' ? 'Redis is away' : 'Postgres is away')),
        )
        for (const line of said) expect(JSON.parse(line)).to.include({ level: 'warn', process: kind })
        expect(said.join()).not.to.match(/Knex|pool/)
        if (kind !== 'release') {
          const ready = await until(`${kind} to listen`, () => readiness(url).catch(() => null))
          expect(ready).to.deep.equal({ status: 503, down: services })
        }
        expect(await started.ownMsUntil(said.at(-1)!), 'ms until it said so').to.be.below(longest)
      })
    }
  }

  for (const [how, settings] of [
    ['not listening', () => refusing],
    ['silent', hanging],
  ] as const) {
    it(`a command ends in 5 s with a sentence where Postgres is away: ${how}`, async () => {
      const { code, lines, ownMs } = await refusalOf('admin', settings())
      expect(lines.join('\n')).to.match(/^Postgres is away: (no answer|connect ECONNREFUSED 127\.0\.0\.1:9)\.$/)
      expect(code).to.equal(1)
      expect(ownMs, 'ms until it ended').to.be.below(longest)
    })
  }

  it('a web process is ready after schema and catalogue, and not any more before it closes its port', async () => {
    for (const _ of await migrationSource.getMigrations([])) await db.migrate.down({ migrationSource })
    const [web, url] = await start('web', { DRAIN_SECONDS: '15' })
    await web.says('web process listening')
    await web.says('has not been migrated')
    expect(await readiness(url)).to.deep.equal({ status: 503, down: ['schema'] })
    const login = await fetch(`${url}/api/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com', password: 'secret123' }),
    })
    expect(login.status).to.equal(503)
    await migrate(db)
    const down = await until('the schema to be seen', async () => {
      const found = (await readiness(url)).down as string[]
      return found.includes('schema') ? null : found
    })
    expect(down).to.deep.equal(['catalogue'])
    await web.says('There is no catalogue in the database: run migrate.')
    await offer(databaseUrl, catalogue)
    await until('it to be ready', async () => (await readiness(url)).status === 200)

    await expectToDrain(web, url)
  })

  it('an idle worker, too, is not ready any more before it closes its port', async () => {
    const [worker, url] = await start('worker', { DRAIN_SECONDS: '15' })
    await until('it to be ready', async () => (await readiness(url).catch(() => null))?.status === 200)
    await expectToDrain(worker, url)
  })
})
