import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { build, buildIsStale } from '../../../scripts/build/builder.ts'
import { root } from '../../../scripts/folders.ts'
import { failForDefects } from '../../../scripts/harness/defects.ts'
import { dyingWithParent } from '../../../scripts/services/processes.ts'
import { PATIENCE_MS, seenWithin } from '../../../scripts/harness/until.ts'

export type Kind = 'web' | 'worker' | 'release' | 'admin'

const PROGRAMS: Record<Kind, [string, ...string[]]> = {
  web: ['src/api/main'],
  worker: ['src/workers/main'],
  release: ['src/admin/migrate'],
  admin: ['src/admin/main', 'account', 'list'],
}

/**
 * Writes at the end of a process, to its descriptor 3, when it began and ended, and how long it waited for a processor
 * meanwhile, in ms. A bound on its time without those waits holds beside other work. Only Linux counts them.
 */
const TIMES = `
import { readFileSync, writeSync } from 'node:fs'
process.on('exit', () => {
  let queued = 0
  try { queued = Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6 } catch {}
  writeSync(3, JSON.stringify({ began: performance.timeOrigin, ended: Date.now(), queued }))
})
process.on('SIGUSR2', () => process.exit(0))
`

/** When a process began and ended, in ms since 1970; and for how many ms it waited for a processor. */
type Times = { began: number; ended: number; queued: number }

/** Builds what is stale: a program that compiles itself first says nothing about how fast it starts. */
export async function compiled(): Promise<void> {
  if (buildIsStale()) await build()
}

/** A process of the build, with an environment of its own: nothing of this one's but where programs are. */
export class Started {
  readonly lines: string[] = []
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  private times: Times | undefined

  constructor(kind: Kind, settings: Record<string, string>) {
    const [main, ...words] = PROGRAMS[kind]
    const program = join(root, 'dist', `${main}.js`)
    const watch = ['--import', `data:text/javascript,${encodeURIComponent(TIMES)}`]
    const [command = '', ...args] = dyingWithParent('SIGKILL', [process.execPath, ...watch, program, ...words])
    this.child = spawn(command, args, {
      cwd: root,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings },
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    })
    this.child.stdio[3]!.on('data', (said: Buffer) => {
      this.times = JSON.parse(said.toString()) as Times
    })
    failForDefects(kind, [this.child.stdout, this.child.stderr])
    for (const stream of [this.child.stdout!, this.child.stderr!])
      createInterface({ input: stream }).on('line', (line) => this.lines.push(line))
    this.ended = once(this.child, 'close').then(([code]) => code as number | null)
  }

  /** Waits for a line. @throws an Error with all lines where none comes, at once if the process has ended. */
  async says(words: string): Promise<string> {
    const find = () => this.lines.find((line) => line.includes(words))
    const line = await Promise.race([seenWithin(find, PATIENCE_MS), this.ended.then(find)])
    if (line === undefined) throw new Error(`it did not say "${words}" but ${this.lines.join('\n')}`)
    return line
  }

  /** Ends a process that waits. Returns how long it took to write a line, in ms, as `ownMs`. */
  async ownMsUntil(line: string): Promise<number> {
    this.child.kill('SIGUSR2')
    await this.ended
    return this.ownMs(Date.parse((JSON.parse(line) as { time: string }).time))
  }

  /** How long it ran, without the time in which it waited for a processor, in ms. @param until its end, if absent */
  ownMs(until = this.times?.ended): number {
    if (this.times === undefined || until === undefined) throw new Error(`no times of ${this.lines.join('\n')}`)
    return until - this.times.began - this.times.queued
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }
}

/** How a process ended that was expected to: `ownMs` as in `Started`. One that goes on is killed in the end. */
export async function refusalOf(
  kind: Kind,
  settings: Record<string, string>,
): Promise<{ code: number | null; lines: string[]; ownMs: number }> {
  const started = new Started(kind, settings)
  const timer = setTimeout(() => started.child.kill('SIGKILL'), PATIENCE_MS)
  const code = await started.ended
  clearTimeout(timer)
  return { code, lines: started.lines, ownMs: started.ownMs() }
}

/** How long a process may take until it says or refuses something, and the part of it that loading may take, in ms. */
const PROMISED_MS = 5000
const LOADING_MS = 1000

/**
 * What `ownMs` must be below: the promise, and on a machine that takes longer to load the programs than a usual one, so
 * much more.
 */
export async function longestMs(): Promise<number> {
  const { ownMs } = await refusalOf('web', { DATABASE_URL: '' })
  return PROMISED_MS + Math.max(0, ownMs - LOADING_MS)
}
