/**
 * Looks at the rows that were there before 014, beside the service: they kept the same rules under the constraints of
 * then, so this finds nothing, and says so to Postgres.
 */
import type { Knex } from 'knex'
import { ROW_RULES } from './014_row_rules.ts'

export async function up(db: Knex): Promise<void> {
  for (const table of Object.keys(ROW_RULES)) await db.raw(`ALTER TABLE ${table} VALIDATE CONSTRAINT ${table}_rules`)
}

export async function down(db: Knex): Promise<void> {
  for (const table of Object.keys(ROW_RULES)) {
    await db.raw(`
      ALTER TABLE ${table} DROP CONSTRAINT ${table}_rules,
        ADD CONSTRAINT ${table}_rules CHECK (keeps_rules(${table}.*)) NOT VALID`)
  }
}
