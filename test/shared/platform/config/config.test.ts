import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../../scripts/folders.ts'
import {
  ConfigError,
  configWarnings,
  isOwnVariable,
  readConfig,
  readDatabaseConfig,
} from '../../../../src/shared/platform/config/config.ts'
import { QUEUES } from '../../../../src/shared/terms/kinds.ts'
import type { Config } from '../../../../src/shared/platform/config/config.ts'
import { BAD, FREE } from '../../bad-values.ts'

const least = {
  DATABASE_URL: 'postgres://user:hunter2@db.example/tollgate',
  REDIS_URL: 'redis://redis.example',
  APP_SECRET: 'x'.repeat(32),
}
const read = (more: NodeJS.ProcessEnv = {}): Config => readConfig(QUEUES, { ...least, ...more })

function problem(environment: NodeJS.ProcessEnv): string {
  try {
    readConfig(QUEUES, environment)
  } catch (error) {
    expect(error).to.be.an.instanceOf(ConfigError)
    return (error as Error).message
  }
  throw new Error('the configuration was taken')
}

describe('the configuration', () => {
  it('leaves out white space around a value, such as the line end of a pasted secret', () => {
    const { METRICS_TOKEN, STORAGE_URL, secretOf } = read({
      METRICS_TOKEN: 'a-token-for-metrics\n',
      STORAGE_URL: 'file:media\r\n',
    })
    expect([METRICS_TOKEN, STORAGE_URL]).to.deep.equal(['a-token-for-metrics', 'file:media'])
    expect(secretOf('NOT_SET')).to.equal(undefined)
    const config = readConfig(QUEUES, { ...least, SOME_KEY: ' sk-1 \n', EMPTY_KEY: ' \n' })
    expect([config.secretOf('SOME_KEY'), config.secretOf('EMPTY_KEY')]).to.deep.equal(['sk-1', undefined])
    expect(JSON.stringify(config)).not.to.include('sk-1')
  })

  it('uses what is set, and treats an empty value as absent', () => {
    const config = read({
      PORT: '8080',
      BASE_URL: 'https://models.example/',
      WORKER_QUEUES: 'video, mail',
      SMTP_URL: '',
      GATEWAY_RATE_LIMIT: '5',
      LONG_CALL_REPLY: 'heartbeat',
    })
    const due = { PORT: 8080, BASE_URL: 'https://models.example', GATEWAY_RATE_LIMIT: 5, LONG_CALL_REPLY: 'heartbeat' }
    expect(config).to.include(due)
    expect(config.WORKER_QUEUES).to.deep.equal(['video', 'mail'])
    expect(config.SMTP_URL).to.equal(undefined)
    expect(read({ PORT: '8080' }).BASE_URL).to.equal('http://localhost:8080')
  })

  it('names every variable that is missing, in one message', () => {
    expect(problem({})).to.match(/DATABASE_URL is required.*REDIS_URL is required.*APP_SECRET is required/)
  })

  for (const [name, values] of Object.entries(BAD)) {
    it(`refuses a bad ${name} by its name, and never shows its value`, () => {
      for (const value of values) {
        const message = problem({ ...least, [name]: value })
        expect(message, value).to.match(new RegExp(`\\b${name}\\b`))
        if (value.length > 5) expect(message, value).not.to.include(value)
      }
    })
  }

  it('is tried here with a bad value of every variable that is documented', () => {
    const documented = readFileSync(join(root, 'docs/configuration.md'), 'utf8').matchAll(
      /^\| `([A-Z][A-Z0-9_]+)` \|/gm,
    )
    expect([...Object.keys(BAD), ...FREE].toSorted()).to.deep.equal(
      Array.from(documented, ([, name]) => name!).toSorted(),
    )
  })

  it('cannot be changed once it is read', () => {
    expect(() => Object.assign(read(), { PORT: 1 })).to.throw(TypeError)
  })

  it('gives no variable of its own as the key of an upstream, whatever a catalogue names', () => {
    const documented = [...Object.keys(BAD), ...FREE]
    const others = (
      'AWS_SECRET_ACCESS_KEY S3_KEY PGPASSWORD REDISCLOUD_KEY DB_PASSWORD NODE_EXTRA_CA_CERTS ' +
      'OTEL_EXPORTER_OTLP_HEADERS'
    ).split(' ')
    const config = read(Object.fromEntries(others.map((name) => [name, 'secret'])))
    for (const name of [...documented, ...others, 'PATH', 'LD_PRELOAD', 'SSL_CERT_FILE', 'HTTPS_PROXY', 'no_proxy'])
      expect([isOwnVariable(name, QUEUES), config.secretOf(name)], name).to.deep.equal([true, undefined])
    for (const name of ['OPENAI_API_KEY', 'FAL_KEY', 'REPLICATE_API_TOKEN', 'PGLM_KEY', 'KEY_OF_MINE', 'HOMEGROWN_KEY'])
      expect(isOwnVariable(name, QUEUES), name).to.equal(false)
  })

  it('requires only Postgres for the admin command', () => {
    expect(readDatabaseConfig({ DATABASE_URL: least.DATABASE_URL })).to.include({ DATABASE_SSL: 'off' })
    expect(() => readDatabaseConfig({})).to.throw(ConfigError, /DATABASE_URL/)
  })

  it('reads addresses of Postgres as its library does: a socket has no host but a folder', () => {
    for (const DATABASE_URL of [
      'postgres://app:secret@/tollgate?host=/cloudsql/project:europe-west1:main',
      'postgresql:///tollgate?host=/var/run/postgresql',
      'postgres://app:secret@[2001:db8::1]:5432/tollgate',
    ]) {
      expect(readDatabaseConfig({ DATABASE_URL })).to.include({ DATABASE_URL, DATABASE_SSL: 'off' })
    }
    const socket = 'postgres://app:secret@/tollgate?host=/cloudsql/p:r:i&sslmode=require'
    expect(readDatabaseConfig({ DATABASE_URL: socket }).DATABASE_SSL).to.equal('require')
  })

  it('says of an address of Postgres with several hosts that it needs one', () => {
    for (const DATABASE_URL of [
      'postgres://app:secret@one:5432,two:5432/tollgate',
      'postgres://app:secret@one,two/tollgate?target_session_attrs=read-write',
      'postgres://one,two/tollgate',
      'postgres://app:secret@/tollgate?host=one,two',
    ]) {
      expect(() => readDatabaseConfig({ DATABASE_URL }), DATABASE_URL).to.throw(
        ConfigError,
        /^(?!.*(secret|percent)).*DATABASE_URL has several hosts/,
      )
    }
    const password = 'postgres://app:a,b@one/tollgate?application_name=a,b'
    expect(readDatabaseConfig({ DATABASE_URL: password })).to.include({ DATABASE_URL: password })
  })

  it('accepts an sslmode in DATABASE_URL that agrees with DATABASE_SSL, and no other', () => {
    const ssl = (query: string, said?: string) =>
      readDatabaseConfig({ DATABASE_URL: `postgres://db.example/x?${query}`, ...(said && { DATABASE_SSL: said }) })
        .DATABASE_SSL
    for (const [query, meant] of [
      ['sslmode=disable', 'off'],
      ['sslmode=require', 'require'],
      ['sslmode=no-verify', 'require'],
      ['sslmode=verify-ca', 'verify'],
      ['sslmode=verify-full', 'verify'],
      ['ssl=true', 'verify'],
      ['ssl=0', 'off'],
    ] as const) {
      expect(ssl(query), query).to.equal(meant)
      expect(ssl(query, meant), query).to.equal(meant)
      expect(() => ssl(query, meant === 'off' ? 'verify' : 'off'), query).to.throw(
        ConfigError,
        /DATABASE_SSL contradicts the sslmode of DATABASE_URL/,
      )
    }
  })

  it('requires the key and the secret of payments, which may not be blank, where payments are on', () => {
    const said = (more: NodeJS.ProcessEnv) => problem({ ...least, PAYMENTS: 'stripe', ...more }).split(': ')[1]
    const missing = (name: string) => `${name} is required with PAYMENTS=stripe`
    const [key, secret] = [{ STRIPE_SECRET_KEY: 'sk_test_1' }, { STRIPE_WEBHOOK_SECRET: 'whsec_1' }]
    const both = `${missing('STRIPE_SECRET_KEY')}; ${missing('STRIPE_WEBHOOK_SECRET')}.`
    expect(said({ STRIPE_SECRET_KEY: '', STRIPE_WEBHOOK_SECRET: '' })).to.equal(both)
    expect(said(secret)).to.equal(`${missing('STRIPE_SECRET_KEY')}.`)
    expect(said({ ...key, STRIPE_WEBHOOK_SECRET: '' })).to.equal(`${missing('STRIPE_WEBHOOK_SECRET')}.`)
    expect(said({ ...key, STRIPE_WEBHOOK_SECRET: 'whsec 1' })).to.equal('STRIPE_WEBHOOK_SECRET must have no spaces.')
    expect(read({ PAYMENTS: 'stripe', ...key, ...secret })).to.include({ PAYMENTS: 'stripe', ...secret })
    expect(read().PAYMENTS).to.equal(undefined)
  })

  it('warns of unknown names that resemble settings, and of no others', () => {
    const warned = (names: string[]) =>
      configWarnings(read(), QUEUES, Object.fromEntries(names.map((name) => [name, 'x']))).map(
        (line) => line.split(' ')[2]!,
      )
    const typos = ['GATEWAY_RATELIMIT', 'SMPT_URL', 'DATABASE_POOL_SIZE', 'MEDIA_TTL', 'base_url', 'APP_SECERT']
    expect(warned([...typos, 'PORT', 'PATH', 'HOST', 'HOME', 'REDIS_TLS_URL', 'OPENAI_API_KEY'])).to.deep.equal(typos)
  })

  it('warns in production of mails that reach nobody and of unreachable links', () => {
    const production = { NODE_ENV: 'production' }
    const warnings = (more: NodeJS.ProcessEnv) => configWarnings(read(more), QUEUES, {}).join('\n')
    expect(warnings({ BASE_URL: 'http://127.0.0.1:3000' })).to.equal('')
    expect(warnings({ ...production, BASE_URL: 'http://127.0.0.1:3000' })).to.match(
      /SMTP_URL is not.*\nBASE_URL is local/,
    )
    expect(warnings({ ...production, BASE_URL: 'https://x.example', SMTP_URL: 'smtp://x' })).to.equal('')
  })
})
