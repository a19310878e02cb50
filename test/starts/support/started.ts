import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { buildIsStale } from '../../../scripts/builder.ts'
import { root } from '../../../scripts/folders.ts'
import { dyingWithParent } from '../../../scripts/services/processes.ts'
import { PATIENCE_MS, until } from '../../../scripts/until.ts'

export type Kind = 'web' | 'worker' | 'release'

const PROGRAMS: Record<Kind, string> = { web: 'src/api/main', worker: 'src/workers/main', release: 'src/admin/migrate' }

let compiled: boolean | undefined

/** A process with an environment of its own: nothing of this one's but where programs are. */
export class Started {
  readonly lines: string[] = []
  readonly child: ChildProcess
  readonly ended: Promise<number | null>

  constructor(kind: Kind, settings: Record<string, string>) {
    compiled ??= !buildIsStale()
    const program = compiled
      ? [join(root, 'dist', `${PROGRAMS[kind]}.js`)]
      : ['--import', 'tsx', join(root, `${PROGRAMS[kind]}.ts`)]
    const [command = '', ...args] = dyingWithParent('SIGKILL', [process.execPath, ...program])
    this.child = spawn(command, args, {
      cwd: root,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...settings },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    for (const stream of [this.child.stdout!, this.child.stderr!])
      createInterface({ input: stream }).on('line', (line) => this.lines.push(line))
    this.ended = once(this.child, 'close').then(([code]) => code as number | null)
  }

  /** Waits for a line. @throws an Error with all lines where none comes. */
  async says(words: string): Promise<string> {
    return until(`it to say "${words}", not ${this.lines.join('\n')}`, () =>
      this.lines.find((line) => line.includes(words)),
    )
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended
  }
}

/** How a process ended that was expected to. One that goes on is killed in the end. */
export async function refusalOf(
  kind: Kind,
  settings: Record<string, string>,
): Promise<{ code: number | null; lines: string[] }> {
  const started = new Started(kind, settings)
  const timer = setTimeout(() => started.child.kill('SIGKILL'), PATIENCE_MS)
  const code = await started.ended
  clearTimeout(timer)
  return { code, lines: started.lines }
}
