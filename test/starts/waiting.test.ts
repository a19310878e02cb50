import { expect } from 'chai'
import type { Db } from '../../src/shared/infra/db.ts'
import { migrate, migrationSource } from '../../migrations/index.ts'
import { connectTestDb, newDatabaseUrl, offer } from '../../scripts/harness/database.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { startPrivateRedis } from '../../scripts/harness/services.ts'
import { freePort } from '../../scripts/services/ports.ts'
import type { PrivateRedis } from '../../scripts/services/redis.ts'
import { until } from '../../scripts/until.ts'
import type { Kind } from './support/started.ts'
import { Started } from './support/started.ts'

describe('a process that starts before what it needs', function () {
  let redis: PrivateRedis
  let databaseUrl: string
  let db: Db
  const processes: Started[] = []
  const catalogue = sandboxCatalogue('http://127.0.0.1:9')
  before(async () => {
    redis = await startPrivateRedis()
    databaseUrl = await newDatabaseUrl()
    await offer(databaseUrl, catalogue)
    db = connectTestDb({ DATABASE_URL: databaseUrl, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
  })
  after(async () => {
    await Promise.all(processes.map((one) => one.kill()))
    await db.destroy()
    await redis.stop()
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

  it('every process says which service is away, waits for it, and is not ready meanwhile', async () => {
    const away = { DATABASE_URL: 'postgres://127.0.0.1:9/x' }
    const unknown = { DATABASE_URL: 'postgres://postgres.invalid/x', REDIS_URL: 'redis://redis.invalid' }
    const cases = [
      { kind: 'web', settings: unknown, says: ['Redis is', 'Postgres is'], down: ['postgres', 'redis'] },
      { kind: 'worker', settings: away, says: ['Postgres is'], down: ['postgres'] },
      { kind: 'release', settings: away, says: ['Postgres is'], down: null },
    ] as const
    await Promise.all(
      cases.map(async ({ kind, settings, says, down }) => {
        const [started, url] = await start(kind, settings)
        for (const words of says) {
          expect(JSON.parse(await started.says(words))).to.include({ level: 'warn', process: kind })
        }
        if (down) {
          const ready = await until(`${kind} to listen`, () => readiness(url).catch(() => null))
          expect(ready, kind).to.deep.equal({ status: 503, down })
        }
        await started.kill()
      }),
    )
  })

  it('a web process is ready after schema and catalogue, and not any more before it closes its port', async () => {
    for (const _ of await migrationSource.getMigrations([])) await db.migrate.down({ migrationSource })
    const [web, url] = await start('web', { DRAIN_SECONDS: '5' })
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
    expect(await readiness(url)).to.deep.equal({ status: 503, down: ['catalogue'] })
    await web.says('There is no catalogue in the database: run migrate.')
    await offer(databaseUrl, catalogue)
    await until('it to be ready', async () => (await readiness(url)).status === 200)

    web.child.kill('SIGTERM')
    await until('it to be draining', async () => (await readiness(url)).status === 503)
    expect(await readiness(url)).to.deep.equal({ status: 503, down: ['draining'] })
    // It still serves.
    expect((await get(`${url}/healthz`)).status).to.equal(200)
    expect(await web.ended).to.equal(0)
  })
})
