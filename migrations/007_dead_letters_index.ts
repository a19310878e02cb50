/**
 * The index behind the list of mails that were given up: few among many that were sent, and looked for by operators.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`CREATE INDEX mails_dead ON mails (id) WHERE status = 'dead'`)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP INDEX mails_dead')
}
