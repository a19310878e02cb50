import { mkdirSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { root } from '../folders.ts'
import { tryLock, unlock } from '../services/lock.ts'
import { end } from '../services/processes.ts'
import type { ProcessMark } from '../services/processes.ts'
import { readIfThere, writePrivately } from '../services/secrets.ts'

/** The environment that every program of one start gets. */
export type Environment = Record<string, string>

/** What a start writes about itself, for commands that run meanwhile and for the next start. */
export type Running = {
  /** Every process that it has started, oldest first. */
  processes: ProcessMark[]
  /** What the programs got; complete once the services run. */
  environment: Environment
}

/** The folder of the data of `npm start`: `.data`, or TOLLGATE_DATA for a second one next to it. */
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

/** What the newest start has written about itself. It may have ended long ago. */
export function runningIn(folder: string): Running | undefined {
  const text = readIfThere(runningFile(folder))
  return text === undefined ? undefined : (JSON.parse(text) as Running)
}

/** Writes what the next start must know if this one is killed. */
export function keepRunning(folder: string, running: Running): void {
  writePrivately(runningFile(folder), JSON.stringify(running))
}

/**
 * Reserves the data folder for this process until `leave`. If a living process has it already, does nothing and returns
 * that. What a killed start has left running is ended first, the newest first. A pid that belongs to another process by
 * now is not touched.
 */
export async function enter(folder: string): Promise<ProcessMark | undefined> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const holder = tryLock(lockFile(folder))
  if (holder !== undefined) return holder
  for (const process of runningIn(folder)?.processes.toReversed() ?? []) await end(process, 'SIGTERM', 3_000)
  return undefined
}

/** Releases the data folder. */
export function leave(folder: string): void {
  unlock(lockFile(folder))
}
