import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { buildIsStale } from '../build/builder.ts'
import { root } from '../folders.ts'
import { readIfThere } from '../services/secrets.ts'
import { dyingWithParent } from '../services/processes.ts'
import type { WorkerConfig } from '../../src/workers/deps.ts'
import type { Db } from '../../src/shared/platform/postgres/db.ts'
import type { CallId } from '../../src/shared/platform/ids.ts'
import type { Failpoint, FailpointName } from '../../src/shared/platform/process/failpoints.ts'
import type { Sandbox } from '../../sandbox/server.ts'
import { connectTestDb, newDatabaseUrl } from './database.ts'
import { failForDefects } from './defects.ts'
import { testConfig } from './harness.ts'
import type { Catalogue, Settings } from './harness.ts'
import { PATIENCE_MS, until } from './until.ts'
import { testRedis } from './redis.ts'

export type Kind = 'web' | 'worker'

/** What runs to its end: the release phase, and an operator's command. */
export type Task = 'release' | 'admin'

const PROGRAMS: Record<Kind | Task, string> = {
  web: 'src/api/main',
  worker: 'src/workers/main',
  release: 'src/admin/migrate',
  admin: 'src/admin/main',
}
const UP: Record<Kind, string> = { web: 'web process listening', worker: 'worker process running' }

/** The folder of the bundled programs, if there are any (scripts/testing/programs.ts). */
const bundled = process.env['TOLLGATE_TEST_PROGRAMS']

let compiled: boolean | undefined

/**
 * What Node runs for a program: the compiled one, as in production, if it is up to date; otherwise the sources through
 * tsx. Of another checkout (`tree`), what is there.
 */
export function argumentsOf(kind: Kind | Task, tree: string = root): string[] {
  const ofThisOne = tree === root
  if (bundled && ofThisOne && (kind === 'web' || kind === 'worker')) return [join(bundled, `${kind}.cjs`)]
  const program = join(tree, 'dist', `${PROGRAMS[kind]}.js`)
  const isCompiled = ofThisOne ? (compiled ??= !buildIsStale()) : existsSync(program)
  const loaders = ['--import', 'tsx', '--import', join(root, 'scripts/thread-loader.mjs')]
  return isCompiled ? [program] : [...loaders, join(tree, `${PROGRAMS[kind]}.ts`)]
}

/** A failpoint that a process reached. `at` in Unix ms. */
export type ReachedFailpoint = Failpoint & { name: FailpointName; callId: CallId; at: number }

/** How a process ended. `at` in Unix ms. */
export type End = { code: number | null; signal: NodeJS.Signals | null; at: number }

/** A real process of Tollgate. */
export class Program {
  readonly kind: Kind
  readonly ended: Promise<End>
  /** The address of a web process, once it is up. */
  url = ''
  /** How it ended, once it has. */
  end: End | null = null
  private readonly child: ChildProcess
  private readonly lines: string[] = []
  private readonly stepsFile: string

  /** @param folder for the list of failpoints that it reaches. */
  constructor(kind: Kind, env: NodeJS.ProcessEnv, folder: string, tree: string) {
    this.kind = kind
    this.stepsFile = join(folder, `steps-${randomUUID()}`)
    const preload = ['crash', ...(bundled ? ['compiled'] : [])].flatMap((name) => [
      '--require',
      join(root, `scripts/harness/${name}-preload.cjs`),
    ])
    const [command = '', ...args] = dyingWithParent('SIGKILL', [
      process.execPath,
      ...preload,
      ...argumentsOf(kind, tree),
    ])
    this.child = spawn(command, args, {
      cwd: tree,
      env: { ...env, FAILPOINT_LOG: this.stepsFile },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    failForDefects(kind, [this.child.stdout, this.child.stderr])
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.lines.push(line))
    }
    this.ended = once(this.child, 'exit').then(([code, signal]) => {
      this.end = { code: code as number | null, signal: signal as NodeJS.Signals | null, at: Date.now() }
      return this.end
    })
  }

  /** Its process id. */
  get pid(): number {
    return this.child.pid!
  }

  /** The failpoints that it has reached, oldest first. Read from its file each time. */
  get steps(): ReachedFailpoint[] {
    return (readIfThere(this.stepsFile) ?? '')
      .split('\n')
      .slice(0, -1)
      .map((line) => {
        const [at, name, callId] = line.split(' ')
        return { at: Number(at), name: name as FailpointName, callId: callId as CallId }
      })
  }

  /** Sends a signal. */
  signal(name: NodeJS.Signals): void {
    if (this.end === null) this.child.kill(name)
  }

  /** Asks it to stop, and waits until it has. */
  async stop(): Promise<End> {
    this.signal('SIGTERM')
    return await this.ended
  }

  /** Kills it with SIGKILL. */
  async kill(): Promise<End> {
    this.signal('SIGKILL')
    return await this.ended
  }

  /** Waits until it has reached a failpoint so often. */
  async reaches(name: FailpointName, times = 1, ms = PATIENCE_MS): Promise<void> {
    await until(
      `${this.kind} to reach ${name}`,
      () => this.steps.filter((one) => one.name === name).length >= times,
      ms,
    )
  }

  /** Waits until it is up. Throws an Error with its last lines if it ends instead. */
  async up(): Promise<this> {
    const line = await until(`${this.kind} to be up`, () => {
      if (this.end) throw new Error(`${this.kind} ended: ${this.log()}`)
      return this.lines.find((one) => one.includes(UP[this.kind]))
    })
    if (this.kind === 'web') this.url = `http://127.0.0.1:${(JSON.parse(line) as { port: number }).port}`
    return this
  }

  /** The last lines of its output. */
  log(): string {
    return this.lines.slice(-20).join('\n')
  }
}

/** Limits how many pieces of work run at a time; the rest wait in the order in which they came. */
class Turns {
  private readonly waiting: (() => void)[] = []
  private free: number

  constructor(free: number) {
    this.free = free
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    try {
      return await work()
    } finally {
      const next = this.waiting.shift()
      if (next) next()
      else this.free++
    }
  }
}

const starts = new Turns(2)

/** An installation of real processes over a database and Redis keys of its own. */
export class Installation {
  readonly db: Db
  readonly config: WorkerConfig
  private readonly env: NodeJS.ProcessEnv
  private readonly programs: Program[] = []

  constructor(db: Db, config: WorkerConfig, env: NodeJS.ProcessEnv) {
    this.db = db
    this.config = config
    this.env = env
  }

  /**
   * Starts a process without waiting for it. At the failpoint `crashAt` (`#n`: at the n-th time) it kills itself.
   * `tree`: the checkout whose program it is, where it is not this one.
   */
  launch(kind: Kind, { crashAt = '', tree = root, ...settings }: Settings = {}): Program {
    const env = { ...this.env, ...settings, CRASH_AT: crashAt }
    const program = new Program(kind, env, dirname(this.config.MODELS_FILE), tree)
    this.programs.push(program)
    return program
  }

  /** Starts a process and waits until it is up. Two start at a time: they need a processor each until then. */
  async start(kind: Kind, settings: Settings = {}): Promise<Program> {
    return await starts.run(() => this.launch(kind, settings).up())
  }

  /** Runs a task of a checkout (`tree`) to its end, and returns its output. @throws if it ends with an error. */
  async run(task: Task, tree: string, args: readonly string[] = [], input = ''): Promise<string> {
    const child = spawn(process.execPath, [...argumentsOf(task, tree), ...args], { cwd: tree, env: this.env })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.on('data', (chunk: Buffer) => {
        output += chunk.toString()
      })
    }
    child.stdin.end(input)
    const [code] = (await once(child, 'close')) as [number | null]
    if (code !== 0) throw new Error(`${task} ${args.join(' ')} in ${tree} ended with ${code}: ${output}`)
    return output
  }

  /** Kills the processes that still run. */
  async end(): Promise<void> {
    for (const program of this.programs) program.signal('SIGCONT')
    await Promise.all(this.programs.map((program) => program.kill()))
    await this.db.destroy()
  }
}

/** The services of an installation, where they are not those of the tests. */
export type Services = { databaseUrl?: string; redisUrl?: string }

/** Prepares an installation; its processes are started one by one. */
export async function install(
  sandbox: Sandbox,
  settings: Settings = {},
  services?: Services,
  change: (catalogue: Catalogue) => void = () => {},
): Promise<Installation> {
  const { url } = await testRedis()
  const databaseUrl = services?.databaseUrl ?? (await newDatabaseUrl())
  const own = { DATABASE_URL: databaseUrl, REDIS_URL: services?.redisUrl ?? url, LOG_LEVEL: 'info', ...settings }
  const config = await testConfig(sandbox.url, own, change)
  const { secretOf: _secretOf, WORKER_QUEUES, ...values } = config
  const env = Object.fromEntries(
    Object.entries({ ...values, WORKER_QUEUES: WORKER_QUEUES.join(',') })
      .filter(([, value]) => value !== undefined)
      .map(([name, value]) => [name, String(value)]),
  )
  const db = connectTestDb({ ...config, DATABASE_POOL: 4 })
  return new Installation(db, config, {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    SANDBOX_API_KEY: 'sk-made-up',
    ...env,
  })
}
