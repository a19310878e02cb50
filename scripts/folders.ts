import { readdirSync } from 'node:fs'
import { join } from 'node:path'
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
