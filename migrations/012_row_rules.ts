/**
 * The rules of the tables that every call writes, as one check for each table. Their text is next to their columns, in
 * the migrations before this one.
 */
import type { Knex } from 'knex'
import { foldChecks, unfoldChecks } from './tables.ts'

const WRITTEN_BY_CALLS = ['accounts', 'grants', 'ledger_entries', 'calls']

export async function up(db: Knex): Promise<void> {
  for (const table of WRITTEN_BY_CALLS) await foldChecks(db, table)
}

export async function down(db: Knex): Promise<void> {
  for (const table of WRITTEN_BY_CALLS) await unfoldChecks(db, table)
}
