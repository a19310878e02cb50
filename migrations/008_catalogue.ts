/**
 * The catalogue as append-only versions: what is offered, at which prices, and who changed it when.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE catalogue_versions (
      version integer NOT NULL,
      previous integer GENERATED ALWAYS AS (nullif(version - 1, 0)) STORED,
      content json NOT NULL,
      hash bytea NOT NULL,
      source text NOT NULL,
      operator_id uuid,
      note text,
      applied_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT catalogue_versions_pkey PRIMARY KEY (version),
      CONSTRAINT catalogue_versions_previous_fkey FOREIGN KEY (previous) REFERENCES catalogue_versions (version),
      CONSTRAINT catalogue_versions_operator_fkey FOREIGN KEY (operator_id) REFERENCES users (id),
      CONSTRAINT catalogue_versions_count_from_one CHECK (version >= 1),
      CONSTRAINT catalogue_versions_hash_is_sha256 CHECK (octet_length(hash) = 32),
      CONSTRAINT catalogue_versions_source_known CHECK (source IN ('file', 'command', 'page', 'rollback')),
      CONSTRAINT catalogue_versions_pages_have_operators
        CHECK (source <> 'page' OR operator_id IS NOT NULL),
      CONSTRAINT catalogue_versions_files_have_none CHECK (source <> 'file' OR operator_id IS NULL),
      CONSTRAINT catalogue_versions_note_length CHECK (char_length(note) <= 500)
    );
    CREATE INDEX catalogue_versions_files ON catalogue_versions (version) WHERE source = 'file';
    COMMENT ON TABLE catalogue_versions
      IS 'Every version of the catalogue. The newest is the current one: rows are added, never changed.';
    COMMENT ON COLUMN catalogue_versions.version IS 'Counts from 1, without gaps.';
    COMMENT ON COLUMN catalogue_versions.previous IS 'The version before it: there is one.';
    COMMENT ON COLUMN catalogue_versions.content IS 'The catalogue as it was given (docs/upstreams.md).';
    COMMENT ON COLUMN catalogue_versions.hash
      IS 'SHA-256 of the content with its keys in order: what is the same content.';
    COMMENT ON COLUMN catalogue_versions.source
      IS 'file (MODELS_FILE, by migrate), command, page, or rollback to an earlier version.';
    COMMENT ON COLUMN catalogue_versions.operator_id IS 'Who, of the console; null for a file and the command line.';
    COMMENT ON COLUMN catalogue_versions.note IS 'Why, in the operator''s words.';
    COMMENT ON COLUMN catalogue_versions.applied_at IS 'When.';

    ALTER TABLE calls ADD COLUMN catalogue_version integer;
    COMMENT ON COLUMN calls.catalogue_version
      IS 'The version of the catalogue that it was opened at: it is charged and served by that one.';

    ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_known;
    ALTER TABLE operator_actions ADD CONSTRAINT operator_actions_action_known CHECK (action IN
      ('credits_granted', 'account_suspended', 'account_activated', 'role_changed', 'mail_revived',
        'catalogue_applied', 'catalogue_rolled_back'));
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DELETE FROM operator_actions WHERE action IN ('catalogue_applied', 'catalogue_rolled_back');
    ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_known;
    ALTER TABLE operator_actions ADD CONSTRAINT operator_actions_action_known CHECK (action IN
      ('credits_granted', 'account_suspended', 'account_activated', 'role_changed', 'mail_revived'));
    ALTER TABLE calls DROP COLUMN catalogue_version;
    DROP TABLE catalogue_versions;
  `)
}
