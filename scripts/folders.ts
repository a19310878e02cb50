import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of this checkout. */
export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')

/** Where everything lies that test runs leave behind. */
export const testData = join(root, '.test-data')

/** The data of the services that test runs outside of `npm test` share. */
export const sharedTestData = join(testData, 'dev')
