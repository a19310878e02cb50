/** Chats that name several models: which of them was asked first. */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE calls ADD COLUMN requested text;
    COMMENT ON COLUMN calls.requested IS 'Its first model, if another of its list was asked after it; else null.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('ALTER TABLE calls DROP COLUMN requested')
}
