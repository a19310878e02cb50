/**
 * The second factor of users: the secrets of their authenticator apps, recovery codes, and the tickets of logins that
 * wait for it. What users change of them is in the log of operators' actions.
 */
import type { Knex } from 'knex'
import { allowWords, createTables, refuseWords } from './tables.ts'

const ADDED = ['totp_added', 'totp_removed', 'recovery_code_used', 'second_factor_reset']

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE users ADD COLUMN has_second_factor boolean NOT NULL DEFAULT false;
    COMMENT ON COLUMN users.has_second_factor IS 'Whether a session needs one. Changed with the factors.';
    ALTER TABLE sessions ADD COLUMN proved_at timestamptz, ADD COLUMN code_at timestamptz;
    COMMENT ON COLUMN sessions.proved_at IS 'The last password or passkey since the login; null: none was asked for.';
    COMMENT ON COLUMN sessions.code_at IS 'The last code of an authenticator app since the login.'`)
  await createTables(
    db,
    `
    -- The authenticator app of a user.
    CREATE TABLE totp_secrets (
      user_id uuid NOT NULL, -- Whose it is.
      secret bytea NOT NULL, -- Encrypted under APP_SECRET, for this user.
      confirmed_at timestamptz, -- When a first code was right; null: it counts for nothing yet.
      last_step bigint NOT NULL DEFAULT 0, -- The time step of the last accepted code: no earlier one is accepted.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was made.
      CONSTRAINT totp_secrets_pkey PRIMARY KEY (user_id),
      CONSTRAINT totp_secrets_user_fkey FOREIGN KEY (user_id) REFERENCES users (id)
    );

    -- Recovery codes that were not used. A used one is deleted.
    CREATE TABLE recovery_codes (
      user_id uuid NOT NULL, -- Whose it is.
      code_hash bytea NOT NULL, -- SHA-256 of the code: 80 random bits.
      CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash),
      CONSTRAINT recovery_codes_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT recovery_codes_hash_is_sha256 CHECK (octet_length(code_hash) = 32)
    );

    -- Logins that wait for the second factor. A used one is deleted.
    CREATE TABLE sign_in_tickets (
      token_hash bytea NOT NULL, -- SHA-256 of the ticket.
      user_id uuid NOT NULL, -- Whose password was right.
      browser_hash bytea NOT NULL, -- SHA-256 of the cookie of the browser that it belongs to.
      failures integer NOT NULL DEFAULT 0, -- Wrong codes so far.
      expires_at timestamptz NOT NULL, -- From then on it is refused.
      CONSTRAINT sign_in_tickets_pkey PRIMARY KEY (token_hash),
      CONSTRAINT sign_in_tickets_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT sign_in_tickets_browser_is_sha256 CHECK (octet_length(browser_hash) = 32),
      CONSTRAINT sign_in_tickets_failures_few CHECK (failures BETWEEN 0 AND 4),
      CONSTRAINT sign_in_tickets_hash_is_sha256 CHECK (octet_length(token_hash) = 32)
    );
    CREATE INDEX sign_in_tickets_expiry ON sign_in_tickets (expires_at);
    CREATE INDEX sign_in_tickets_user ON sign_in_tickets (user_id);
  `,
  )
  await allowWords(db, 'mails', 'kind', ['sign_in_changed'])
  await allowWords(db, 'operator_actions', 'action', ADDED)
  await db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')
}

/** The log keeps what was recorded meanwhile: the narrower list is then for new rows alone. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`DELETE FROM mails WHERE kind = 'sign_in_changed'`)
  await refuseWords(db, 'mails', 'kind', ['sign_in_changed'])
  await refuseWords(db, 'operator_actions', 'action', ADDED)
  if (!(await db('operator_actions').whereIn('action', ADDED).first('id')))
    await db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')
  await db.raw(`
    DROP TABLE sign_in_tickets, recovery_codes, totp_secrets;
    ALTER TABLE sessions DROP COLUMN proved_at, DROP COLUMN code_at;
    ALTER TABLE users DROP COLUMN has_second_factor`)
}
