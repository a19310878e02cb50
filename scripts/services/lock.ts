import { linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { lives, markOf } from './processes.ts'
import { seenWithin } from '../harness/until.ts'
import type { ProcessMark } from './processes.ts'
import { readIfThere } from './secrets.ts'

function holderOf(file: string): ProcessMark | undefined {
  try {
    return JSON.parse(readIfThere(file) ?? '') as ProcessMark
  } catch {
    // It does not exist, or a power failure has damaged it: nobody holds it.
    return undefined
  }
}

/**
 * Gives `draft` the name `file`; false when that name is taken. Unlike a new file, a link is never seen half written.
 */
function claim(draft: string, file: string): boolean {
  try {
    linkSync(draft, file)
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  }
}

/** Removes a dead holder's lock, but never one that another process took over meanwhile. */
function clear(file: string): void {
  const aside = `${file}.${process.pid}.old`
  try {
    renameSync(file, aside)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return
    throw error
  }
  const moved = holderOf(aside)
  if (moved !== undefined && lives(moved)) claim(aside, file)
  rmSync(aside, { force: true })
}

/** Takes the lock. Returns the holder's mark if a living process has it. A dead holder's lock is taken over. */
export function tryLock(file: string): ProcessMark | undefined {
  mkdirSync(dirname(file), { recursive: true })
  const draft = `${file}.${process.pid}.new`
  writeFileSync(draft, JSON.stringify(markOf(process.pid)), { mode: 0o600 })
  try {
    for (;;) {
      if (claim(draft, file)) return undefined
      const holder = holderOf(file)
      if (holder !== undefined && lives(holder)) return holder
      clear(file)
    }
  } finally {
    rmSync(draft, { force: true })
  }
}

/** Releases the lock. */
export function unlock(file: string): void {
  rmSync(file, { force: true })
}

/** Runs `work` under a lock file. Waits up to `withinMs` for the lock, then throws an Error. */
export async function withLock<T>(file: string, work: () => Promise<T>, withinMs = 60_000): Promise<T> {
  if (!(await seenWithin(() => tryLock(file) === undefined, withinMs, 40))) {
    throw new Error(`process ${holderOf(file)?.pid} holds ${file} for too long`)
  }
  try {
    return await work()
  } finally {
    unlock(file)
  }
}
