import { spawnSync } from 'node:child_process'
import { chownSync, existsSync, readlinkSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { PostgresPlace } from './postgres-place.ts'
import { lives, startOf } from './processes.ts'
import type { ProcessMark } from './processes.ts'
import { readIfThere } from './secrets.ts'
import { runTool } from '../tools.ts'

/** The role that owns the embedded database, and the name of that database. */
export const clusterOwner = 'tollgate'

/** The folder with Postgres's own data. */
export function dataOf(place: PostgresPlace): string {
  return join(place.home, 'data')
}

/** The user and the working folder of the Postgres programs: their user may be unable to enter the starter's folder. */
export function identityOf(place: PostgresPlace): { uid?: number; gid?: number; cwd: string } {
  return { cwd: place.home, ...(place.user && { uid: place.user.uid, gid: place.user.gid }) }
}

/** The path of initdb or postgres. */
export function programOf(place: PostgresPlace, name: 'initdb' | 'postgres'): string {
  return join(place.binaries.root, 'bin', name)
}

/**
 * Makes the data folder if it does not exist: UTF8, locale C, sign-in by password. Throws an Error with initdb's
 * message when that fails, and one that names both versions when the data are of another major version.
 */
export async function initialise(place: PostgresPlace, password: string): Promise<void> {
  const major = readIfThere(join(dataOf(place), 'PG_VERSION'))?.trim()
  if (major !== undefined) {
    if (major === place.binaries.version.split('.')[0]) return
    throw new Error(`${dataOf(place)} holds data of Postgres ${major}, the installed one is ${place.binaries.version}`)
  }
  // A killed initdb leaves a partial folder, so only a complete one gets the name.
  const draft = `${dataOf(place)}.new`
  rmSync(draft, { recursive: true, force: true })
  const passwordFile = join(place.home, 'initdb-password')
  writeFileSync(passwordFile, password, { mode: 0o600 })
  if (place.user !== undefined) chownSync(passwordFile, place.user.uid, place.user.gid)
  try {
    const own = [`--pgdata=${draft}`, `--username=${clusterOwner}`, `--pwfile=${passwordFile}`]
    const args = [...own, '--auth=scram-sha-256', '--encoding=UTF8', '--locale=C', '--no-sync']
    const { ok, output } = await runTool(programOf(place, 'initdb'), args, identityOf(place))
    if (!ok) throw new Error(`initdb failed: ${output}`)
    renameSync(draft, dataOf(place))
  } finally {
    rmSync(passwordFile, { force: true })
  }
}

function belongsTo(pid: number, data: string): boolean {
  try {
    // A postmaster's working folder is its data folder.
    return readlinkSync(`/proc/${pid}/cwd`) === data
  } catch {
    const { stdout } = spawnSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8' })
    return stdout?.includes(data) ?? false
  }
}

/**
 * The Postgres that serves the data folder now, whichever process started it. A pid that another program has reused is
 * not taken for it.
 */
export function serverOf(place: PostgresPlace): { process: ProcessMark; port: number } | undefined {
  const [pid, , , port] = (readIfThere(join(dataOf(place), 'postmaster.pid')) ?? '').split('\n').map(Number)
  if (pid === undefined || port === undefined || !(pid > 0) || !(port > 0)) return undefined
  const startedAt = startOf(pid)
  if (startedAt === undefined || !belongsTo(pid, dataOf(place))) return undefined
  return { process: { pid, startedAt }, port }
}

/**
 * Removes the pid file of a server that was killed. Postgres itself refuses to start while *any* process of the same
 * user has that pid. Two servers on one folder stay impossible: Postgres also checks its shared memory.
 */
export function removeStalePidFile(place: PostgresPlace): void {
  const file = join(dataOf(place), 'postmaster.pid')
  if (existsSync(file) && serverOf(place) === undefined) rmSync(file, { force: true })
}

/** The server's child processes. */
export function childrenOf(server: ProcessMark): ProcessMark[] {
  const { stdout } = spawnSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
  const marks: ProcessMark[] = []
  for (const line of (stdout ?? '').split('\n')) {
    const [pid, parent] = line.trim().split(/\s+/).map(Number)
    if (pid === undefined || parent !== server.pid) continue
    const startedAt = startOf(pid)
    if (startedAt !== undefined) marks.push({ pid, startedAt })
  }
  return marks.filter(lives)
}
