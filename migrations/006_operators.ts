/**
 * The record of what operators do. An operator's action is written in the transaction of what it changes: nothing
 * is changed that is not recorded, and nothing recorded that did not happen.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE operator_actions (
      id uuid NOT NULL,
      operator_id uuid,
      action text NOT NULL,
      account_id uuid,
      details jsonb NOT NULL DEFAULT '{}',
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT operator_actions_pkey PRIMARY KEY (id),
      CONSTRAINT operator_actions_operator_fkey FOREIGN KEY (operator_id) REFERENCES users (id),
      CONSTRAINT operator_actions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT operator_actions_action_known CHECK (action IN
        ('credits_granted', 'account_suspended', 'account_activated', 'role_changed', 'mail_revived'))
    );
    CREATE INDEX operator_actions_account ON operator_actions (account_id, id DESC) WHERE account_id IS NOT NULL;
    COMMENT ON TABLE operator_actions IS 'What operators did, for good: rows are added, never changed.';
    COMMENT ON COLUMN operator_actions.id IS 'UUIDv7; act_… in text. Sorts by time.';
    COMMENT ON COLUMN operator_actions.operator_id IS 'Who; null for the operator''s command line.';
    COMMENT ON COLUMN operator_actions.action IS 'What.';
    COMMENT ON COLUMN operator_actions.account_id IS 'To whose account; null where it is about none.';
    COMMENT ON COLUMN operator_actions.details IS 'The rest: amounts in credits, notes, ids.';
    COMMENT ON COLUMN operator_actions.created_at IS 'When.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE operator_actions')
}
