import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, existsSync, lstatSync, mkdirSync, realpathSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { copyBinaries, hydrate, installedBinaries } from './postgres-binaries.ts'
import type { PostgresBinaries } from './postgres-binaries.ts'
import { readIfThere, writePrivately } from './secrets.ts'

/** A user of the system. */
export type SystemUser = { name: string; uid: number; gid: number }

/** The folder of an embedded Postgres, and the user that it runs as. */
export type PostgresPlace = {
  binaries: PostgresBinaries
  /** The folder that holds the data folder; the user below may write here. */
  home: string
  /** Set when the starter is root, which Postgres refuses to run as. */
  user: SystemUser | undefined
}

function systemUser(name: string): SystemUser | undefined {
  const ask = (flag: string): number => {
    const { stdout } = spawnSync('id', [flag, name], { encoding: 'utf8' })
    return Number(stdout?.trim() || Number.NaN)
  }
  const [uid, gid] = [ask('-u'), ask('-g')]
  return Number.isInteger(uid) && Number.isInteger(gid) && uid > 0 ? { name, uid, gid } : undefined
}

/**
 * The user that Postgres runs as: undefined for the starter itself, when that is not root. Throws an Error when root
 * finds no such user.
 */
export function postgresUser(): SystemUser | undefined {
  if (process.getuid?.() !== 0) return undefined
  const user = systemUser('postgres') ?? systemUser('nobody')
  if (user === undefined) {
    throw new Error('Postgres refuses to run as root, and there is no user postgres or nobody: set DATABASE_URL')
  }
  return user
}

/** Whether the user can enter the folder and run what is in it: tried, since permission bits alone do not show it. */
function reaches(user: SystemUser, test: '-x' | '-w', path: string): boolean {
  const asked = spawnSync('/bin/sh', ['-c', `test ${test} "$0"`, path], { uid: user.uid, gid: user.gid, cwd: '/' })
  return asked.status === 0
}

/**
 * The owner of the data in `home`. Data that an ordinary user's start made stay that user's, even if root starts next.
 */
function ownerOf(home: string, standard: SystemUser): SystemUser {
  if (!existsSync(home)) return standard
  const { uid, gid } = statSync(home)
  return uid === 0 || uid === standard.uid ? standard : { name: `user ${uid}`, uid, gid }
}

function makeHome(folder: string, user: SystemUser): string {
  const home = join(folder, 'postgres')
  mkdirSync(home, { recursive: true })
  chmodSync(home, 0o700)
  chownSync(home, user.uid, user.gid)
  return home
}

/** A folder outside of every private home, which all users can enter. */
function outside(name: string): string {
  for (const parent of ['/var/lib', tmpdir()]) {
    const path = join(parent, name)
    try {
      mkdirSync(path, { recursive: true })
    } catch {
      continue
    }
    // Anybody can write to its parent, so another user may have made it first.
    const found = lstatSync(path)
    if (!found.isDirectory() || found.uid !== process.getuid?.()) throw new Error(`${path} belongs to somebody else`)
    chmodSync(path, 0o755)
    return path
  }
  throw new Error('found no place outside of this private home for Postgres: set DATABASE_URL')
}

/** A name for a data folder: the same at each start, and another for each folder. */
function outsideNameOf(folder: string): string {
  return `tollgate-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`
}

function pointerOf(folder: string): string {
  return join(folder, 'postgres.location')
}

function asRoot(folder: string, standard: SystemUser, say: (line: string) => void): PostgresPlace {
  const kept = readIfThere(pointerOf(folder))?.trim()
  let base = kept !== undefined && existsSync(kept) ? kept : folder
  const user = ownerOf(join(base, 'postgres'), standard)
  if (!reaches(user, '-w', makeHome(base, user))) {
    if (existsSync(join(base, 'postgres', 'data'))) {
      throw new Error(`${user.name}, as whom Postgres runs, cannot enter ${base}, where its data are`)
    }
    base = outside(outsideNameOf(folder))
    writePrivately(pointerOf(folder), `${base}\n`)
  }
  if (base !== folder) {
    say(`root's Postgres runs as ${user.name}, who cannot enter ${folder}: its data are in ${base}`)
  }
  const home = makeHome(base, user)
  const installed = installedBinaries()
  hydrate(installed.root)
  const inPlace = ['bin/postgres', 'lib', 'share'].every((path) => reaches(user, '-x', join(installed.root, path)))
  const binaries = inPlace ? installed : copyBinaries(installed, outside(`tollgate-postgres-${installed.version}`))
  return { binaries, home, user }
}

/**
 * Finds, or makes, the place of the embedded Postgres whose data belong to `folder`. It is `folder` itself. Where the
 * starter is root, and the user that Postgres runs as cannot enter `folder` (a clone in a private home), it is a folder
 * outside, to which a file in `folder` points; `say` then gets one line.
 */
export function placeFor(folder: string, say: (line: string) => void): PostgresPlace {
  mkdirSync(folder, { recursive: true })
  const user = postgresUser()
  if (user !== undefined) {
    // Others can enter the folder but not list it. Its files have modes of their own.
    chmodSync(folder, 0o711)
    return asRoot(realpathSync(folder), user, say)
  }
  const home = join(realpathSync(folder), 'postgres')
  mkdirSync(home, { recursive: true, mode: 0o700 })
  const installed = installedBinaries()
  try {
    hydrate(installed.root)
    return { binaries: installed, home, user }
  } catch {
    // Another user has installed the dependencies, without the links.
    return { binaries: copyBinaries(installed, realpathSync(folder)), home, user }
  }
}

/** Removes a data folder, and the data of its Postgres outside of it. Its services must have been stopped. */
export function removeDataFolder(folder: string): void {
  const pointer = readIfThere(pointerOf(folder))?.trim()
  // Only a folder that `outside` has made: this deletes as root.
  if (pointer !== undefined && /^tollgate-[0-9a-f]{12}$/.test(basename(pointer))) {
    rmSync(pointer, { recursive: true, force: true })
  }
  rmSync(folder, { recursive: true, force: true })
}
