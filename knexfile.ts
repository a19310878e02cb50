/**
 * Knex settings for its command line, which leads back (`knex migrate:down`). Forward is `npm run migrate`: it applies `sql/` too.
 */
import { migrationSource } from './migrations/index.ts'

export default {
  client: 'pg',
  connection: process.env.DATABASE_URL,
  migrations: { migrationSource },
}
