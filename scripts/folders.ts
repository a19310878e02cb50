import { createHash } from 'node:crypto'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of this checkout. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** The folder of everything that test runs leave behind. */
export const testData = join(root, '.test-data')

/** The data of the services that are shared by test runs outside of `npm test`. */
export const sharedTestData = join(testData, 'dev')

/** The paths of all files in a folder and in those below it. */
export const filesIn = (path: string): string[] =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** A hash of files, and of all files in folders, of a checkout: of their contents, and of the version of Node. */
export function fingerprintOf(folder: string, parts: readonly string[]): string {
  const hash = createHash('sha256').update(process.version)
  for (const path of parts.map((part) => join(folder, part))) {
    const files = statSync(path).isDirectory() ? filesIn(path).toSorted() : [path]
    for (const file of files) hash.update(relative(folder, file)).update('\0').update(readFileSync(file)).update('\0')
  }
  return hash.digest('hex')
}
