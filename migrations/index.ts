/**
 * All migrations in order, as a static source: knex's own folder scan stores file extensions, and calls a history that
 * began with `.ts` and goes on with `.js` corrupt (design section 7).
 */
import type { Knex } from 'knex'
import * as accountsAndMoney from './001_accounts_and_money.ts'
import * as calls from './002_calls.ts'
import * as openAndEndCalls from './003_open_and_end_calls.ts'
import * as sessionsTokensMail from './004_sessions_tokens_mail.ts'
import * as consoleIndexes from './005_console_indexes.ts'
import * as rolesAndAudit from './006_roles_and_audit.ts'
import * as deadLettersIndex from './007_dead_letters_index.ts'
import * as keptPlans from './008_kept_plans.ts'
import * as noEarlyStatistics from './009_no_early_statistics.ts'
import * as validKeysIndex from './010_valid_keys_index.ts'

type Migration = { up(db: Knex): Promise<void>; down(db: Knex): Promise<void> }

/** Name → migration; the order of this object is the order of history. Never rename, never reorder. */
const MIGRATIONS: Record<string, Migration> = {
  '001_accounts_and_money': accountsAndMoney,
  '002_calls': calls,
  '003_open_and_end_calls': openAndEndCalls,
  '004_sessions_tokens_mail': sessionsTokensMail,
  '005_console_indexes': consoleIndexes,
  '006_roles_and_audit': rolesAndAudit,
  '007_dead_letters_index': deadLettersIndex,
  '008_kept_plans': keptPlans,
  '009_no_early_statistics': noEarlyStatistics,
  '010_valid_keys_index': validKeysIndex,
}

/** What `knexfile.ts`, the release phase and the tests migrate with. */
export const migrationSource: Knex.MigrationSource<string> = {
  getMigrations: async () => Object.keys(MIGRATIONS),
  getMigrationName: (name) => name,
  getMigration: async (name) => MIGRATIONS[name]!,
}
