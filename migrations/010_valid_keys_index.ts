/**
 * The index behind the count of an account's valid keys: at most a hundred among any number of revoked ones.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw('CREATE INDEX api_keys_valid ON api_keys (user_id, id) WHERE revoked_at IS NULL')
}

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP INDEX api_keys_valid')
}
