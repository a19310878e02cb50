/**
 * Forced rotations: an operator ends the secret of a key, which only its owner replaces. And the mail that tells them.
 */
import type { Knex } from 'knex'
import { addKnown, removeKnown } from './known.ts'

const MAILS = ['key_rotated']

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE api_keys ADD COLUMN secret_ended_at timestamptz;
    COMMENT ON COLUMN api_keys.secret_ended_at
      IS 'When an operator ended its secret: nobody has one until its owner rotates the key; null: its secret is good.';
  `)
  await addKnown(db, 'mails', 'mails_kind_known', MAILS)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`DELETE FROM mails WHERE kind = 'key_rotated'; ALTER TABLE api_keys DROP COLUMN secret_ended_at`)
  await removeKnown(db, 'mails', 'mails_kind_known', MAILS)
}
