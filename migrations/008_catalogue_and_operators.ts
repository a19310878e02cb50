/** The catalogue as append-only versions, the record of what operators do, and banners. */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- Every version of the catalogue. The newest is the current one: rows are added, never changed.
    CREATE TABLE catalogue_versions (
      version integer NOT NULL, -- Counts from 1, without gaps.
      -- The version before it: there is one.
      previous integer GENERATED ALWAYS AS (nullif(version - 1, 0)) STORED,
      content json NOT NULL, -- The catalogue as it was given (docs/upstreams/README.md).
      hash bytea NOT NULL, -- SHA-256 of the content with its keys in order: what is the same content.
      source text NOT NULL, -- file (MODELS_FILE, by migrate), command, page, or rollback to an earlier version.
      operator_id uuid, -- Who, of the console; null for a file and the command line.
      note text, -- Why, in the operator's words.
      applied_at timestamptz NOT NULL DEFAULT now(), -- When.
      CONSTRAINT catalogue_versions_pkey PRIMARY KEY (version),
      CONSTRAINT catalogue_versions_operator_fkey FOREIGN KEY (operator_id) REFERENCES users (id),
      CONSTRAINT catalogue_versions_previous_fkey FOREIGN KEY (previous) REFERENCES catalogue_versions (version),
      CONSTRAINT catalogue_versions_count_from_one CHECK (version >= 1),
      CONSTRAINT catalogue_versions_files_have_none CHECK (source <> 'file' OR operator_id IS NULL),
      CONSTRAINT catalogue_versions_hash_is_sha256 CHECK (octet_length(hash) = 32),
      CONSTRAINT catalogue_versions_note_length CHECK (char_length(note) <= 500),
      CONSTRAINT catalogue_versions_pages_have_operators CHECK (source <> 'page' OR operator_id IS NOT NULL),
      CONSTRAINT catalogue_versions_source_known CHECK (source IN ('file', 'command', 'page', 'rollback'))
    );
    CREATE INDEX catalogue_versions_files ON catalogue_versions (version) WHERE source = 'file';

    -- What operators did, for good: rows are added, never changed.
    CREATE TABLE operator_actions (
      id uuid NOT NULL, -- UUIDv7; act_… in text. Sorts by time.
      operator_id uuid, -- Who; null for the operator's command line.
      action text NOT NULL, -- What.
      account_id uuid, -- To whose account; null where it is about none.
      details jsonb NOT NULL DEFAULT '{}', -- The rest: amounts in credits, notes, ids.
      created_at timestamptz NOT NULL DEFAULT now(), -- When.
      CONSTRAINT operator_actions_pkey PRIMARY KEY (id),
      CONSTRAINT operator_actions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT operator_actions_operator_fkey FOREIGN KEY (operator_id) REFERENCES users (id),
      CONSTRAINT operator_actions_action_known
        CHECK (action IN ('credits_granted', 'account_suspended', 'account_activated', 'account_limited',
          'role_changed', 'account_grouped', 'mail_revived', 'catalogue_applied', 'catalogue_rolled_back',
          'key_limited', 'key_rotated', 'key_revoked', 'account_created', 'account_deleted', 'account_exported',
          'password_reset_sent', 'sessions_revoked', 'payment_refunded', 'payment_resolved', 'code_created',
          'code_disabled', 'debt_forgiven', 'credits_deducted', 'account_viewed', 'mail_discarded',
          'actions_exported', 'banner_set', 'banner_removed', 'webhook_created', 'webhook_changed', 'webhook_rotated',
          'webhook_removed'))
    );
    CREATE INDEX operator_actions_account ON operator_actions (account_id, id DESC) WHERE account_id IS NOT NULL;
    CREATE INDEX operator_actions_action ON operator_actions (action, id DESC);
    CREATE INDEX operator_actions_operator ON operator_actions (operator_id, id DESC);

    -- What stands above every page of the console: one banner at a time.
    CREATE TABLE banners (
      id uuid NOT NULL, -- UUIDv7; banner_… in text. Who has dismissed a banner did so by its id.
      text text NOT NULL, -- What it says.
      level text NOT NULL, -- info, warning or critical.
      shown_from timestamptz NOT NULL, -- From when on it is shown.
      shown_until timestamptz, -- Until when; null: until it is removed.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was set.
      removed_at timestamptz, -- When it was removed, or replaced by another; null while neither.
      CONSTRAINT banners_pkey PRIMARY KEY (id),
      CONSTRAINT banners_end_after_they_begin CHECK (shown_until > shown_from),
      CONSTRAINT banners_level_known CHECK (level IN ('info', 'warning', 'critical')),
      CONSTRAINT banners_text_length CHECK (char_length(text) BETWEEN 1 AND 300)
    );
    CREATE UNIQUE INDEX banners_one ON banners ((removed_at IS NULL)) WHERE removed_at IS NULL;
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE banners, operator_actions, catalogue_versions')
}
