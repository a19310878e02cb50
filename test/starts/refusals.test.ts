import { expect } from 'chai'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo, Server } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { newDatabaseUrl, offer } from '../../scripts/harness/database.ts'
import { sandboxCatalogue } from '../../scripts/harness/harness.ts'
import { testRedis } from '../../scripts/harness/redis.ts'
import { startPrivateRedis } from '../../scripts/harness/services.ts'
import type { PrivateRedis } from '../../scripts/services/redis.ts'
import type { S3Server } from '../workers/storage/s3-server.ts'
import { startS3 } from '../workers/storage/s3-server.ts'
import { BAD } from '../shared/bad-values.ts'
import type { Kind } from './support/started.ts'
import { Started, compiled, longestMs, refusalOf } from './support/started.ts'

type Settings = Record<string, string>

/** What a start is refused for: in which processes, by which settings, and what its one line must say. */
type Case = { what: string; in: Kind[]; settings: () => Settings; says: RegExp }

const ALL: Kind[] = ['web', 'worker', 'release', 'admin']

/** The first bad value of each; a rule of test/shared/platform/config/config.test.ts is that every variable has one. */
const badly = (names: string[]): Settings => Object.fromEntries(names.map((name) => [name, BAD[name]![0]!]))

/** A message that names all of these, in any order. */
const allOf = (names: string[]): RegExp => new RegExp(names.map((name) => `(?=.*\\b${name} )`).join(''))

describe('a process that cannot start', function () {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-starts-'))
  const models = join(folder, 'models.json')
  let good: Settings
  let longest: number
  let taken: Server
  let evicting: PrivateRedis
  let s3: S3Server
  before(async function () {
    this.timeout(300_000)
    await compiled()
    longest = await longestMs()
    const { url, prefix } = await testRedis()
    good = { DATABASE_URL: await newDatabaseUrl(), REDIS_URL: url, REDIS_PREFIX: prefix, APP_SECRET: 'x'.repeat(32) }
    await offer(good.DATABASE_URL!, sandboxCatalogue('http://127.0.0.1:9'))
    writeFileSync(
      models,
      JSON.stringify({ upstreams: {}, models: [{ id: 'a' }, { id: 'b', modality: 'image' }], x: 1 }),
    )
    taken = createServer().listen(0)
    s3 = await startS3()
    evicting = await startPrivateRedis()
    const redis = new Redis(evicting.url)
    await redis.config('SET', 'maxmemory-policy', 'allkeys-lru')
    await redis.acl('SETUSER', 'application', 'on', '>hunter2', '~*', '&*', '+@all', '-@dangerous')
    redis.disconnect()
  })
  after(async () => {
    rmSync(folder, { recursive: true })
    taken.close()
    await s3.close()
    await evicting.stop()
  })

  const edited = (address: string, edit: (url: URL) => void): string => {
    const url = new URL(address)
    edit(url)
    return url.href
  }
  const bucket = (): Settings => ({
    STORAGE_URL: `s3://${s3.bucket}/media`,
    S3_ENDPOINT: `http://127.0.0.1:${s3.port}`,
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
  })
  const port = () => String((taken.address() as AddressInfo).port)

  const cases: Case[] = [
    {
      what: 'variables that cannot be used, all in one message',
      in: ['web', 'worker'],
      settings: () => badly(Object.keys(BAD)),
      says: allOf(Object.keys(BAD)),
    },
    {
      what: 'variables that cannot be used, all in one message',
      in: ['release', 'admin'],
      settings: () => badly(['DATABASE_URL', 'DATABASE_SSL', 'DATABASE_POOL']),
      says: allOf(['DATABASE_URL', 'DATABASE_SSL', 'DATABASE_POOL']),
    },
    {
      what: 'an address that is not set',
      in: ['web', 'worker', 'release', 'admin'],
      settings: () => ({ DATABASE_URL: '' }),
      says: /: DATABASE_URL is required\.$/,
    },
    ...(['REDIS_URL', 'APP_SECRET'] as const).map((name): Case => ({
      what: `a missing ${name}`,
      in: ['web', 'worker'],
      settings: () => ({ [name]: '' }),
      says: new RegExp(`: ${name} is required\\.$`),
    })),
    {
      what: 'payments without a key',
      in: ['web', 'worker'],
      settings: () => ({ PAYMENTS: 'stripe', STRIPE_SECRET_KEY: '', STRIPE_WEBHOOK_SECRET: 'whsec_hunter2' }),
      says: /: STRIPE_SECRET_KEY is required with PAYMENTS=stripe\.$/,
    },
    {
      what: 'payments without the secret that signs events',
      in: ['web', 'worker'],
      settings: () => ({ PAYMENTS: 'stripe', STRIPE_SECRET_KEY: 'sk_test_hunter2', STRIPE_WEBHOOK_SECRET: '' }),
      says: /: STRIPE_WEBHOOK_SECRET is required with PAYMENTS=stripe\.$/,
    },
    {
      what: 'a catalogue with mistakes, all in one message',
      in: ['release'],
      settings: () => ({ MODELS_FILE: models }),
      says: new RegExp(
        [
          /^(?=.*models\[0\]\.modality: )/,
          /(?=.*models\[1\]\.upstreams: is required)(?=.* x: is not a known field)MODELS_FILE /,
        ]
          .map(({ source }) => source)
          .join(''),
      ),
    },
    {
      what: 'a catalogue that is not there',
      in: ['release'],
      settings: () => ({ MODELS_FILE: join(folder, 'none.json') }),
      says: /MODELS_FILE .*cannot be read/,
    },
    {
      what: 'an sslmode that contradicts DATABASE_SSL, whatever LOG_LEVEL says',
      in: ALL,
      settings: () => ({
        DATABASE_URL: edited(good.DATABASE_URL!, (url) => url.searchParams.set('sslmode', 'verify-full')),
        DATABASE_SSL: 'off',
        LOG_LEVEL: 'silent',
      }),
      says: /DATABASE_SSL contradicts the sslmode/,
    },
    {
      what: 'an sslmode that this Postgres cannot keep',
      in: ALL,
      settings: () => ({
        DATABASE_URL: edited(good.DATABASE_URL!, (url) => url.searchParams.set('sslmode', 'require')),
      }),
      says: /Postgres cannot be used: .*SSL/,
    },
    {
      what: 'a wrong password of Postgres',
      in: ALL,
      settings: () => ({
        DATABASE_URL: edited(good.DATABASE_URL!, (url) => {
          url.password = 'hunter2'
        }),
      }),
      says: /DATABASE_URL: Postgres cannot be used: password authentication failed/,
    },
    {
      what: 'a database that is not there',
      in: ALL,
      settings: () => ({
        DATABASE_URL: edited(good.DATABASE_URL!, (url) => {
          url.pathname = '/nowhere'
        }),
      }),
      says: /DATABASE_URL: Postgres cannot be used: database "nowhere" does not exist/,
    },
    {
      what: 'a wrong password of Redis',
      in: ['web', 'worker'],
      settings: () => ({
        REDIS_URL: edited(good.REDIS_URL!, (url) => {
          url.username = 'nobody'
          url.password = 'hunter2'
        }),
      }),
      says: /REDIS_URL: Redis cannot be used: WRONGPASS/,
    },
    {
      what: 'a user of Redis that may not ask INFO',
      in: ['web', 'worker'],
      settings: () => ({
        REDIS_URL: edited(evicting.url, (url) => {
          url.username = 'application'
          url.password = 'hunter2'
        }),
      }),
      says: /REDIS_URL: its user may not run INFO: NOPERM/,
    },
    {
      what: 'a Redis that throws jobs away',
      in: ['web', 'worker'],
      settings: () => ({ REDIS_URL: evicting.url }),
      says: /REDIS_URL: this Redis evicts keys \(maxmemory-policy allkeys-lru\)/,
    },
    ...['192.0.2.1', '300.1.1.1', '[::1]'].map((HOST) => ({
      what: `HOST=${HOST}`,
      in: ['web', 'worker'] as Kind[],
      settings: () => ({ HOST, HEALTH_PORT: '0' }),
      says: /HOST (is no address of this machine|must be an IP address or a host name)/,
    })),
    { what: 'a taken port', in: ['web'], settings: () => ({ PORT: port() }), says: /EADDRINUSE/ },
    { what: 'a taken port', in: ['worker'], settings: () => ({ HEALTH_PORT: port() }), says: /EADDRINUSE/ },
    {
      what: 'a folder that cannot be written',
      in: ['web', 'worker'],
      settings: () => ({ STORAGE_URL: 'file:/dev/null/media' }),
      says: /STORAGE_URL: the folder .* cannot be written/,
    },
    {
      what: 'a bucket that is not there',
      in: ['web', 'worker'],
      settings: () => ({ ...bucket(), STORAGE_URL: 's3://another/media' }),
      says: /STORAGE_URL: the bucket another cannot be used: NoSuchBucket/,
    },
    {
      what: 'a wrong key of the bucket',
      in: ['web', 'worker'],
      settings: () => ({ ...bucket(), AWS_SECRET_ACCESS_KEY: 'hunter2' }),
      says: /STORAGE_URL: the bucket media cannot be used: SignatureDoesNotMatch/,
    },
  ]

  for (const { what, in: kinds, settings, says } of cases) {
    for (const kind of kinds) {
      it(`is refused for ${what}: ${kind}`, async () => {
        const { code, lines, ownMs } = await refusalOf(kind, { ...good, PORT: '0', ...settings() })
        expect(lines, lines.join('\n')).to.have.lengthOf(1)
        expect(code, lines[0]).to.equal(78)
        // The command line talks to people: its line is the sentence alone.
        const line = kind === 'admin' ? { msg: lines[0]! } : (JSON.parse(lines[0]!) as { msg: string })
        if (kind !== 'admin') expect(line).to.include({ level: 'fatal', process: kind })
        expect(line.msg).to.match(says)
        expect(lines[0]).not.to.match(/hunter2|50%@/)
        expect(ownMs, 'ms until it ended').to.be.below(longest)
      })
    }
  }

  it('ends with the same exit code where nobody reads its line', async () => {
    const started = new Started('web', { ...good, PORT: 'x' })
    started.child.stdout!.destroy()
    expect(await started.ended).to.equal(78)
  })
})
