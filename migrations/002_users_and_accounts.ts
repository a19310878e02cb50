/**
 * People and accounts: who signs in (`users`), who pays (`accounts`), who may act for which account (`members`), and
 * the keys of the gateway.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE users (
      id uuid NOT NULL,
      email text NOT NULL,
      password_hash text NOT NULL,
      display_name text NOT NULL DEFAULT '',
      avatar_url text NOT NULL DEFAULT '',
      role text NOT NULL DEFAULT 'user',
      email_verified_at timestamptz,
      password_changed_at timestamptz NOT NULL DEFAULT now(),
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT users_pkey PRIMARY KEY (id),
      CONSTRAINT users_email_key UNIQUE (email),
      CONSTRAINT users_email_is_lowercase CHECK (email = lower(email) AND length(email) <= 254),
      CONSTRAINT users_display_name_length CHECK (char_length(display_name) <= 60),
      CONSTRAINT users_avatar_url_length CHECK (char_length(avatar_url) <= 2048),
      CONSTRAINT users_role_known CHECK (role IN ('user', 'admin'))
    );
    COMMENT ON TABLE users IS 'People who sign in. Nothing of the money hangs on them: that is the account''s.';
    COMMENT ON COLUMN users.id IS 'UUIDv7, made by the caller. Never leaves the server: clients know the account.';
    COMMENT ON COLUMN users.email IS 'ASCII, lowercased.';
    COMMENT ON COLUMN users.password_hash IS 'argon2id, PHC string.';
    COMMENT ON COLUMN users.display_name IS 'At most 60 code points; empty when none.';
    COMMENT ON COLUMN users.avatar_url IS 'https address, or empty.';
    COMMENT ON COLUMN users.role IS 'user, or admin: may use /api/operator.';
    COMMENT ON COLUMN users.email_verified_at IS 'When the address was proved; null while unverified.';
    COMMENT ON COLUMN users.password_changed_at IS 'Reset links that were asked for before it are dead.';
    COMMENT ON COLUMN users.created_at IS 'Registration.';

    CREATE TABLE accounts (
      id uuid NOT NULL,
      status text NOT NULL DEFAULT 'active',
      credits bigint NOT NULL DEFAULT 0,
      debt bigint NOT NULL DEFAULT 0,
      ledger_seq bigint NOT NULL DEFAULT 0,
      outstanding_calls integer NOT NULL DEFAULT 0,
      request_bytes bigint NOT NULL DEFAULT 0,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT accounts_pkey PRIMARY KEY (id),
      CONSTRAINT accounts_status_known CHECK (status IN ('active', 'suspended')),
      CONSTRAINT accounts_credits_not_negative CHECK (credits >= 0),
      CONSTRAINT accounts_credits_exact_in_javascript CHECK (credits <= 9007199254740991),
      CONSTRAINT accounts_debt_not_negative CHECK (debt >= 0),
      CONSTRAINT accounts_debt_exact_in_javascript CHECK (debt <= 9007199254740991),
      CONSTRAINT accounts_outstanding_not_negative CHECK (outstanding_calls >= 0),
      CONSTRAINT accounts_request_bytes_not_negative CHECK (request_bytes >= 0)
    ) WITH (fillfactor = 70);
    CREATE INDEX accounts_suspended ON accounts (id) WHERE status = 'suspended';
    COMMENT ON TABLE accounts IS 'Who pays. The row is the lock of everything that moves its credits.';
    COMMENT ON COLUMN accounts.id IS 'UUIDv7, made by the caller; acc_… in text.';
    COMMENT ON COLUMN accounts.status IS 'active or suspended (set by an operator).';
    COMMENT ON COLUMN accounts.credits IS 'Balance in whole credits = sum of the account''s ledger entries.';
    COMMENT ON COLUMN accounts.debt
      IS 'Credits that its calls left uncollected, less what was collected since. '
      'While there is any, nothing can be spent.';
    COMMENT ON COLUMN accounts.ledger_seq IS 'Number of ledger entries so far: the seq of the newest one.';
    COMMENT ON COLUMN accounts.outstanding_calls
      IS 'Calls that have not ended; bounds an account and orders the queues.';
    COMMENT ON COLUMN accounts.request_bytes
      IS 'Bytes of the requests of its open calls, which Redis holds; bounds an account.';
    COMMENT ON COLUMN accounts.created_at IS 'When it was opened.';

    CREATE TABLE members (
      user_id uuid NOT NULL,
      account_id uuid NOT NULL,
      role text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT members_pkey PRIMARY KEY (user_id, account_id),
      CONSTRAINT members_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT members_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT members_role_known CHECK (role IN ('owner'))
    );
    -- Whoever an account belongs to is one person: the address that operators know it by.
    CREATE UNIQUE INDEX members_one_owner ON members (account_id) WHERE role = 'owner';
    COMMENT ON TABLE members IS 'Who may act for which account.';
    COMMENT ON COLUMN members.user_id IS 'Who.';
    COMMENT ON COLUMN members.account_id IS 'For which account.';
    COMMENT ON COLUMN members.role IS 'owner: may do everything. The only role there is.';
    COMMENT ON COLUMN members.created_at
      IS 'Since when. A login acts for the account that its user has been a member of for longest.';

    CREATE TABLE api_keys (
      id uuid NOT NULL,
      account_id uuid NOT NULL,
      name text NOT NULL,
      key_hash bytea NOT NULL,
      hint text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      last_used_at timestamptz,
      revoked_at timestamptz,
      CONSTRAINT api_keys_pkey PRIMARY KEY (id),
      CONSTRAINT api_keys_hash_key UNIQUE (key_hash),
      CONSTRAINT api_keys_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT api_keys_hash_is_sha256 CHECK (octet_length(key_hash) = 32),
      CONSTRAINT api_keys_name_length CHECK (char_length(name) <= 60)
    );
    CREATE INDEX api_keys_account ON api_keys (account_id, id);
    -- Behind the count of an account's valid keys: at most a hundred among any number of revoked ones.
    CREATE INDEX api_keys_valid ON api_keys (account_id, id) WHERE revoked_at IS NULL;
    COMMENT ON TABLE api_keys IS 'Keys of the gateway. The secret itself is never stored.';
    COMMENT ON COLUMN api_keys.id IS 'UUIDv7; key_… in text.';
    COMMENT ON COLUMN api_keys.account_id IS 'Whose credits it spends.';
    COMMENT ON COLUMN api_keys.name IS 'The owner''s label, at most 60 code points.';
    COMMENT ON COLUMN api_keys.key_hash IS 'SHA-256 of the whole key.';
    COMMENT ON COLUMN api_keys.hint IS 'First 7 and last 4 characters, to recognise it by.';
    COMMENT ON COLUMN api_keys.created_at IS 'When it was made.';
    COMMENT ON COLUMN api_keys.last_used_at IS 'Last charged call, to the minute.';
    COMMENT ON COLUMN api_keys.revoked_at IS 'Since when it is refused; null while valid.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DROP TABLE api_keys;
    DROP TABLE members;
    DROP TABLE accounts;
    DROP TABLE users;
  `)
}
