import { spawnSync } from 'node:child_process'
import { accessSync, constants, readFileSync, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { seenWithin } from '../harness/until.ts'

/** A process that can be recognised later, when its pid may belong to another. */
export type ProcessMark = {
  pid: number
  /** When the process began, as the system reports it; equal only for the same process. */
  startedAt: string
}

function linuxStart(pid: number): string | undefined {
  let stat: string
  try {
    stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return undefined
  }
  // The second field is the program's name in parentheses, which may itself contain spaces and parentheses.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const [state] = fields
  if (state === 'Z' || state === 'X') return undefined
  // Ticks since boot: without the boot's id, a process of the next boot could have the same pid and ticks.
  return `${readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()}:${fields[19]}`
}

function otherStart(pid: number): string | undefined {
  const { stdout } = spawnSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
  const line = stdout?.trim() ?? ''
  if (line === '' || line.startsWith('Z')) return undefined
  return line.slice(line.indexOf(' ')).trim()
}

/** When the process `pid` began, as an opaque text, or undefined when no such process lives (a zombie does not). */
export function startOf(pid: number): string | undefined {
  return process.platform === 'linux' ? linuxStart(pid) : otherStart(pid)
}

/** The mark of a living process; throws an Error when it has ended already. */
export function markOf(pid: number): ProcessMark {
  const startedAt = startOf(pid)
  if (startedAt === undefined) throw new Error(`process ${pid} has ended`)
  return { pid, startedAt }
}

/** Whether that process still lives. Another process with its pid does not count. */
export function lives(mark: ProcessMark): boolean {
  return startOf(mark.pid) === mark.startedAt
}

/** Sends a signal to that process. Does nothing when it has ended. */
export function signal(mark: ProcessMark, name: NodeJS.Signals): void {
  if (!lives(mark)) return
  try {
    process.kill(mark.pid, name)
  } catch (error) {
    // It may end between the check and the signal.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Ends that process: by `name` first, by SIGKILL if it still lives after `withinMs`. Resolves when it is gone. */
export async function end(mark: ProcessMark, name: NodeJS.Signals, withinMs: number): Promise<void> {
  signal(mark, name)
  if (await seenWithin(() => !lives(mark), withinMs)) return
  signal(mark, 'SIGKILL')
  await seenWithin(() => !lives(mark), 10_000)
}

/** The path of a program, found in `path` as a shell does, or undefined. */
export function findProgram(name: string, path = process.env['PATH'] ?? ''): string | undefined {
  for (const folder of path.split(delimiter)) {
    if (folder === '') continue
    const candidate = join(folder, name)
    try {
      accessSync(candidate, constants.X_OK)
      if (statSync(candidate).isFile()) return candidate
    } catch {
      // not here
    }
  }
  return undefined
}

/** Chromium, by the names that systems give it. The first has no windows, which take a fifth of the CPU time. */
const BROWSERS = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome']

/** The path of a Chromium, or undefined. */
export const browserProgram = (): string | undefined => BROWSERS.map((name) => findProgram(name)).find(Boolean)

let setpriv: string | null | undefined

/**
 * `command`, preceded by the command that makes a child die with its parent where the system has one (Linux's
 * parent-death signal, through setpriv of util-linux). The pid is that of the program.
 */
export function dyingWithParent(name: NodeJS.Signals, command: readonly string[]): string[] {
  if (setpriv === undefined) {
    const found = process.platform === 'linux' ? findProgram('setpriv') : undefined
    const works = found !== undefined && spawnSync(found, ['--pdeathsig', 'TERM', 'true']).status === 0
    setpriv = works ? found : null
  }
  return setpriv === null ? [...command] : [setpriv, '--pdeathsig', name.replace('SIG', ''), ...command]
}
