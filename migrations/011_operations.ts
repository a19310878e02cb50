/**
 * Which release applied a function: an older release that is deployed again leaves functions of a newer one alone.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE applied_sql ADD COLUMN release text NOT NULL DEFAULT '0.0.0';
    COMMENT ON COLUMN applied_sql.release IS 'The version of the release that applied it.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('ALTER TABLE applied_sql DROP COLUMN release')
}
