/** The release phase: brings the schema up to date. `node dist/src/admin/migrate.js` */
import { migrate } from '../../migrations/index.ts'
import type { Migrated } from '../../migrations/index.ts'
import { readDatabaseConfig } from '../shared/config.ts'
import { connectDb } from '../shared/infra/db.ts'
import { createLog } from '../shared/infra/log.ts'
import { refuseStart } from '../shared/infra/process.ts'
import { lookAtPostgres, whenThere } from '../shared/infra/start-up.ts'

function told({ migrations, functions, newer }: Migrated): string {
  const applied = [...migrations, ...functions.map((name) => `sql/${name}`)]
  const left = newer.length === 0 ? '' : ` A newer release has migrated already (${newer.join(', ')}); that is left.`
  return `${applied.length === 0 ? 'The schema is up to date.' : `Applied: ${applied.join(', ')}.`}${left}`
}

try {
  const db = connectDb(readDatabaseConfig())
  const log = createLog('info', 'release')
  await whenThere(() => lookAtPostgres(db), log)
  const migrated = await migrate(db, {
    say: (step) => log.warn({ step }, 'a lock is not to be had, or another release phase runs: trying again'),
  })
  console.log(told(migrated))
  await db.destroy()
} catch (error) {
  refuseStart('release', error)
}
