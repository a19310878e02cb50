/**
 * What was imported from other gateways: where each thing came from, credits of that origin, passwords as they were
 * there, and users without a login, who claim their account by a link.
 */
import type { Knex } from 'knex'
import { allowWords, createTables, foldChecks, refuseWords, unfoldChecks } from './tables.ts'

const ADDED = ['account_imported', 'claim_link_made']

export async function up(db: Knex): Promise<void> {
  await createTables(
    db,
    `
    -- Gateways that accounts were imported from.
    CREATE TABLE import_sources (
      name text NOT NULL, -- What the operator calls it.
      gateway text NOT NULL, -- litellm, new-api or one-api.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was first imported.
      CONSTRAINT import_sources_pkey PRIMARY KEY (name),
      CONSTRAINT import_sources_gateway_known CHECK (gateway IN ('litellm', 'new-api', 'one-api')),
      CONSTRAINT import_sources_name_length CHECK (char_length(name) BETWEEN 1 AND 60)
    );

    -- What was imported, and what it is here: each thing once.
    CREATE TABLE import_origins (
      source text NOT NULL, -- From which gateway.
      kind text NOT NULL, -- user (with an account of their own), organisation, member (of one) or key.
      their_id text NOT NULL, -- Its id there; sha256:… of it once the account is deleted.
      account_id uuid NOT NULL, -- The account that it is, or that it belongs to.
      user_id uuid, -- The user or the member that it is.
      key_id uuid, -- The key that it is.
      granted credits NOT NULL DEFAULT 0, -- Credits of all grants that it was imported with.
      off boolean NOT NULL, -- Whether it was turned off there when it was last imported.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was imported.
      CONSTRAINT import_origins_pkey PRIMARY KEY (source, kind, their_id),
      CONSTRAINT import_origins_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT import_origins_key_fkey FOREIGN KEY (key_id, account_id) REFERENCES api_keys (id, account_id),
      CONSTRAINT import_origins_source_fkey FOREIGN KEY (source) REFERENCES import_sources (name),
      CONSTRAINT import_origins_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT import_origins_granted_to_accounts CHECK (granted = 0 OR kind IN ('user', 'organisation')),
      CONSTRAINT import_origins_id_length CHECK (char_length(their_id) BETWEEN 1 AND 500),
      CONSTRAINT import_origins_kind_known CHECK (kind IN ('user', 'organisation', 'member', 'key')),
      CONSTRAINT import_origins_names_what_it_is
        CHECK ((kind = 'key') = (key_id IS NOT NULL) AND (kind IN ('user', 'member')) = (user_id IS NOT NULL))
    );
    CREATE INDEX import_origins_account ON import_origins (account_id);
    -- An account is imported once, from one gateway.
    CREATE UNIQUE INDEX import_origins_of_account ON import_origins (account_id)
      WHERE kind IN ('user', 'organisation');
    CREATE UNIQUE INDEX import_origins_of_key ON import_origins (key_id) WHERE key_id IS NOT NULL;
  `,
  )
  await db.raw(`
    ALTER TABLE users ADD unclaimed boolean NOT NULL DEFAULT false, ADD claim_hash bytea, ADD claim_until timestamptz,
      ADD CONSTRAINT users_claim_is_sha256 CHECK (octet_length(claim_hash) = 32),
      ADD CONSTRAINT users_claim_whole CHECK ((claim_hash IS NULL) = (claim_until IS NULL)),
      ADD CONSTRAINT users_claimed_once CHECK (unclaimed OR claim_hash IS NULL),
      ADD CONSTRAINT users_unclaimed_have_no_login
        CHECK (NOT unclaimed OR (password_hash = 'none' AND email_verified_at IS NULL AND role = 'user'));
    COMMENT ON COLUMN users.unclaimed IS 'Whether nobody has claimed them: they have no login, and nobody''s address.';
    COMMENT ON COLUMN users.claim_hash IS 'SHA-256 of the token of the link that claims them; null: there is none.';
    COMMENT ON COLUMN users.claim_until IS 'From then on that link is refused.';
    COMMENT ON COLUMN users.password_hash IS
      'argon2id, PHC string; of an imported user bcrypt until their first login; none: no password.';
    CREATE UNIQUE INDEX users_claim ON users (claim_hash) WHERE claim_hash IS NOT NULL;
    CREATE INDEX users_with_bcrypt ON users (id) WHERE password_hash LIKE '$2%';
    COMMENT ON COLUMN grants.origin IS 'signup, purchase, bonus, adjustment or import.';
    COMMENT ON COLUMN budget_windows.swept IS
      'The part of it that has no call records: they were swept since, or it was spent before an import.'`)
  await unfoldChecks(db, 'grants')
  await allowWords(db, 'grants', 'origin', ['import'])
  await db.raw('ALTER TABLE grants VALIDATE CONSTRAINT grants_origin_known')
  await foldChecks(db, 'grants')
  await allowWords(db, 'operator_actions', 'action', ADDED)
  await db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')
}

/**
 * Users then need a reset link, keys in the form of the other gateway are refused, what was imported counts as
 * adjusted, and the log has the nearest older words.
 */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    UPDATE operator_actions SET action = 'account_created' WHERE action = 'account_imported';
    UPDATE operator_actions SET action = 'login_link_made' WHERE action = 'claim_link_made'`)
  await refuseWords(db, 'operator_actions', 'action', ADDED)
  await db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')
  await db.raw(`UPDATE grants SET origin = 'adjustment' WHERE origin = 'import'`)
  await unfoldChecks(db, 'grants')
  await refuseWords(db, 'grants', 'origin', ['import'])
  await db.raw('ALTER TABLE grants VALIDATE CONSTRAINT grants_origin_known')
  await foldChecks(db, 'grants')
  await db.raw(`
    COMMENT ON COLUMN budget_windows.swept IS 'The part of it whose call records were swept since.';
    COMMENT ON COLUMN grants.origin IS 'signup, purchase, bonus or adjustment.';
    DROP INDEX users_with_bcrypt;
    COMMENT ON COLUMN users.password_hash IS 'argon2id, PHC string.';
    UPDATE users SET password_hash = 'none' WHERE password_hash LIKE '$2%';
    ALTER TABLE users DROP unclaimed, DROP claim_hash, DROP claim_until;
    DROP TABLE import_origins, import_sources`)
}
