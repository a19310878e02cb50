import { expect } from 'chai'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { migrate } from '../../migrations/index.ts'
import { connectTestDb, newDatabaseUrl, offer } from '../../scripts/harness/database.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'
import { get } from '../../scripts/harness/http.ts'
import { testRedis } from '../../scripts/harness/redis.ts'
import { startPrivateRedis } from '../../scripts/harness/services.ts'
import { freePort } from '../../scripts/services/ports.ts'
import type { PrivateRedis } from '../../scripts/services/redis.ts'
import { until } from '../../scripts/harness/until.ts'
import { atOnce } from '../support/at-once.ts'
import type { Kind } from './support/started.ts'
import { Started, compiled, longestMs, refusalOf } from './support/started.ts'

/** Warns as a library does: once somebody listens, which is while the process starts; and when it is asked to. */
const WARN = `
process.on('newListener', (event) => {
  if (event === 'warning') process.emitWarning('two\\nlines', { type: 'DeprecationWarning', code: 'LIB01' })
})
process.on('SIGCONT', () => {
  process.emitWarning('later')
  console.warn('on the %s', 'console')
})
`

describe('a process that starts, maybe before what it needs', function () {
  // A process notices after five seconds that a server is away, and drains for ten.
  this.timeout(150_000)
  let redis: PrivateRedis
  let databaseUrl: string
  let longest: number
  const processes: Started[] = []
  const catalogue = sandboxCatalogue('http://127.0.0.1:9')
  /** Takes connections, and never says anything. */
  const silent = createServer(() => {})
  const mute = (): number => (silent.address() as AddressInfo).port
  before(async function () {
    // It may build.
    this.timeout(300_000)
    await compiled()
    longest = await longestMs()
    silent.listen(0, '127.0.0.1')
    redis = await startPrivateRedis()
    databaseUrl = await newDatabaseUrl()
    await offer(databaseUrl, catalogue)
  })
  after(async () => {
    await Promise.all(processes.map((one) => one.kill()))
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

  const hanging = () => ({ DATABASE_URL: `postgres://127.0.0.1:${mute()}/x`, REDIS_URL: `redis://127.0.0.1:${mute()}` })

  atOnce({
    'a worker logs that Redis is away, survives SIGHUP meanwhile, works once Redis is there, and drains': async () => {
      await redis.kill()
      const [worker, url] = await start('worker', {
        NODE_ENV: 'production',
        DRAIN_SECONDS: '10',
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
      // What is odd and no reason to refuse is logged before anything else.
      const warnings = worker.lines.join('\n')
      expect(warnings).to.match(/GATEWAY_RATELIMIT is unknown.*Did you mean GATEWAY_RATE_LIMIT\?/)
      expect(warnings).to.match(/SMTP_URL is not set/)
      expect(warnings).to.match(/BASE_URL is local/)
      // An idle one, too, is not ready any more before it closes its port.
      await expectToDrain(worker, url)
    },

    'a worker logs warnings of Node and of libraries in lines like all others': async () => {
      const { url, prefix } = await testRedis()
      const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(WARN)}`
      const [worker] = await start('worker', { REDIS_URL: url, REDIS_PREFIX: prefix, NODE_OPTIONS })
      await worker.says('worker process running')
      expect(JSON.parse(await worker.says('two'))).to.include({
        level: 'warn',
        process: 'worker',
        warning: 'DeprecationWarning',
        code: 'LIB01',
        msg: 'two lines',
      })
      worker.child.kill('SIGCONT')
      expect(JSON.parse(await worker.says('later'))).to.include({ level: 'warn', warning: 'Warning', msg: 'later' })
      expect(JSON.parse(await worker.says('on the'))).to.include({ level: 'warn', msg: 'on the console' })
      for (const line of worker.lines) expect(() => JSON.parse(line), line).not.to.throw()
    },

    'a worker ends at a SIGTERM while it waits': async () => {
      const [worker] = await start('worker', { REDIS_URL: 'redis://127.0.0.1:9' })
      await worker.says('Redis is away')
      worker.child.kill('SIGTERM')
      expect(await worker.ended).to.equal(128 + 15)
    },

    'a web process logs in 5 s which services are away, waits, and is not ready meanwhile': async () => {
      const [web, url] = await start('web', hanging())
      const said = await Promise.all(['Redis is away', 'Postgres is away'].map((words) => web.says(words)))
      for (const line of said) expect(JSON.parse(line)).to.include({ level: 'warn', process: 'web' })
      const ready = await until('it to listen', () => readiness(url).catch(() => null))
      expect(ready).to.deep.equal({ status: 503, down: ['postgres', 'redis'] })
      expect(await web.ownMsUntil(said.at(-1)!), 'ms until it was logged').to.be.below(longest)
    },

    'the release phase logs in 5 s that Postgres is away, and waits': async () => {
      const [release] = await start('release', { DATABASE_URL: 'postgres://127.0.0.1:9/x' })
      const said = await release.says('Postgres is away')
      expect(JSON.parse(said)).to.include({ level: 'warn', process: 'release' })
      expect(await release.ownMsUntil(said), 'ms until it was logged').to.be.below(longest)
    },

    'a command ends in 5 s with a sentence where Postgres is silent': async () => {
      const { code, lines, ownMs } = await refusalOf('admin', hanging())
      expect([code, lines]).to.deep.equal([1, ['Postgres is away: no answer.']])
      expect(ownMs, 'ms until it ended').to.be.below(longest)
    },

    'a web process is ready after schema and catalogue, and not any more before it closes its port': async () => {
      const [own, { url: REDIS_URL, prefix }] = await Promise.all([newDatabaseUrl(), testRedis()])
      const db = connectTestDb({ DATABASE_URL: own, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
      await db.raw('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
      const [web, url] = await start('web', {
        DATABASE_URL: own,
        REDIS_URL,
        REDIS_PREFIX: prefix,
        DRAIN_SECONDS: '10',
      })
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
      await db.destroy()
      const down = await until('the schema to be seen', async () => {
        const found = (await readiness(url)).down as string[]
        return found.includes('schema') ? null : found
      })
      expect(down).to.deep.equal(['catalogue'])
      await web.says('There is no catalogue in the database: run migrate.')
      await offer(own, catalogue)
      await until('it to be ready', async () => (await readiness(url)).status === 200)
      await expectToDrain(web, url)
    },
  })
})
