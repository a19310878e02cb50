/**
 * What operators need: which release applied a function, so that an older one that is deployed again leaves functions
 * of a newer one alone; and accounts that were deleted.
 */
import type { Knex } from 'knex'

const ACTIONS = ['account_created', 'account_deleted', 'account_exported', 'password_reset_sent', 'sessions_revoked']

const ADDED = ACTIONS.map((action) => `, '${action}'::text`).join('')

/** Edits the list of known actions, whatever earlier migrations have made of it. */
async function editActions(db: Knex, edit: (definition: string) => string): Promise<void> {
  const { rows } = await db.raw<{ rows: { definition: string }[] }>(`
    SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint
    WHERE conname = 'operator_actions_action_known' AND conrelid = 'operator_actions'::regclass`)
  await db.raw(`
    ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_known;
    ALTER TABLE operator_actions ADD CONSTRAINT operator_actions_action_known ${edit(rows[0]!.definition)};
  `)
}

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE applied_sql ADD COLUMN release text NOT NULL DEFAULT '0.0.0';
    COMMENT ON COLUMN applied_sql.release IS 'The version of the release that applied it.';

    ALTER TABLE accounts
      ADD COLUMN deleted_at timestamptz,
      ADD COLUMN emptied_at timestamptz,
      ADD CONSTRAINT accounts_deleted_are_suspended CHECK (deleted_at IS NULL OR status = 'suspended'),
      ADD CONSTRAINT accounts_emptied_were_deleted CHECK (emptied_at IS NULL OR deleted_at IS NOT NULL);
    COMMENT ON COLUMN accounts.deleted_at
      IS 'When it was deleted: nobody can tell whose it was; its ledger and calls stay.';
    COMMENT ON COLUMN accounts.emptied_at IS 'When the last of its media results had been removed after that.';
    CREATE INDEX accounts_to_empty ON accounts (deleted_at) WHERE deleted_at IS NOT NULL AND emptied_at IS NULL;
  `)
  await editActions(db, (definition) => definition.replace(']', `${ADDED}]`))
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DELETE FROM operator_actions WHERE action IN (${ACTIONS.map((action) => `'${action}'`).join(', ')});
    ALTER TABLE accounts DROP COLUMN emptied_at, DROP COLUMN deleted_at;
    ALTER TABLE applied_sql DROP COLUMN release;
  `)
  await editActions(db, (definition) => definition.replace(ADDED, ''))
}
