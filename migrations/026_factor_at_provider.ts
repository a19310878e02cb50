/** A session notes that the provider at which it was opened has asked its user for a second factor. */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE sessions ADD COLUMN factor_at_provider boolean NOT NULL DEFAULT false;
    COMMENT ON COLUMN sessions.factor_at_provider IS
      'Whether it was opened by a provider that has asked for a second factor.'`)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('ALTER TABLE sessions DROP COLUMN factor_at_provider')
}
