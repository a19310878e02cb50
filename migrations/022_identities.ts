/**
 * Identities: who users are at providers, with which they sign in; attempts to sign in there; and links by which
 * operators let somebody in whose provider is gone. A passkey notes the host that it belongs to.
 */
import type { Knex } from 'knex'
import { allowWords, createTables, refuseWords } from './tables.ts'

/** Of whom a mail knows the user. */
const knowUser = (unknown: string): string => `
  ALTER TABLE mails DROP CONSTRAINT mails_know_their_user;
  ALTER TABLE mails ADD CONSTRAINT mails_know_their_user CHECK ((kind IN (${unknown})) = (user_id IS NULL)) NOT VALID`

const ADDED = ['identity_linked', 'identity_removed', 'login_link_made']

export async function up(db: Knex): Promise<void> {
  await createTables(
    db,
    `
    -- Who users are at providers.
    CREATE TABLE identities (
      id uuid NOT NULL, -- UUIDv7.
      user_id uuid NOT NULL, -- Whose it is.
      issuer text NOT NULL, -- Who vouches for them.
      subject text NOT NULL, -- What the issuer calls them; nothing else is looked up.
      email text, -- The address that they had there when they linked it, for its owner to recognise it by.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was linked.
      last_used_at timestamptz, -- When it last signed in or proved its user; null: never.
      CONSTRAINT identities_pkey PRIMARY KEY (id),
      CONSTRAINT identities_subject_key UNIQUE (issuer, subject),
      CONSTRAINT identities_user_fkey FOREIGN KEY (user_id) REFERENCES users (id)
    );
    CREATE INDEX identities_user ON identities (user_id);

    -- Browsers that are at a provider. One that comes back is deleted.
    CREATE TABLE provider_attempts (
      state_hash bytea NOT NULL, -- SHA-256 of the state.
      browser_hash bytea NOT NULL, -- SHA-256 of the cookie of the browser that must come back.
      provider text NOT NULL, -- Its id in SIGNIN_PROVIDERS.
      purpose text NOT NULL, -- What for: sign_in, link or proof.
      session_id uuid, -- Which session links or proves; null: it signs in.
      invitation_hash bytea, -- SHA-256 of the invitation that the sign-in is to accept.
      expires_at timestamptz NOT NULL, -- From then on it is refused.
      CONSTRAINT provider_attempts_pkey PRIMARY KEY (state_hash),
      CONSTRAINT provider_attempts_browser_is_sha256 CHECK (octet_length(browser_hash) = 32),
      CONSTRAINT provider_attempts_purpose_known CHECK (purpose IN ('sign_in', 'link', 'proof')),
      CONSTRAINT provider_attempts_session_of_purpose CHECK ((session_id IS NULL) = (purpose = 'sign_in')),
      CONSTRAINT provider_attempts_state_is_sha256 CHECK (octet_length(state_hash) = 32)
    );
    CREATE INDEX provider_attempts_expiry ON provider_attempts (expires_at);

    -- Browsers that have come back from a provider: who they are there, the latest of a browser. It signs nobody in.
    CREATE TABLE pending_identities (
      id uuid NOT NULL, -- UUIDv7.
      browser_hash bytea NOT NULL, -- SHA-256 of the cookie of the browser that it belongs to.
      provider text NOT NULL, -- Its id in SIGNIN_PROVIDERS.
      issuer text NOT NULL, -- Who vouches for them.
      subject text NOT NULL, -- What the issuer calls them.
      email text, -- The address that they have there.
      email_verified boolean NOT NULL, -- Whether the issuer has verified it.
      has_passed_factor boolean NOT NULL, -- Whether the issuer has asked for a second factor.
      purpose text NOT NULL, -- What for: sign_in, link or proof.
      session_id uuid, -- Which session links or proves; null: it signs in.
      invitation_hash bytea, -- SHA-256 of the invitation that the sign-in is to accept.
      finished_at timestamptz, -- When the browser asked what follows, which it can once.
      mail_id uuid, -- The mail that is to prove an address; null: none.
      mail_hash bytea, -- SHA-256 of the token of that mail; null: none, or it was used.
      mailed_to text, -- The address that is to be proved.
      created_at timestamptz NOT NULL DEFAULT now(), -- When the browser came back.
      expires_at timestamptz NOT NULL, -- From then on it is refused.
      CONSTRAINT pending_identities_pkey PRIMARY KEY (id),
      CONSTRAINT pending_identities_browser_key UNIQUE (browser_hash),
      CONSTRAINT pending_identities_browser_is_sha256 CHECK (octet_length(browser_hash) = 32),
      CONSTRAINT pending_identities_mail_whole CHECK ((mail_id IS NULL) = (mailed_to IS NULL)),
      CONSTRAINT pending_identities_verified_address CHECK (email IS NOT NULL OR NOT email_verified)
    );
    CREATE INDEX pending_identities_expiry ON pending_identities (expires_at);
    CREATE UNIQUE INDEX pending_identities_mail ON pending_identities (mail_id);

    -- Links by which operators let somebody in. A used one is deleted.
    CREATE TABLE login_links (
      token_hash bytea NOT NULL, -- SHA-256 of its token.
      user_id uuid NOT NULL, -- Who signs in by it.
      expires_at timestamptz NOT NULL, -- From then on it is refused.
      CONSTRAINT login_links_pkey PRIMARY KEY (token_hash),
      CONSTRAINT login_links_token_is_sha256 CHECK (octet_length(token_hash) = 32),
      CONSTRAINT login_links_user_fkey FOREIGN KEY (user_id) REFERENCES users (id)
    );
    CREATE INDEX login_links_user ON login_links (user_id);
  `,
  )
  await db.raw(`
    ALTER TABLE sign_in_tickets ADD COLUMN pending_id uuid;
    COMMENT ON COLUMN sign_in_tickets.pending_id IS 'The pending identity that it links; null: none.';
    ALTER TABLE passkeys ADD COLUMN host text;
    COMMENT ON COLUMN passkeys.host IS 'The host that it belongs to; null: of one from before this was noted.'`)
  await allowWords(db, 'mails', 'kind', ['sign_in'])
  await db.raw(knowUser(`'reset', 'invitation', 'sign_in'`))
  await db.raw('ALTER TABLE mails VALIDATE CONSTRAINT mails_know_their_user')
  await allowWords(db, 'operator_actions', 'action', ADDED)
  await db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')
}

/**
 * Users who sign in by providers alone then need a reset link. The log keeps what was recorded meanwhile: the narrower
 * list is then for new rows alone.
 */
export async function down(db: Knex): Promise<void> {
  await db.raw(`DELETE FROM mails WHERE kind = 'sign_in'`)
  await refuseWords(db, 'mails', 'kind', ['sign_in'])
  await db.raw(knowUser(`'reset', 'invitation'`))
  await db.raw('ALTER TABLE mails VALIDATE CONSTRAINT mails_know_their_user')
  await refuseWords(db, 'operator_actions', 'action', ADDED)
  if (!(await db('operator_actions').whereIn('action', ADDED).first('id')))
    await db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')
  await db.raw(`
    ALTER TABLE passkeys DROP COLUMN host;
    ALTER TABLE sign_in_tickets DROP COLUMN pending_id;
    DROP TABLE login_links, pending_identities, provider_attempts, identities`)
}
