/** Chats that name several models: which of them was asked first. */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE calls ADD COLUMN requested text;
    COMMENT ON COLUMN calls.requested IS 'The first model of its list, where another was asked after it; null: none was.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('ALTER TABLE calls DROP COLUMN requested')
}
