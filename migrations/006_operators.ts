/**
 * The record of what operators do. An operator's action is written in the transaction of what it changes: nothing
 * is changed that is not recorded, and nothing recorded that did not happen. Beside it, what they want to see and
 * nothing else remembers.
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
    CREATE INDEX operator_actions_operator ON operator_actions (operator_id, id DESC);
    CREATE INDEX operator_actions_action ON operator_actions (action, id DESC);
    COMMENT ON TABLE operator_actions IS 'What operators did, for good: rows are added, never changed.';
    COMMENT ON COLUMN operator_actions.id IS 'UUIDv7; act_… in text. Sorts by time.';
    COMMENT ON COLUMN operator_actions.operator_id IS 'Who; null for the operator''s command line.';
    COMMENT ON COLUMN operator_actions.action IS 'What.';
    COMMENT ON COLUMN operator_actions.account_id IS 'To whose account; null where it is about none.';
    COMMENT ON COLUMN operator_actions.details IS 'The rest: amounts in credits, notes, ids.';
    COMMENT ON COLUMN operator_actions.created_at IS 'When.';

    CREATE TABLE banners (
      id uuid NOT NULL,
      text text NOT NULL,
      level text NOT NULL,
      shown_from timestamptz NOT NULL,
      shown_until timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      removed_at timestamptz,
      CONSTRAINT banners_pkey PRIMARY KEY (id),
      CONSTRAINT banners_text_length CHECK (char_length(text) BETWEEN 1 AND 300),
      CONSTRAINT banners_level_known CHECK (level IN ('info', 'warning', 'critical')),
      CONSTRAINT banners_end_after_they_begin CHECK (shown_until > shown_from)
    );
    CREATE UNIQUE INDEX banners_one ON banners ((removed_at IS NULL)) WHERE removed_at IS NULL;
    COMMENT ON TABLE banners IS 'What stands above every page of the console: one banner at a time.';
    COMMENT ON COLUMN banners.id IS 'UUIDv7; banner_… in text. Who has dismissed a banner did so by its id.';
    COMMENT ON COLUMN banners.text IS 'What it says.';
    COMMENT ON COLUMN banners.level IS 'info, warning or critical.';
    COMMENT ON COLUMN banners.shown_from IS 'From when on it is shown.';
    COMMENT ON COLUMN banners.shown_until IS 'Until when; null: until it is removed.';
    COMMENT ON COLUMN banners.created_at IS 'When it was set.';
    COMMENT ON COLUMN banners.removed_at IS 'When it was removed, or replaced by another; null while neither.';

    CREATE TABLE circuit_openings (
      minute timestamptz NOT NULL,
      upstream text NOT NULL,
      openings integer NOT NULL,
      CONSTRAINT circuit_openings_pkey PRIMARY KEY (minute, upstream),
      CONSTRAINT circuit_openings_positive CHECK (openings > 0)
    );
    COMMENT ON TABLE circuit_openings IS 'When circuits of upstreams opened; kept for a week.';
    COMMENT ON COLUMN circuit_openings.minute IS 'In which minute.';
    COMMENT ON COLUMN circuit_openings.upstream IS 'Of which upstream, by its name in the catalogue.';
    COMMENT ON COLUMN circuit_openings.openings IS 'How often, all workers together.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE circuit_openings; DROP TABLE banners; DROP TABLE operator_actions')
}
