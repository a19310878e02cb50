import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of this checkout. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** The folder of everything that test runs leave behind. */
export const testData = join(root, '.test-data')

/** The data of the services that are shared by test runs outside of `npm test`. */
export const sharedTestData = join(testData, 'dev')
