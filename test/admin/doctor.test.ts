import { expect } from 'chai'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Server } from 'node:net'
import { SMTPServer } from 'smtp-server'
import { doctor } from '../../src/admin/doctor.ts'
import { createSandbox } from '../../sandbox/server.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { connectTestDb, newDatabaseUrl, offer } from '../../scripts/harness/database.ts'
import { argumentsOf } from '../../scripts/harness/installation.ts'
import { root } from '../../scripts/folders.ts'
import { PATIENCE_MS, until } from '../../scripts/harness/until.ts'
import { sandboxCatalogue, testConfig } from '../../scripts/harness/harness.ts'
import { startS3 } from '../workers/storage/s3-server.ts'

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
  async function examined(change: Record<string, string> = {}): Promise<{ complaint?: string; findings: Finding[] }> {
    const environment = { ...good, ...change }
    const db = connectTestDb({ DATABASE_URL: environment['DATABASE_URL']!, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    const before = { ...process.env }
    Object.assign(process.env, environment)
    try {
      const { json, text, ...rest } = await doctor(db)
      const { findings } = json as { findings: Finding[] }
      expect(text.split('\n').filter((line) => !line.startsWith('note'))).to.have.lengthOf(findings.length)
      return { ...rest, findings }
    } finally {
      for (const name of Object.keys(environment)) {
        if (before[name] === undefined) delete process.env[name]
        else process.env[name] = before[name]
      }
      await db.destroy()
    }
  }
  const brokenIn = async (change: Record<string, string>): Promise<string[]> => {
    const { complaint, findings } = await examined(change)
    const broken = findings.filter(({ ok }) => !ok)
    expect(complaint !== undefined).to.equal(broken.length > 0)
    return broken.map(({ name, says }) => `${name}: ${says}`)
  }

  it('finds nothing wrong where all is well, a line each, and sends nothing', async () => {
    const { complaint, findings } = await examined()
    expect(findings.filter(({ ok }) => !ok)).to.deep.equal([])
    expect(complaint).to.equal(undefined)
    expect(findings.map(({ name }) => name)).to.deep.equal([
      ...'Postgres schema Redis storage mail BASE_URL catalogue'.split(' '),
      'upstream sandbox',
    ])
    expect(mailsTaken).to.equal(0)
  })

  /** Expects one thing to be broken and nothing else, and what is said of it. */
  async function expectBroken(change: Record<string, string>, says: RegExp): Promise<void> {
    const broken = await brokenIn(change)
    expect(broken, JSON.stringify(change)).to.have.lengthOf(1)
    expect(broken[0])
      .to.match(says)
      .and.not.match(/hunter2/)
  }

  const edited = (address: string, edit: (url: URL) => void): string => {
    const url = new URL(address)
    edit(url)
    return url.href
  }

  it('says of each setting that is wrong what is wrong with it, and nothing of the others', async () => {
    await expectBroken({ SMTP_URL: smtpUrl('wrong') }, /^mail: .*no such password/)
    await expectBroken({ SANDBOX_API_KEY: 'bad' }, /^upstream sandbox: refuses the key \(401\)/)
    const production = { NODE_ENV: 'production' }
    await expectBroken({ ...production, BASE_URL: 'http://localhost:3000' }, /^BASE_URL: http:.*:3000 is local/)
    const unsent = { ...production, BASE_URL: 'https://x.example', SMTP_URL: '' }
    await expectBroken(unsent, /^mail: SMTP_URL is not set/)
    expect((await brokenIn({ APP_SECRET: 'short' }))[0]).to.match(/^configuration: .*APP_SECRET/)
  })

  it('says of each service that is away or refuses it what it answers', async () => {
    await expectBroken({ REDIS_URL: 'redis://127.0.0.1:9' }, /^Redis: .*ECONNREFUSED/)
    const stranger = edited(good['REDIS_URL']!, (url) => Object.assign(url, { username: 'x', password: 'hunter2' }))
    await expectBroken({ REDIS_URL: stranger }, /^Redis: .*WRONGPASS/)
    await expectBroken({ SMTP_URL: 'smtp://127.0.0.1:9' }, /^mail: .*ECONNREFUSED/)
    await expectBroken({ STORAGE_URL: 'file:/dev/null/media' }, /^storage: ENOTDIR/)
    const password = edited(good['DATABASE_URL']!, (url) => Object.assign(url, { password: 'hunter2' }))
    for (const [address, says] of [
      ['postgres://127.0.0.1:9/x', /^Postgres: .*ECONNREFUSED/],
      [password, /^Postgres: .*password authentication failed/],
    ] as const) {
      const broken = await brokenIn({ DATABASE_URL: address })
      expect(broken[0]).to.match(says)
      expect(broken.map((one) => one.split(':')[0])).to.deep.equal(['Postgres', 'schema', 'catalogue'])
    }
  })

  it('says of a bucket whether it can be written, by what it answers', async () => {
    const s3 = await startS3()
    const bucket = {
      STORAGE_URL: `s3://${s3.bucket}/media`,
      S3_ENDPOINT: `http://127.0.0.1:${s3.port}`,
      AWS_REGION: 'us-east-1',
      AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
    }
    try {
      expect(await brokenIn(bucket)).to.deep.equal([])
      expect([...s3.objects.keys()], 'what is left').to.deep.equal([])
      await expectBroken({ ...bucket, STORAGE_URL: 's3://another/media' }, /^storage: NoSuchBucket/)
      await expectBroken({ ...bucket, AWS_SECRET_ACCESS_KEY: 'hunter2' }, /^storage: SignatureDoesNotMatch/)
    } finally {
      await s3.close()
    }
    await expectBroken(bucket, /^storage: .*ECONNREFUSED/)
  })

  it('looks at the key of payments, where they are on', async () => {
    const stripe = { PAYMENTS: 'stripe', STRIPE_WEBHOOK_SECRET: 'whsec_x', STRIPE_API_BASE: sandbox.url }
    const { findings } = await examined({ ...stripe, STRIPE_SECRET_KEY: 'sk_test_doctor' })
    const due = { ok: true, says: 'stripe accepts the key, in test mode' }
    expect(findings.find(({ name }) => name === 'payments')).to.deep.include(due)
    await expectBroken({ ...stripe, STRIPE_SECRET_KEY: 'hunter2' }, /^payments: Stripe: /)
    const away = { ...stripe, STRIPE_SECRET_KEY: 'sk_test_doctor', STRIPE_API_BASE: 'http://127.0.0.1:9' }
    await expectBroken(away, /^payments: Stripe: /)
  })

  it('looks at the schema, the catalogue, and the upstreams of models that are enabled', async () => {
    const DATABASE_URL = await newDatabaseUrl()
    const catalogue = sandboxCatalogue(sandbox.url)
    catalogue.models = catalogue.models.filter(({ id }) => id === 'fallback-image')
    await offer(DATABASE_URL, catalogue)
    await expectBroken({ DATABASE_URL }, /^upstream unreachable: does not answer/)
    await offer(DATABASE_URL, { ...catalogue, models: catalogue.models.map((one) => ({ ...one, enabled: false })) })
    await expectBroken({ DATABASE_URL }, /^catalogue: no model has an upstream with a key/)

    const db = connectTestDb({ DATABASE_URL, DATABASE_SSL: 'off', DATABASE_POOL: 2 })
    await db.raw('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
    await db.destroy()
    const broken = await brokenIn({ DATABASE_URL })
    expect(broken.map((one) => one.split(':')[0])).to.deep.equal(['schema', 'catalogue'])
    expect(broken[0]).to.match(/^schema: not migrated: 001_.*run the release phase/)
  })

  describe('where services take a connection and keep silent', () => {
    let silent: Server
    let at: string
    let connections = 0
    before(async () => {
      silent = createServer(() => (connections += 1))
      silent.listen(0, '127.0.0.1')
      await once(silent, 'listening')
      at = `127.0.0.1:${(silent.address() as { port: number }).port}`
    })
    after(() => silent.close())

    /** What the command itself prints in such an environment; it has to end by itself. */
    async function printed(change: Record<string, string>): Promise<{ code: number | null; lines: string[] }> {
      const child = spawn(process.execPath, [...argumentsOf('admin'), 'doctor'], {
        cwd: root,
        env: { ...process.env, ...good, ...change, AWS_ACCESS_KEY_ID: 'x', AWS_SECRET_ACCESS_KEY: 'x' },
        stdio: ['ignore', 'pipe', 'ignore'],
      })
      let text = ''
      child.stdout.on('data', (piece: Buffer) => {
        text += piece.toString()
      })
      const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE_MS)
      const [code] = (await once(child, 'close')) as [number | null]
      clearTimeout(timer)
      return { code, lines: text.split('\n') }
    }

    it('fails each of them, and ends', async () => {
      const settings = { DATABASE_URL: await newDatabaseUrl() }
      const { MODELS_FILE } = await testConfig(`http://${at}`, settings, (catalogue) => {
        delete catalogue.upstreams['unreachable']
        catalogue.models = catalogue.models.filter(({ id }) => id === 'sandbox-chat')
      })
      const others = {
        ...settings,
        MODELS_FILE,
        REDIS_URL: `redis://${at}`,
        SMTP_URL: `smtp://${at}`,
        STORAGE_URL: 's3://bucket',
        S3_ENDPOINT: `http://${at}`,
      }
      // Each check has ten seconds: the second process starts when the first does nothing but wait for its four.
      const first = printed(others)
      await until('all four to be asked', () => connections >= 4)
      const postgres = await printed({ DATABASE_URL: `postgres://x:y@${at}/z` })
      const all = await first
      const failed = ({ lines }: { lines: string[] }) =>
        lines.flatMap((line) => /^FAIL {2}([^:]+): /.exec(line)?.[1] ?? [])
      expect(failed(all), all.lines.join('\n')).to.deep.equal(['Redis', 'storage', 'mail', 'upstream sandbox'])
      expect(failed(postgres), postgres.lines.join('\n')).to.deep.equal(['Postgres', 'schema', 'catalogue'])
      expect([all.code, postgres.code]).to.deep.equal([1, 1])
      // Each silent server has ten seconds.
    }).timeout(120_000)
  })
})
