/** The processes under measurement, and what they cost. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../folders.ts'
import { failForDefects } from './defects.ts'

export type Process = { name: string; pid: number; child: ChildProcess; port: number }

const TICKS_PER_SECOND = 100
const PAGE_KB = 4

/** Runs a TypeScript program of the bench, which prints its port as its first line. */
export function runProgram(name: string, file: string, ...args: string[]): Promise<Process> {
  return run(name, ['--import', 'tsx', file, ...args], {}, /^(\d+)$/m)
}

/** Runs a compiled process of a checkout; `ready` finds its port in the log, where it has one. */
export function runCompiled(
  name: string,
  tree: string,
  file: string,
  environment: Record<string, string>,
  ready: RegExp,
): Promise<Process> {
  return run(name, [join(tree, 'dist/src', file)], environment, ready)
}

/** Runs any program, and waits until its output has `ready`. */
export function run(
  name: string,
  args: string[],
  environment: Record<string, string>,
  ready: RegExp,
  program = process.execPath,
): Promise<Process> {
  const child = spawn(program, args, {
    cwd: root,
    env: { ...process.env, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  failForDefects(name, [child.stdout, child.stderr])
  return new Promise((resolve, reject) => {
    let seen = ''
    const look = (text: Buffer) => {
      seen += text.toString()
      const found = ready.exec(seen)
      if (!found) return
      // What it logs from here on is read and dropped: parsing it would take CPU from the measured processes.
      for (const stream of [child.stdout!, child.stderr!]) stream.off('data', look).resume()
      resolve({ name, pid: child.pid!, child, port: Number(found[1] ?? 0) })
    }
    child.stdout!.on('data', look)
    child.stderr!.on('data', look)
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code}: ${seen.slice(-2000)}`)))
  })
}

/** CPU time of a process and its children so far, in µs, including children that have ended: it never decreases. */
export function cpuMicros(pid: number): number {
  return [pid, ...childrenOf(pid)].reduce((sum, one) => sum + microsOf(one), 0)
}

/** The fields of a process behind its name (proc(5)). @throws where it has ended */
const statOf = (pid: number | string): string[] =>
  readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /, '')
    .split(' ')

function microsOf(pid: number): number {
  try {
    // User and kernel mode, and the same of children that have ended (proc(5)).
    const ticks = statOf(pid).slice(11, 15)
    return ticks.reduce((sum, one) => sum + Number(one), 0) * (1_000_000 / TICKS_PER_SECOND)
  } catch {
    return 0
  }
}

/** Resident memory of a process and its children, in MB. */
export function residentMb(pid: number): number {
  const kb = [pid, ...childrenOf(pid)].reduce((sum, one) => {
    try {
      return sum + Number(readFileSync(`/proc/${one}/statm`, 'utf8').split(' ')[1]) * PAGE_KB
    } catch {
      return sum
    }
  }, 0)
  return Math.round(kb / 1024)
}

/** Kills a process and its children: npx would leave the program behind that it runs. */
export function killTree(pid: number): void {
  for (const one of [pid, ...childrenOf(pid)]) {
    try {
      process.kill(one, 'SIGKILL')
    } catch {
      // It has already ended.
    }
  }
}

function childrenOf(pid: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        return Number(statOf(name)[1]) === pid ? [Number(name), ...childrenOf(Number(name))] : []
      } catch {
        return []
      }
    })
}
