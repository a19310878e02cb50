import { mkdirSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { root } from '../folders.ts'
import { tryLock, unlock } from '../services/lock.ts'
import { end } from '../services/processes.ts'
import type { ProcessMark } from '../services/processes.ts'
import { readIfThere, writePrivately } from '../services/secrets.ts'

/** The variables that every program of one start is given. */
export type Environment = Record<string, string>

/** What a start leaves on disk about itself, for the commands beside it and for the next start. */
export type Running = {
  /** Every process that it has started, in the order of starting. */
  processes: ProcessMark[]
  /** What the programs were given; complete once the services run. */
  environment: Environment
}

/** The folder where `npm start` keeps its data: `.data`, or TOLLGATE_DATA for a second one beside it. */
export function dataFolder(): string {
  const given = process.env['TOLLGATE_DATA'] || '.data'
  return isAbsolute(given) ? given : join(root, given)
}

/** A path of the data folder as people read it: relative to this checkout where it lies inside. */
export function shown(path: string): string {
  const short = relative(root, path)
  return short.startsWith('..') ? path : short
}

function runningFile(folder: string): string {
  return join(folder, 'running.json')
}

function lockFile(folder: string): string {
  return join(folder, 'start.lock')
}

/** What the newest start has left about itself; it may have ended long ago. */
export function runningIn(folder: string): Running | undefined {
  const text = readIfThere(runningFile(folder))
  return text === undefined ? undefined : (JSON.parse(text) as Running)
}

/** Keeps what the next start must know if this one is killed. */
export function keepRunning(folder: string, running: Running): void {
  writePrivately(runningFile(folder), JSON.stringify(running))
}

/**
 * Makes the data folder this process' own until `leave`. Answers the living process that has it already, in which case
 * nothing was done. What a killed start has left running is ended first, the youngest first; a pid that is somebody
 * else's by now is not touched.
 */
export async function enter(folder: string): Promise<ProcessMark | undefined> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const holder = tryLock(lockFile(folder))
  if (holder !== undefined) return holder
  for (const process of runningIn(folder)?.processes.toReversed() ?? []) await end(process, 'SIGTERM', 3_000)
  return undefined
}

/** Gives the data folder back. */
export function leave(folder: string): void {
  unlock(lockFile(folder))
}

/** Whether a start, or a command that needs the database, has the data folder now. */
export function holderOf(folder: string): ProcessMark | undefined {
  const holder = tryLock(lockFile(folder))
  if (holder === undefined) unlock(lockFile(folder))
  return holder
}
