/**
 * Passkeys: public keys of users, with which they sign in without a password or as the second factor, and the
 * challenges that authenticators sign.
 */
import type { Knex } from 'knex'
import { allowWords, createTables, refuseWords } from './tables.ts'

const ADDED = ['passkey_added', 'passkey_removed', 'passkey_refused']

export async function up(db: Knex): Promise<void> {
  await createTables(
    db,
    `
    -- The passkeys of users.
    CREATE TABLE passkeys (
      id uuid NOT NULL, -- UUIDv7.
      user_id uuid NOT NULL, -- Whose it is.
      credential_id bytea NOT NULL, -- What the authenticator calls it.
      public_key bytea NOT NULL, -- COSE.
      counter bigint NOT NULL, -- How often the authenticator has signed, as it last reported; 0: it does not count.
      transports text[] NOT NULL, -- How browsers reach the authenticator.
      name text NOT NULL, -- For its owner to recognise it by.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was added.
      last_used_at timestamptz, -- When it last signed in or proved its user; null: never.
      CONSTRAINT passkeys_pkey PRIMARY KEY (id),
      CONSTRAINT passkeys_credential_key UNIQUE (credential_id),
      CONSTRAINT passkeys_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT passkeys_counter_not_negative CHECK (counter >= 0)
    );
    CREATE INDEX passkeys_user ON passkeys (user_id);

    -- Challenges that wait for their signature. A used one is deleted.
    CREATE TABLE passkey_challenges (
      challenge_hash bytea NOT NULL, -- SHA-256 of the challenge.
      user_id uuid, -- Who adds a passkey by it; null: it is for the use of one.
      expires_at timestamptz NOT NULL, -- From then on it is refused.
      CONSTRAINT passkey_challenges_pkey PRIMARY KEY (challenge_hash),
      CONSTRAINT passkey_challenges_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT passkey_challenges_hash_is_sha256 CHECK (octet_length(challenge_hash) = 32)
    );
    CREATE INDEX passkey_challenges_expiry ON passkey_challenges (expires_at);
  `,
  )
  await allowWords(db, 'operator_actions', 'action', ADDED)
  await db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')
}

/**
 * Users whose only second factor is a passkey have none then. The log keeps what was recorded meanwhile: the narrower
 * list is then for new rows alone.
 */
export async function down(db: Knex): Promise<void> {
  await refuseWords(db, 'operator_actions', 'action', ADDED)
  if (!(await db('operator_actions').whereIn('action', ADDED).first('id')))
    await db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')
  await db.raw(`
    UPDATE users u SET has_second_factor = false WHERE has_second_factor
      AND NOT EXISTS (SELECT FROM totp_secrets t WHERE t.user_id = u.id AND t.confirmed_at IS NOT NULL);
    DROP TABLE passkey_challenges, passkeys`)
}
