/** The release phase: brings the schema up to date. `node dist/src/admin/migrate.js` */
import { migrate } from '../../migrations/index.ts'
import { ConfigError, EXIT_CONFIG, readDatabaseConfig } from '../shared/config.ts'
import { connectDb } from '../shared/infra/db.ts'

try {
  const db = connectDb(readDatabaseConfig())
  const { migrations, functions } = await migrate(db)
  const applied = [...migrations, ...functions.map((name) => `sql/${name}`)]
  console.log(applied.length === 0 ? 'The schema is up to date.' : `Applied: ${applied.join(', ')}.`)
  await db.destroy()
} catch (error) {
  console.error((error as Error).message)
  process.exit(error instanceof ConfigError ? EXIT_CONFIG : 1)
}
