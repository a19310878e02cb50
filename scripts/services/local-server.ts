import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from './ports.ts'
import { dyingWithParent, end, lives, signal, startOf } from './processes.ts'
import { seenWithin } from '../harness/until.ts'
import type { ProcessMark } from './processes.ts'

/** Whether a server ends with the process that starts it, where the system supports that, or outlives it. */
export type Lifetime = 'with-starter' | 'detached'

/** How one kind of server is run. */
export type ServerKind = {
  /** For messages. */
  name: string
  /** The program and its arguments. */
  command: (port: number) => string[]
  /** What it reads on standard input. */
  input?: (port: number) => string
  /** The user and the folder that it runs as and in. */
  identity?: { uid?: number; gid?: number; cwd?: string }
  /** The file for its output. Each start truncates it. */
  log: string
  /** The first port to try; 0: any. */
  firstPort: number
  lifetime: Lifetime
  /** Asks it to shut down in order. */
  stopSignal: NodeJS.Signals
  /** Whether it accepts clients yet. */
  ready: (port: number) => Promise<boolean>
  /** What its log has when the port is taken, or when a killed predecessor has not quite ended. */
  passing: { portTaken: RegExp; lingering?: RegExp }
  /** Its child processes. */
  children?: (server: ProcessMark) => ProcessMark[]
  /** Called before each launch. */
  prepare?: () => void
  /** Called when it ends unexpectedly, with the last lines of its log. */
  onDeath?: (log: string) => void
}

/** The last lines of a log file, empty if it does not exist. */
function lastLines(file: string, count = 15): string {
  return existsSync(file) ? readFileSync(file, 'utf8').trimEnd().split('\n').slice(-count).join('\n') : ''
}

/** A server program that this process starts, stops, kills and starts again on 127.0.0.1. */
export class LocalServer {
  private readonly kind: ServerKind
  private server: { process: ProcessMark; port: number } | undefined
  private asked = false

  /** Starts nothing yet. `running` is a server that runs already, whichever process started it. */
  constructor(kind: ServerKind, running?: { process: ProcessMark; port: number }) {
    this.kind = kind
    this.server = running
  }

  /** The port, also of a stopped server. Throws an Error when it never ran. */
  get port(): number {
    return this.known.port
  }

  /** The process that listens, or that did. Throws an Error when it never ran. */
  get process(): ProcessMark {
    return this.known.process
  }

  /** Whether it runs. */
  get runs(): boolean {
    return this.server !== undefined && lives(this.server.process)
  }

  private get known(): { process: ProcessMark; port: number } {
    if (this.server === undefined) throw new Error(`${this.kind.name} was never started`)
    return this.server
  }

  /** Stops it and waits until all of its processes are gone; kills them when that takes longer than 30 s. */
  async stop(): Promise<void> {
    await this.stopBy(this.kind.stopSignal)
  }

  /** Stops it as `stop` does, by this signal. */
  async stopBy(name: NodeJS.Signals): Promise<void> {
    if (!this.runs) return
    this.asked = true
    const children = this.kind.children?.(this.process) ?? []
    await end(this.process, name, 30_000)
    for (const child of children) await end(child, 'SIGQUIT', 1_000)
  }

  /** Kills it with SIGKILL, and waits until all of its processes are gone. */
  async kill(): Promise<void> {
    if (!this.runs) return
    this.asked = true
    // A child may outlive its parent for a moment, and until then the server does not start again.
    const all = [this.process, ...(this.kind.children?.(this.process) ?? [])]
    for (const process of all) signal(process, 'SIGKILL')
    if (!(await seenWithin(() => !all.some(lives), 10_000))) throw new Error(`a killed ${this.kind.name} does not end`)
  }

  /**
   * Starts it; after stop or kill on the same port. Resolves when it accepts clients. Throws an Error with the last
   * lines of its log when it does not come up.
   */
  async start(): Promise<void> {
    if (this.runs) return
    const { firstPort, name, passing } = this.kind
    const fixed = this.server?.port
    const giveUpAt = Date.now() + 15_000
    let port = fixed ?? (await freePort(firstPort))
    for (;;) {
      const failure = await this.launch(port)
      if (failure === undefined) return
      const taken = passing.portTaken.test(failure)
      const lingering = passing.lingering?.test(failure) ?? false
      if (Date.now() > giveUpAt || !(taken || lingering)) throw new Error(`${name} did not start:\n${failure}`)
      // Another process has taken the port meanwhile.
      if (taken && fixed === undefined) port = await freePort(firstPort === 0 ? 0 : port + 1)
      else await pause(100)
    }
  }

  private spawn(port: number): ChildProcess {
    const { command, identity, input, lifetime, log, prepare, stopSignal } = this.kind
    prepare?.()
    const words = lifetime === 'detached' ? command(port) : dyingWithParent(stopSignal, command(port))
    const [program = '', ...args] = words
    const output = openSync(log, 'w', 0o600)
    // A session of its own, so that Ctrl-C reaches only the starter, which stops everything in order.
    const child = spawn(program, args, { ...identity, stdio: ['pipe', output, output], detached: true })
    closeSync(output)
    // It may end before it reads anything.
    child.stdin?.on('error', () => {})
    child.stdin?.end(input?.(port) ?? '')
    return child
  }

  /** One attempt. Returns the end of the log if the server ended instead of coming up. */
  private async launch(port: number): Promise<string | undefined> {
    const { lifetime, log, onDeath, ready } = this.kind
    const child = this.spawn(port)
    let ended = false
    child.once('exit', () => {
      ended = true
    })
    child.once('error', () => {
      ended = true
    })
    if (child.pid === undefined) {
      const [error] = (await once(child, 'error')) as unknown[] as [Error]
      return error.message
    }
    const startedAt = startOf(child.pid)
    if (startedAt === undefined) return lastLines(log)
    const process = { pid: child.pid, startedAt }
    const up = await seenWithin(async () => ended || (await ready(port)), 120_000, 20)
    if (ended || !up) {
      await end(process, 'SIGQUIT', 2_000)
      return lastLines(log)
    }
    this.server = { process, port }
    this.asked = false
    child.once('exit', () => {
      if (!this.asked) onDeath?.(lastLines(log))
    })
    if (lifetime === 'detached') child.unref()
    return undefined
  }
}
