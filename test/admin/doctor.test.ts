import { expect } from 'chai'
import { SMTPServer } from 'smtp-server'
import { doctor } from '../../src/admin/doctor.ts'
import { connectDb } from '../../src/shared/infra/db.ts'
import { createSandbox } from '../../src/sandbox/server.ts'
import type { Sandbox } from '../../src/sandbox/server.ts'
import { newDatabaseUrl } from '../../scripts/harness/database.ts'
import { testConfig } from '../../scripts/harness/harness.ts'

type Finding = { name: string; ok: boolean; says: string }

describe('admin doctor', () => {
  let sandbox: Sandbox
  let smtp: SMTPServer
  let good: Record<string, string>
  let mailsTaken = 0
  before(async () => {
    sandbox = await createSandbox()
    smtp = new SMTPServer({
      authOptional: false,
      hideSTARTTLS: true,
      allowInsecureAuth: true,
      onAuth: ({ password }, _session, done) =>
        password === 'right' ? done(null, { user: 'post' }) : done(new Error('no such password')),
      onMailFrom: (_address, _session, done) => {
        mailsTaken += 1
        done()
      },
    })
    await new Promise<void>((resolve) => {
      smtp.listen(0, '127.0.0.1', resolve)
    })
    const settings = { DATABASE_URL: await newDatabaseUrl() }
    const {
      secretOf: _secretOf,
      WORKER_QUEUES,
      ...values
    } = await testConfig(sandbox.url, settings, (catalogue) => {
      delete catalogue.upstreams['unreachable']
      catalogue.models = catalogue.models.filter(({ id }) => id === 'sandbox-chat')
    })
    good = Object.fromEntries(
      Object.entries({ ...values, WORKER_QUEUES: WORKER_QUEUES.join(','), SMTP_URL: smtpUrl('right') })
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [name, String(value)]),
    )
    good['SANDBOX_API_KEY'] = 'sk-made-up'
  })
  after(async () => {
    await new Promise<void>((resolve) => {
      smtp.close(() => resolve())
    })
    await sandbox.close()
  })

  const smtpUrl = (password: string): string => {
    const { port } = smtp.server.address() as { port: number }
    return `smtp://post:${password}@127.0.0.1:${port}`
  }

  /** What it finds in another environment. */
  async function examined(change: Record<string, string> = {}): Promise<{ failed: boolean; findings: Finding[] }> {
    const environment = { ...good, ...change }
    const db = connectDb({ DATABASE_URL: environment['DATABASE_URL']!, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    const before = { ...process.env }
    Object.assign(process.env, environment)
    try {
      const { json, failed, text } = await doctor(db)
      const { findings } = json as { findings: Finding[] }
      expect(text.split('\n').filter((line) => !line.startsWith('note'))).to.have.lengthOf(findings.length)
      return { failed: failed === true, findings }
    } finally {
      for (const name of Object.keys(environment)) {
        if (before[name] === undefined) delete process.env[name]
        else process.env[name] = before[name]
      }
      await db.destroy()
    }
  }
  const brokenIn = async (change: Record<string, string>): Promise<string[]> => {
    const { failed, findings } = await examined(change)
    const broken = findings.filter(({ ok }) => !ok)
    expect(failed).to.equal(broken.length > 0)
    return broken.map(({ name, says }) => `${name}: ${says}`)
  }

  it('finds nothing wrong where all is well, a line each, and sends nothing', async () => {
    const { failed, findings } = await examined()
    expect(findings.filter(({ ok }) => !ok)).to.deep.equal([])
    expect(failed).to.equal(false)
    expect(findings.map(({ name }) => name)).to.deep.equal([
      'Postgres',
      'schema',
      'Redis',
      'storage',
      'mail',
      'BASE_URL',
      'catalogue',
      'upstream sandbox',
    ])
    expect(mailsTaken).to.equal(0)
  })

  it('says of each service that is broken what is wrong with it, and nothing of the others', async () => {
    const at = (change: Record<string, string>, says: RegExp) => async () => {
      const broken = await brokenIn(change)
      expect(broken, JSON.stringify(change)).to.have.lengthOf(1)
      expect(broken[0]).to.match(says)
    }
    await at({ REDIS_URL: 'redis://127.0.0.1:9' }, /^Redis: .*ECONNREFUSED/)()
    await at({ STORAGE_URL: 'file:/dev/null/media' }, /^storage: ENOTDIR/)()
    await at({ SMTP_URL: smtpUrl('wrong') }, /^mail: .*no such password/)()
    await at({ SANDBOX_API_KEY: 'bad' }, /^upstream sandbox: refuses the key \(401\)/)()
    await at(
      { NODE_ENV: 'production', BASE_URL: 'http://localhost:3000' },
      /^BASE_URL: http:\/\/localhost:3000 is local/,
    )()
    await at({ NODE_ENV: 'production', BASE_URL: 'https://x.example', SMTP_URL: '' }, /^mail: SMTP_URL is not set/)()
    expect(await brokenIn({ DATABASE_URL: 'postgres://127.0.0.1:9/x' })).to.have.lengthOf(3)
    expect((await brokenIn({ APP_SECRET: 'short' }))[0]).to.match(/^configuration: .*APP_SECRET/)
  })
})
