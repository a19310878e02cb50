import { expect } from 'chai'
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { z } from 'zod'
import { freePort } from '../../../scripts/services/ports.ts'
import { root } from '../../../scripts/folders.ts'
import { startTestWeb } from '../../../scripts/harness/harness.ts'
import { readCatalogue } from '../../support/catalogue.ts'
import { QUEUES } from '../../../src/shared/terms/kinds.ts'
import { readConfig } from '../../../src/shared/platform/config/config.ts'

const require = createRequire(import.meta.url)
// Mocha reads its own configuration with it. Compose has merge keys (<<), which YAML 1.2 has dropped.
const yaml = createRequire(require.resolve('mocha/package.json'))('js-yaml') as {
  load: (text: string, options: object) => unknown
  YAML11_SCHEMA: object
}

const read = (file: string) => readFileSync(join(root, file), 'utf8')

/** Every variable that a process reads: those of the configuration, of the example catalogue, and of the S3 client. */
function knownVariables(): Set<string> {
  const own = [...read('src/shared/platform/config/config.ts').matchAll(/^ {2}([A-Z][A-Z0-9_]+): /gm)].map(
    (match) => match[1]!,
  )
  const keys = [...read('models.example.json').matchAll(/"apiKeyEnv": "(\w+)"/g)].map((match) => match[1]!)
  return new Set([...own, ...keys, 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY', 'AWS_REGION'])
}

/** The source of a compiled file in a command. */
function expectToRun(command: string): void {
  const match = /^(?:env \w+=[\w,]+ )?node dist\/(src\/\S+)\.js$/.exec(command)
  expect(match, command).not.to.equal(null)
  expect(existsSync(join(root, `${match![1]!}.ts`)), command).to.equal(true)
}

const REQUIRED = {
  BASE_URL: 'https://tollgate.example',
  APP_SECRET: 'x'.repeat(64),
  STORAGE_URL: 's3://bucket/media',
  DASHBOARD_PASSWORD: 'y',
  METRICS_TOKEN: 'z',
  DATABASE_URL: 'postgres://user:password@host:5432/name',
  REDIS_URL: 'rediss://:password@host:6380',
}

/** What is read here of Heroku's file. */
const appJson = z.object({
  addons: z.array(z.object({ plan: z.string() })),
  formation: z.record(z.string(), z.unknown()),
  env: z.record(
    z.string(),
    z.object({ value: z.string().optional(), required: z.boolean().optional(), generator: z.string().optional() }),
  ),
})

const procfile = () =>
  Object.fromEntries(
    read('Procfile')
      .trim()
      .split('\n')
      .map((line) => line.split(/: (.*)/s).slice(0, 2) as [string, string]),
  )

describe('the Procfile', () => {
  it('names programs that exist, without a shell or npm that would hold back signals', () => {
    for (const command of Object.values(procfile())) expectToRun(command)
    expect(procfile()).to.include.keys('release', 'web', 'worker', 'video_worker')
  })

  it('gives its workers queues that exist', () => {
    for (const [, queues] of read('Procfile').matchAll(/WORKER_QUEUES=(\S+)/g)) {
      expect(readConfig(QUEUES, { ...REQUIRED, WORKER_QUEUES: queues }).WORKER_QUEUES).to.deep.equal([queues])
    }
  })
})

describe('app.json', () => {
  const app = appJson.parse(JSON.parse(read('app.json')))
  const values = Object.fromEntries(
    Object.entries(app.env).flatMap(([name, { value }]) => (value === undefined ? [] : [[name, value]])),
  )

  it('starts processes of the Procfile, on Postgres and Redis', () => {
    expect(procfile()).to.include.keys(...Object.keys(app.formation))
    expect(app.addons.map(({ plan }) => plan.split(':')[0])).to.deep.equal(['heroku-postgresql', 'heroku-redis'])
  })

  it('asks for variables that a process reads, with values that it accepts', () => {
    expect([...knownVariables()]).to.include.members(Object.keys(app.env))
    const config = readConfig(QUEUES, { ...REQUIRED, ...values })
    const due = { TRUST_PROXY: 1, DATABASE_SSL: 'require', REDIS_TLS_VERIFY: 'off', LONG_CALL_REPLY: 'heartbeat' }
    expect(config).to.include(due)
  })

  it('asks for everything without which a process would not start', () => {
    const asked = Object.entries(app.env).filter(
      ([, { value, required, generator }]) => value === undefined && required !== false && generator === undefined,
    )
    expect(asked.map(([name]) => name)).to.deep.equal(['BASE_URL', 'STORAGE_URL'])
    expect(app.env.APP_SECRET!.generator).to.equal('secret')
  })

  it('names a catalogue that exists', () => {
    const catalogue = readCatalogue(join(root, values.MODELS_FILE!), (name) =>
      name === 'OPENAI_API_KEY' ? 'sk-made-up' : undefined,
    )
    expect([...catalogue.models.values()].filter(({ routes }) => routes.length > 0)).not.to.deep.equal([])
  })
})

describe('the Dockerfile', () => {
  const lines = read('Dockerfile').split('\n')

  it('copies only what exists or what the build has made', () => {
    for (const line of lines.filter((one) => one.startsWith('COPY'))) {
      const sources = line
        .split(' ')
        .slice(1, -1)
        .filter((word) => !word.startsWith('--'))
      for (const source of sources) {
        const path = source.replace(/^\/app\//, '')
        expect(['.', 'dist', 'node_modules'].includes(path) || existsSync(join(root, path)), line).to.equal(true)
      }
    }
  })

  it('runs a program that exists, without privileges, on the LTS release of Node', () => {
    expectToRun((JSON.parse(lines.find((line) => line.startsWith('CMD '))!.slice(4)) as string[]).join(' '))
    expect(lines).to.include('USER node')
    const due = ['node:24-slim', 'node:24-slim']
    expect(lines.filter((line) => line.startsWith('FROM ')).map((line) => line.split(' ')[1])).to.deep.equal(due)
  })

  it('asks web and worker alike whether they live', async () => {
    const [, command] = /^HEALTHCHECK .*CMD (\[.*\])$/m.exec(read('Dockerfile').replaceAll('\\\n', ''))!
    const [program, ...args] = JSON.parse(command!) as [string, ...string[]]
    const answers = (ports: Record<string, string>) =>
      promisify(execFile)(program, args, { env: { PATH: process.env['PATH'], ...ports } }).then(
        () => true,
        () => false,
      )
    const web = await startTestWeb()
    const { port } = new URL(web.url)
    const health = [
      { PORT: port, HEALTH_PORT: '9' },
      { PORT: '9', HEALTH_PORT: port },
      { PORT: '9', HEALTH_PORT: '9' },
    ]
    expect(await Promise.all(health.map(answers))).to.deep.equal([true, true, false])
    await web.stop()
  })
})

describe('docker-compose.yml', () => {
  const service = z.object({
    command: z.array(z.string()).optional(),
    environment: z.record(z.string(), z.string()).optional(),
    depends_on: z.record(z.string(), z.object({ condition: z.string() })).optional(),
    volumes: z.array(z.string()).optional(),
    stop_grace_period: z.string().optional(),
    restart: z.string(),
  })
  const { services } = z
    .object({ services: z.record(z.string(), service) })
    .parse(yaml.load(read('docker-compose.yml'), { schema: yaml.YAML11_SCHEMA }))
  const own = ['migrate', 'web', 'worker'] as const

  it('runs programs that exist', () => {
    for (const name of own) expectToRun(services[name]!.command!.join(' '))
  })

  it('gives them variables that a process reads, with values that it accepts', () => {
    const withDefaults = (text: string) =>
      text.replace(/\$\{(\w+):-([^}]*)\}/g, '$2').replace(/\$\{\w+:\?[^}]*\}/g, 'x'.repeat(32))
    for (const name of own) {
      const environment = Object.fromEntries(
        Object.entries(services[name]!.environment!).map(([key, value]) => [key, withDefaults(value)]),
      )
      expect([...knownVariables()]).to.include.members(Object.keys(environment))
      expect(readConfig(QUEUES, environment).MODELS_FILE).to.equal('models.example.json')
    }
  })

  it('migrates once, before everything that needs it, and gives everything time to stop', () => {
    expect(services.migrate!.restart).to.equal('no')
    for (const name of ['web', 'worker']) {
      expect(services[name]!.depends_on).to.deep.equal({
        migrate: { condition: 'service_completed_successfully' },
        redis: { condition: 'service_healthy' },
      })
      expect(services[name]!.stop_grace_period).to.equal('35s')
    }
  })

  it('has a Redis that asks for a password, never evicts a job, and keeps no prompt on disk', async () => {
    const [shell, ...args] = services.redis!.command! as [string, ...string[]]
    const port = await freePort()
    // Compose writes $ as $$.
    const command = args.map((one) => one.replaceAll('$$', '$').replace('requirepass', `port ${port}\nrequirepass`))
    const env = { PATH: process.env['PATH'], REDISCLI_AUTH: 'secret' }
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-compose-'))
    const server = spawn(shell, command, { env, cwd: folder, stdio: 'ignore' })
    const redis = new Redis({ port, password: 'secret', retryStrategy: () => 50 }).on('error', () => {})
    try {
      for (const [name, value] of Object.entries({ 'maxmemory-policy': 'noeviction', save: '', appendonly: 'no' })) {
        expect(await redis.config('GET', name)).to.deep.equal([name, value])
      }
      const stranger = new Redis({ port, retryStrategy: () => null }).on('error', () => {})
      expect(await stranger.get('x').catch((error: Error) => error.message)).to.match(/NOAUTH/)
      stranger.disconnect()
    } finally {
      redis.disconnect()
      server.kill()
      await once(server, 'exit')
    }
    expect(readdirSync(folder)).to.deep.equal([])
    rmSync(folder, { recursive: true })
    expect(services.redis!.volumes).to.equal(undefined)
  })

  it('has no password of its own: each is asked for', () => {
    const text = read('docker-compose.yml')
    for (const name of ['APP_SECRET', 'POSTGRES_PASSWORD', 'REDIS_PASSWORD']) {
      const uses = [...text.matchAll(new RegExp(`\\$\\{${name}(\\W)`, 'g'))].map((match) => match[1])
      expect(new Set(uses), name).to.deep.equal(new Set([':']))
      expect(text).not.to.include(`\${${name}:-`)
    }
  })
})

/** What is read here of Prometheus' file of rules, and of Grafana's dashboard. */
const rules = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string(), for: z.string() })) })),
})
const dashboard = z.object({
  panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })).min(1) })).min(1),
})

describe('what is watched', () => {
  const { groups } = rules.parse(yaml.load(read('deploy/prometheus-rules.yml'), { schema: yaml.YAML11_SCHEMA }))
  const { panels } = dashboard.parse(JSON.parse(read('deploy/grafana-dashboard.json')))
  const expressions = [
    ...groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
    ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ]

  it('is made of metrics that docs/operations.md has', () => {
    const page = read('docs/operations.md')
    for (const expression of expressions) {
      const names = expression.match(/\b(tollgate|nodejs)_\w+/g) ?? []
      expect(names, expression).not.to.deep.equal([])
      for (const name of names) expect(page, expression).to.include(name.replace(/_bucket$/, ''))
    }
  })

  it('is written in expressions whose brackets close', () => {
    for (const expression of expressions) {
      const open: string[] = []
      const pairs: Record<string, string> = { ')': '(', ']': '[', '}': '{' }
      for (const character of expression.replace(/"[^"]*"/g, '')) {
        if ('([{'.includes(character)) open.push(character)
        else if (pairs[character]) expect(open.pop(), expression).to.equal(pairs[character])
      }
      expect(open, expression).to.deep.equal([])
    }
  })
})
