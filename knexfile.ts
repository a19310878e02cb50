/** Knex settings for its command line; the release phase runs `src/admin/migrate.ts`, which uses the same source. */
import { migrationSource } from './migrations/index.ts'

export default {
  client: 'pg',
  connection: process.env.DATABASE_URL,
  migrations: { migrationSource },
}
