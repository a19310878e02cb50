import { join } from 'node:path'
import { build, buildIsStale } from '../build/builder.ts'
import { serveConsole } from '../build/console.ts'
import { seconds } from '../tools.ts'
import { runToEnd } from './admin.ts'
import { banner } from './banner.ts'
import type { ListedModel } from './banner.ts'
import { keepRunning, shown } from './data-folder.ts'
import type { Environment } from './data-folder.ts'
import { demoAccount } from './demo.ts'
import { Program } from './program.ts'
import { postgresFor, redisFor } from './services.ts'
import type { Service } from './services.ts'
import type { LocalProvider } from '../services/provider.ts'
import {
  healthPort,
  keptSettings,
  localHost,
  localProvider,
  sandboxCatalogue,
  sandboxPayments,
  tellStripe,
  webPort,
} from './settings.ts'

/** Thrown within a start that was asked to stop. */
export class Stopped extends Error {}

/** What web and worker run: what was compiled into dist, or their sources, started again at each change. */
export type RunFrom = 'build' | 'sources'

/** So that their threads can be sources, too. */
const THREADS = '--import=./scripts/thread-loader.mjs'

/** The arguments of Node for a program of the product. `inspector`: the port of its debugger when run from sources. */
const programOf = (from: RunFrom, file: string, inspector: number): string[] =>
  from === 'build'
    ? [`dist/src/${file}.js`]
    : [
        '--watch',
        '--watch-preserve-output',
        '--import=tsx',
        THREADS,
        `--inspect=127.0.0.1:${inspector}`,
        `src/${file}.ts`,
      ]

const [WEB_INSPECTOR, WORKER_INSPECTOR] = [9229, 9230]

/** Everything that `npm start` runs, in the order of starting. It stops in reverse order. */
export class Starter {
  private readonly folder: string
  private readonly onDeath: (reason: string) => void
  private readonly from: RunFrom
  private readonly startedAt = Date.now()
  private readonly services: Service[] = []
  private readonly programs: Program[] = []
  private environment: Environment = {}
  private localProvider: LocalProvider | undefined
  private stopping = false

  /** `onDeath` is called when one of its processes ends by itself, with its name and its last lines. */
  constructor(folder: string, onDeath: (reason: string) => void, from: RunFrom = 'build') {
    this.folder = folder
    this.onDeath = onDeath
    this.from = from
  }

  /**
   * Starts everything and prints how to use it. Throws a Stopped when `stop` is called meanwhile, and an Error when
   * something fails.
   */
  async start(): Promise<void> {
    const say = (line: string): void => console.log(`           ${line}`)
    const postgres = this.stage('postgres', async () => this.keep(await postgresFor(this.folder, say, this.onDeath)))
    const redis = this.stage('redis', async () => this.keep(await redisFor(this.folder, say, this.onDeath)))
    await this.settled([postgres, redis, this.stage('build', () => this.build())])
    this.environment = {
      ...keptSettings(this.folder),
      DATABASE_URL: (await postgres).url,
      REDIS_URL: (await redis).url,
    }
    // Only this user can read what the programs write from here on (mails, media).
    process.umask(0o077)
    // Its port is in the catalogue, which the migrations apply.
    await this.stage('sandbox', () => this.sandbox())
    if (this.from === 'sources' && !process.env['SIGNIN_PROVIDERS']) await this.stage('provider', () => this.provider())
    await this.stage('migrations', async () => ({
      about: await runToEnd(['dist/src/admin/migrate.js'], { ...process.env, ...this.environment }),
    }))
    // The worker's mails have the address of the web process.
    const { port } = await this.stage('web', () => this.web())
    await tellStripe(this.environment, port)
    await this.stage('worker', () => this.worker())
    await this.welcome(port)
    if (this.from === 'sources') {
      const console = await this.stage('console', async () => ({
        about: await serveConsole(`http://127.0.0.1:${port}`),
      }))
      say(`debuggers of web and worker: 127.0.0.1:${WEB_INSPECTOR}, :${WORKER_INSPECTOR}; pages: ${console.about}`)
    }
    for (const program of this.programs.filter(({ name }) => name !== 'sandbox')) {
      program.follow((line) => console.log(`${program.name.padEnd(6)} | ${line}`))
    }
  }

  /** Stops everything. Requests and jobs get 30 s to end. */
  async stop(): Promise<void> {
    this.stopping = true
    for (const name of ['web', 'worker', 'sandbox']) {
      const program = this.programs.find((one) => one.name === name)
      await program?.stop(name === 'sandbox' ? 2_000 : 30_000)
    }
    await this.localProvider?.close()
    for (const service of this.services.toReversed()) await service.own?.stop()
  }

  /** Kills what `stop` still waits for, which then continues at once. */
  finishQuickly(): void {
    for (const program of this.programs) program.kill()
  }

  /** Waits for every part to settle, so that nothing is still being started when the first failure is thrown. */
  private async settled(parts: readonly Promise<unknown>[]): Promise<void> {
    await Promise.allSettled(parts)
    await Promise.all(parts)
  }

  private async stage<T extends { about: string }>(name: string, work: () => Promise<T>): Promise<T> {
    if (this.stopping) throw new Stopped()
    const startedAt = Date.now()
    const result = await work()
    if (this.stopping) throw new Stopped()
    console.log(`${name.padEnd(10)} ${seconds(Date.now() - startedAt).padStart(6)}   ${result.about}`)
    return result
  }

  private keep(service: Service): Service {
    // Redis stops before Postgres, whichever was up first.
    if (service.url.startsWith('postgres')) this.services.unshift(service)
    else this.services.push(service)
    this.record()
    return service
  }

  private record(): void {
    const own = this.services.flatMap(({ own: service }) => (service ? [service.process] : []))
    const processes = [...own, ...this.programs.map((program) => program.process)]
    keepRunning(this.folder, { processes, environment: this.environment })
  }

  private run(name: string, args: readonly string[], more: Environment = {}): Program {
    const program = new Program(name, args, { ...process.env, ...this.environment, ...more }, this.onDeath)
    const before = this.programs.findIndex((one) => one.name === name)
    if (before >= 0) this.programs.splice(before, 1)
    this.programs.push(program)
    this.record()
    return program
  }

  /**
   * Launches a program until it has a port. Each launch looks for a free one again, since another process may take it.
   */
  private async listening<T>(
    launch: () => Promise<{ program: Program; ready: () => Promise<boolean>; result: T }>,
  ): Promise<T> {
    for (;;) {
      const { program, ready, result } = await launch()
      if ((await program.up(ready)) || this.stopping) return result
    }
  }

  private async build(): Promise<{ about: string }> {
    if (!buildIsStale()) return { about: 'dist is up to date' }
    console.log('build      compiling into dist…')
    await build()
    return { about: 'compiled into dist' }
  }

  private async sandbox(): Promise<{ about: string }> {
    if (process.env['MODELS_FILE']) return { about: 'not started: MODELS_FILE names another catalogue' }
    const { port, file } = await this.listening(async () => {
      const found = await sandboxCatalogue(this.folder)
      if (found.file === undefined) delete this.environment['MODELS_FILE']
      else this.environment['MODELS_FILE'] = found.file
      const stripeFile = join(this.folder, 'stripe-sandbox.json')
      const asked = ['--port', String(found.port), '--stripe-file', stripeFile]
      const program = this.run('sandbox', ['dist/sandbox/main.js', ...asked])
      return { program, ready: async () => program.hasSaid('listening on'), result: found }
    })
    Object.assign(this.environment, sandboxPayments(this.folder, port))
    const note = file === undefined ? '' : ` (4010 is taken; the catalogue with this port is ${shown(file)})`
    return { about: `a sandbox upstream at 127.0.0.1:${port}${note}` }
  }

  /** At which anybody signs in as anybody: for who works on Tollgate alone. */
  private async provider(): Promise<{ about: string }> {
    const { provider, settings } = await localProvider(this.folder)
    this.localProvider = provider
    Object.assign(this.environment, settings)
    return { about: `a local provider at ${provider.issuer}` }
  }

  private async web(): Promise<{ about: string; port: number }> {
    const port = await this.listening(async () => {
      const found = await webPort(process.env['PORT'])
      this.environment['PORT'] = String(found)
      const program = this.run('web', programOf(this.from, 'api/main', WEB_INSPECTOR))
      // Another Tollgate may have taken the port, and be ready.
      const ready = async () => (isQuiet || program.hasSaid('web process listening')) && (await this.isReady(found))
      return { program, ready, result: found }
    })
    const moved = process.env['PORT'] || port === 3000 ? '' : ' (3000 is taken)'
    return { about: `${this.shownAddress(port)}${moved}`, port }
  }

  private address(port: number): string {
    return `http://${localHost(this.environment)}:${port}`
  }

  private shownAddress(port: number): string {
    return this.address(port).replace('//127.0.0.1:', '//localhost:')
  }

  private async isReady(port: number): Promise<boolean> {
    try {
      const answer = await fetch(`${this.address(port)}/readyz`, { signal: AbortSignal.timeout(2_000) })
      return answer.ok
    } catch {
      return false
    }
  }

  private async worker(): Promise<{ about: string }> {
    await this.listening(async () => {
      const port = await healthPort(process.env['HEALTH_PORT'])
      const program = this.run('worker', programOf(this.from, 'workers/main', WORKER_INSPECTOR), {
        HEALTH_PORT: String(port),
      })
      return { program, ready: () => this.isReady(port), result: port }
    })
    return { about: 'consumes all queues' }
  }

  private async welcome(port: number): Promise<void> {
    const base = this.shownAddress(port)
    const models = (key: string): Promise<Response> =>
      fetch(`${this.address(port)}/v1/models`, { headers: { authorization: `Bearer ${key}` } })
    const environment = { ...process.env, ...this.environment }
    const demo = await demoAccount(this.folder, environment, async (key) => (await models(key)).ok)
    const { data } = (await (await models(demo.key)).json()) as { data: ListedModel[] }
    if (this.stopping) throw new Stopped()
    const publicUrl = (process.env['BASE_URL'] || base).replace(/\/+$/, '')
    const hasMailPage = !process.env['SMTP_URL'] && !process.env['BASE_URL']
    console.log(
      banner({ base, publicUrl, hasMailPage, demo, models: data, took: seconds(Date.now() - this.startedAt) }),
    )
  }
}

/** Whether the programs log nothing about listening. */
const isQuiet = ['warn', 'error', 'fatal', 'silent'].includes(process.env['LOG_LEVEL'] ?? '')
