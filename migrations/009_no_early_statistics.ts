/**
 * No statistics of tables that are almost empty. Every connection keeps its plans (008) until the statistics of a table change, which
 * autovacuum does once a minute at most. A plan made for some twenty rows reads all of an index instead of looking ids up, and so costs more
 * with every call of that minute: 2.4 ms for a batch of eight after 8,000 calls, where it should be 0.9. A table without statistics
 * counts as one of ten pages at the least, and there ids are looked up.
 */
import type { Knex } from 'knex'

const TABLES = ['calls', 'call_results', 'ledger_entries']

/** Changes before the first visit of autovacuum: some 1,700 calls, each inserted, begun and ended. Beyond them it comes by share, as everywhere. */
const CHANGES = 5000

const SETTINGS = ['autovacuum_analyze_threshold', 'autovacuum_vacuum_threshold', 'autovacuum_vacuum_insert_threshold']

export async function up(db: Knex): Promise<void> {
  for (const table of TABLES) await db.raw(`ALTER TABLE ${table} SET (${SETTINGS.map((name) => `${name} = ${CHANGES}`).join(', ')})`)
}

export async function down(db: Knex): Promise<void> {
  for (const table of TABLES) await db.raw(`ALTER TABLE ${table} RESET (${SETTINGS.join(', ')})`)
}
