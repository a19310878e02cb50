import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { root } from '../folders.ts'
import { dyingWithParent, end, markOf, signal } from '../services/processes.ts'
import { seenWithin } from '../harness/until.ts'
import type { ProcessMark } from '../services/processes.ts'

const remembered = 40

/** A compiled program of Tollgate that this process runs and watches. */
export class Program {
  readonly name: string
  readonly process: ProcessMark
  private readonly child: ChildProcess
  private lines: string[] = []
  private print: ((line: string) => void) | undefined
  private readonly closed: Promise<void>
  private asked = false
  private isUp = false

  /**
   * Starts `node <args>`. `onDeath` is called when it ends unexpectedly, with the reason and its last lines, but not
   * when its port was taken, which `up` reports.
   */
  constructor(name: string, args: readonly string[], env: NodeJS.ProcessEnv, onDeath: (reason: string) => void) {
    this.name = name
    // If the starter is killed, this program could not finish anything: its database ends too.
    const [command = '', ...rest] = dyingWithParent('SIGKILL', [process.execPath, ...args])
    // A session of its own, so that Ctrl-C reaches only the starter, which stops everything in order.
    this.child = spawn(command, rest, { cwd: root, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    if (this.child.pid === undefined) throw new Error(`${name} cannot be run: ${args.join(' ')}`)
    this.process = markOf(this.child.pid)
    for (const stream of [this.child.stdout, this.child.stderr]) {
      if (stream) createInterface({ input: stream }).on('line', (line) => this.take(line))
    }
    // The end of its output may come after it has ended.
    this.closed = once(this.child, 'close').then(([code, killedBy]) => {
      if (this.asked || this.foundPortTaken) return
      onDeath(`${name} ended with ${killedBy ?? `exit code ${code}`}. ${this.lastWords}`)
    })
  }

  private take(line: string): void {
    this.lines.push(line)
    if (this.lines.length > remembered) this.lines.shift()
    this.print?.(line)
  }

  /** Passes each line of its output to `print`, beginning with the remembered ones. */
  follow(print: (line: string) => void): void {
    for (const line of this.lines) print(line)
    this.print = print
  }

  /** Whether it has recently written this. */
  hasSaid(words: string): boolean {
    return this.lines.some((line) => line.includes(words))
  }

  /**
   * Waits until `ready` returns true or it has ended. Returns false if it ended because its port was taken.
   * Throws an Error when that takes longer than a minute.
   */
  async up(ready: () => boolean | Promise<boolean>): Promise<boolean> {
    const done = await seenWithin(() => this.ended || ready(), 60_000, 50)
    if (!done) throw new Error(`${this.name} is not ready after a minute. ${this.lastWords}`)
    if (this.ended) await this.closed
    else this.isUp = true
    return !this.foundPortTaken
  }

  private get foundPortTaken(): boolean {
    return !this.isUp && this.ended && this.hasSaid('EADDRINUSE')
  }

  private get lastWords(): string {
    return `Its last lines:\n${this.lines.slice(-15).join('\n')}`
  }

  private get ended(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  /** Kills it with SIGKILL. */
  kill(): void {
    this.asked = true
    signal(this.process, 'SIGKILL')
  }

  /** Asks it to end, and kills it if it has not after `withinMs`. Resolves when its output has been read completely. */
  async stop(withinMs: number): Promise<void> {
    this.asked = true
    if (this.ended) return
    const closed = once(this.child, 'close')
    await end(this.process, 'SIGTERM', withinMs)
    await closed
  }
}
