/**
 * `npm run schema`: writes `migrations/schema.sql`, the schema that the migrations and `sql/` make. Run it after
 * changing them, and review the difference. Uses the services of the tests.
 */
import '../require-node.ts'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import knex from 'knex'
import { migrate } from '../../migrations/index.ts'
import { root, sharedTestData } from '../folders.ts'
import { dumpSchema } from './dump.ts'
import { sharedTestServices } from '../services/test-services.ts'

const DATABASE = 'schema_dump'

const { databaseUrl } = await sharedTestServices(sharedTestData, () => undefined)
const maintenance = knex({ client: 'pg', connection: databaseUrl, pool: { min: 0, max: 1 } })
const url = new URL(databaseUrl)
url.pathname = `/${DATABASE}`
try {
  await maintenance.raw(`DROP DATABASE IF EXISTS ${DATABASE} WITH (FORCE)`)
  await maintenance.raw(`CREATE DATABASE ${DATABASE}`)
  const db = knex({ client: 'pg', connection: url.href, pool: { min: 0, max: 1 } })
  try {
    await migrate(db)
    writeFileSync(join(root, 'migrations', 'schema.sql'), await dumpSchema(db))
  } finally {
    await db.destroy()
    await maintenance.raw(`DROP DATABASE ${DATABASE}`)
  }
} finally {
  await maintenance.destroy()
}
