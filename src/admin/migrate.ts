/**
 * The release phase: brings the schema up to date, and applies MODELS_FILE where it has changed since it was applied
 * last. `node dist/src/admin/migrate.js`
 */
import { migrate } from '../../migrations/index.ts'
import type { Migrated } from '../../migrations/index.ts'
import { applyFile } from '../shared/operators/catalogue-changes.ts'
import { BadCatalogue, faultsOf } from '../shared/catalogue/faults.ts'
import { announceFromCommand } from '../shared/catalogue/holder.ts'
import { readCatalogueFile } from '../shared/catalogue/parse.ts'
import { ConfigError, readReleaseConfig } from '../shared/platform/config/config.ts'
import { connectDb } from '../shared/platform/postgres/db.ts'
import type { Db } from '../shared/platform/postgres/db.ts'
import { createLog } from '../shared/platform/process/log.ts'
import type { Log } from '../shared/platform/process/log.ts'
import { refuseStart } from '../shared/platform/process/process.ts'
import { checkPostgres, waitFor } from '../shared/platform/process/start-up.ts'
import { holdWarnings } from '../shared/platform/process/warnings.ts'

function summaryOf({ migrations, functions, newer }: Migrated): string {
  const applied = [...migrations, ...functions.map((name) => `sql/${name}`)]
  const left = newer.length === 0 ? '' : ` A newer release has already migrated (${newer.join(', ')}); that stays.`
  return `${applied.length === 0 ? 'The schema is up to date.' : `Applied: ${applied.join(', ')}.`}${left}`
}

/** The content of the catalogue's file, checked before anything is changed. @throws ConfigError with every fault. */
function readChecked(path: string): unknown {
  try {
    const content = readCatalogueFile(path)
    const faults = faultsOf(content)
    if (faults.length > 0) throw new BadCatalogue(faults)
    return content
  } catch (error) {
    throw error instanceof BadCatalogue ? new ConfigError(`MODELS_FILE ${path}: ${error.message}`) : error
  }
}

async function release(db: Db, log: Log, catalogue: { path: string; content: unknown }): Promise<void> {
  await waitFor(() => checkPostgres(db), log)
  const migrated = await migrate(db, {
    say: (step) => log.warn({ step }, 'waiting for a lock, or for another release phase: trying again'),
  })
  console.log(summaryOf(migrated))
  const version = await applyFile(db, catalogue.content)
  if (version === null) return
  console.log(`${catalogue.path} is version ${version} of the catalogue.`)
  await announceFromCommand(version)
}

const warnings = holdWarnings()
for (const event of ['unhandledRejection', 'uncaughtException'] as const) {
  process.on(event, (defect: unknown) => refuseStart('release', defect))
}
try {
  const config = readReleaseConfig()
  const catalogue = { path: config.MODELS_FILE, content: readChecked(config.MODELS_FILE) }
  const db = connectDb(config, { silenceMs: 0 })
  const log = createLog('info', 'release')
  await release(db, log, catalogue)
  await db.destroy()
  warnings.logTo(log)
} catch (error) {
  refuseStart('release', error)
}
