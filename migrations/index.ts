/**
 * The schema: all migrations in order, and the functions and triggers of `sql/`.
 *
 * The migrations are a static source: knex's own folder scan stores file extensions, and calls a history that began
 * with `.ts` and goes on with `.js` corrupt.
 */
import type { Knex } from 'knex'
import * as appliedSql from './001_applied_sql.ts'
import * as usersAndAccounts from './002_users_and_accounts.ts'
import * as money from './003_money.ts'
import * as calls from './004_calls.ts'
import * as sessionsTokensMail from './005_sessions_tokens_mail.ts'
import * as operators from './006_operators.ts'
import * as prices from './007_prices.ts'
import { applySql, dropSql } from './sql.ts'

type Migration = { up(db: Knex): Promise<void>; down(db: Knex): Promise<void> }

/** Name → migration; the order of this object is the order of history. Never rename, never reorder. */
const MIGRATIONS: Record<string, Migration> = {
  '001_applied_sql': appliedSql,
  '002_users_and_accounts': usersAndAccounts,
  '003_money': money,
  '004_calls': calls,
  '005_sessions_tokens_mail': sessionsTokensMail,
  '006_operators': operators,
  '007_prices': prices,
}

/** The functions of `sql/` are written for the newest schema: every step back begins with taking them out. */
const withTheFunctions = (migration: Migration): Migration => ({
  up: (db) => migration.up(db),
  down: async (db) => {
    await dropSql(db)
    await migration.down(db)
  },
})

/** What the release phase, the tests and knex' command line migrate with. */
export const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: async () => Object.keys(MIGRATIONS),
  getMigrationName: (name) => name,
  getMigration: async (name) => withTheFunctions(MIGRATIONS[name]!),
}

// An arbitrary number, the same in every process that migrates.
const MIGRATION_LOCK = 7_604_113

/**
 * Brings a database up to date, in one transaction: migrations that it has not had, and files of `sql/` that have
 * changed. Two that migrate at once do so one after the other.
 * @returns what was applied, by name.
 */
export async function migrate(db: Knex): Promise<{ migrations: string[]; functions: string[] }> {
  return db.transaction(async (trx) => {
    await trx.raw('SELECT pg_advisory_xact_lock(?)', [MIGRATION_LOCK])
    const [, migrations] = (await trx.migrate.latest({ migrationSource })) as [number, string[]]
    return { migrations, functions: await applySql(trx) }
  })
}
