/**
 * The schema: all migrations in order, and the functions and triggers of `sql/`.
 *
 * The migrations are a static source: knex's own folder scan stores file extensions, and calls a history that began
 * with `.ts` and goes on with `.js` corrupt.
 */
import type { Knex } from 'knex'
import { RELEASE } from '../src/shared/platform/process/release.ts'
import * as service from './001_service.ts'
import * as accountsAndUsers from './002_accounts_and_users.ts'
import * as mail from './003_mail.ts'
import * as keys from './004_keys.ts'
import * as payments from './005_payments.ts'
import * as ledger from './006_ledger.ts'
import * as calls from './007_calls.ts'
import * as catalogueAndOperators from './008_catalogue_and_operators.ts'
import * as webhooks from './009_webhooks.ts'
import * as operatorsWebhooks from './010_operators_webhooks.ts'
import * as uploads from './011_uploads.ts'
import * as organisations from './012_organisations.ts'
import * as rowRules from './013_row_rules.ts'
import * as leftCalls from './014_left_calls.ts'
import * as upstreamKeys from './015_upstream_keys.ts'
import * as receipts from './016_receipts.ts'
import * as webhookTries from './017_webhook_tries.ts'
import * as secondFactors from './018_second_factors.ts'
import * as passkeys from './019_passkeys.ts'
import * as listedModels from './020_listed_models.ts'
import * as languages from './021_languages.ts'
import * as identities from './022_identities.ts'
import * as usageHours from './023_usage_hours.ts'
import * as imports from './024_imports.ts'
import { MigrationLock } from './lock.ts'
import { applySql, dropSql, staleSql } from './sql.ts'

/**
 * A step of history. `concurrently` are statements that make the indexes of tables that may be large, by the index's
 * name: they run before `up`, outside of transactions, and keep no call waiting.
 */
export type Migration = {
  up(db: Knex): Promise<void>
  down(db: Knex): Promise<void>
  concurrently?: Record<string, string>
}

/** Name → migration; the order of this object is the order of history. Once released: never rename, never reorder. */
const MIGRATIONS: Record<string, Migration> = {
  '001_service': service,
  '002_accounts_and_users': accountsAndUsers,
  '003_mail': mail,
  '004_keys': keys,
  '005_payments': payments,
  '006_ledger': ledger,
  '007_calls': calls,
  '008_catalogue_and_operators': catalogueAndOperators,
  '009_webhooks': webhooks,
  '010_operators_webhooks': operatorsWebhooks,
  '011_uploads': uploads,
  '012_organisations': organisations,
  '013_row_rules': rowRules,
  '014_left_calls': leftCalls,
  '015_upstream_keys': upstreamKeys,
  '016_receipts': receipts,
  '017_webhook_tries': webhookTries,
  '018_second_factors': secondFactors,
  '019_passkeys': passkeys,
  '020_listed_models': listedModels,
  '021_languages': languages,
  '022_identities': identities,
  '023_usage_hours': usageHours,
  '024_imports': imports,
}

/** The functions of `sql/` are written for the newest schema: every step back begins with taking them out. */
const withTheFunctions = (migration: Migration): Migration => ({
  up: (db) => migration.up(db),
  down: async (db) => {
    await dropSql(db)
    await migration.down(db)
  },
})

const sourceOf = (migrations: Record<string, Migration>): Knex.MigrationSource<string> => ({
  getMigrations: async () => Object.keys(migrations),
  getMigrationName: (name) => name,
  getMigration: async (name) => withTheFunctions(migrations[name]!),
})

/** What the release phase, the tests and knex' command line migrate with. */
export const migrationSource = sourceOf(MIGRATIONS)

/** What `migrate` did. `newer`: migrations of a later release that this one does not know, and does not change. */
export type Migrated = { migrations: string[]; functions: string[]; newer: string[] }

/**
 * Brings a database up to date: the migrations that it has not had, each in a transaction of its own, then the files of
 * `sql/` that have changed. Two that migrate at once take turns. A table's lock is waited for so briefly that calls do
 * not notice, and asked for again. Where a later release has migrated, its functions stay as they are.
 * @param settings `migrations` are for tests; `say` gets a line for every wait.
 * @throws if a lock was not available for minutes: what was applied until then stays. And if the database has another
 * history than this one: then nothing is changed.
 */
export async function migrate(
  db: Knex,
  settings: { migrations?: Record<string, Migration>; say?: (waitsFor: string) => void } = {},
): Promise<Migrated> {
  const { migrations = MIGRATIONS, say = () => {} } = settings
  const lock = new MigrationLock(db, say)
  const applied: string[] = []
  await refuseOtherHistory(db)
  for (;;) {
    const { missing, newer } = await compare(db, migrations)
    const [next] = missing
    if (next === undefined) {
      const functions = newer.length > 0 ? [] : await lock.turn('functions', applySql)
      return { migrations: applied, functions, newer }
    }
    for (const [index, statement] of Object.entries(migrations[next]!.concurrently ?? {})) {
      await lock.build(index, statement)
    }
    // A faster process has applied it.
    const [, done] = await lock.turn(next, (trx) => step(trx, migrations))
    applied.push(...done)
  }
}

/** Nothing was released before 0.2.0: its builds had other migrations, and nothing leads from those to these. */
async function refuseOtherHistory(db: Knex): Promise<void> {
  const there = await completed(db)
  if (there.length === 0 || there.includes(Object.keys(MIGRATIONS)[0]!)) return
  throw new Error(
    'this database was migrated by a build from before 0.2.0, and its schema cannot be converted: ' +
      'point DATABASE_URL to a new, empty database',
  )
}

const step = async (trx: Knex.Transaction, migrations: Record<string, Migration>) =>
  (await trx.migrate.up({
    migrationSource: sourceOf(migrations),
    disableMigrationsListValidation: true,
  })) as [number, string[]]

/** What this release has and the database has not, and what the database has and this release does not know. */
async function compare(
  db: Knex,
  migrations: Record<string, Migration>,
): Promise<{ missing: string[]; newer: string[] }> {
  const there = await completed(db)
  return {
    missing: Object.keys(migrations).filter((name) => !there.includes(name)),
    newer: there.filter((name) => !Object.hasOwn(migrations, name)),
  }
}

async function completed(db: Knex): Promise<string[]> {
  const { rows } = await db.raw<{ rows: { there: boolean }[] }>(
    `SELECT to_regclass('knex_migrations') IS NOT NULL AS there`,
  )
  if (!rows[0]!.there) return []
  return (await db('knex_migrations').select<{ name: string }[]>('name').orderBy('id')).map(({ name }) => name)
}

/**
 * What of this release's schema a database does not have yet, by name: none where a process of this release can run
 * on it. Two builds of one release take each other's functions.
 */
export async function missingSchema(db: Knex): Promise<string[]> {
  const { missing, newer } = await compare(db, MIGRATIONS)
  if (missing.length > 0 || newer.length > 0) return missing
  return (await staleSql(db)).filter(({ appliedBy }) => appliedBy !== RELEASE).map(({ name }) => `sql/${name}`)
}
