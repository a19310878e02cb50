/**
 * Accounts, their API keys, and their credits: grants (lots with one origin) and the append-only ledger.
 *
 * The rules that must never break stand here as constraints, not only in code: no negative balance, no negative
 * remainder, one entry of a kind for a call and grant, a sign for every kind. What ties the ledger to calls, and keeps
 * it append-only, are triggers of `sql/`.
 */
import type { Knex } from 'knex'
import { FEW_EARLY_STATISTICS } from './storage.ts'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE users (
      id uuid NOT NULL,
      email text NOT NULL,
      password_hash text NOT NULL,
      display_name text NOT NULL DEFAULT '',
      avatar_url text NOT NULL DEFAULT '',
      status text NOT NULL DEFAULT 'active',
      email_verified_at timestamptz,
      credits bigint NOT NULL DEFAULT 0,
      debt bigint NOT NULL DEFAULT 0,
      ledger_seq bigint NOT NULL DEFAULT 0,
      outstanding_calls integer NOT NULL DEFAULT 0,
      request_bytes bigint NOT NULL DEFAULT 0,
      role text NOT NULL DEFAULT 'user',
      password_changed_at timestamptz NOT NULL DEFAULT now(),
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT users_pkey PRIMARY KEY (id),
      CONSTRAINT users_email_key UNIQUE (email),
      CONSTRAINT users_email_is_lowercase CHECK (email = lower(email) AND length(email) <= 254),
      CONSTRAINT users_display_name_length CHECK (char_length(display_name) <= 60),
      CONSTRAINT users_avatar_url_length CHECK (char_length(avatar_url) <= 2048),
      CONSTRAINT users_status_known CHECK (status IN ('active', 'suspended')),
      CONSTRAINT users_role_known CHECK (role IN ('user', 'admin')),
      CONSTRAINT users_credits_not_negative CHECK (credits >= 0),
      CONSTRAINT users_credits_exact_in_javascript CHECK (credits <= 9007199254740991),
      CONSTRAINT users_debt_not_negative CHECK (debt >= 0),
      CONSTRAINT users_debt_exact_in_javascript CHECK (debt <= 9007199254740991),
      CONSTRAINT users_outstanding_not_negative CHECK (outstanding_calls >= 0),
      CONSTRAINT users_request_bytes_not_negative CHECK (request_bytes >= 0)
    ) WITH (fillfactor = 70);
    COMMENT ON TABLE users IS 'Console accounts. The row is the lock of everything that moves its credits.';
    COMMENT ON COLUMN users.id IS 'UUIDv7, made by the caller; acc_… in text.';
    COMMENT ON COLUMN users.email IS 'ASCII, lowercased.';
    COMMENT ON COLUMN users.password_hash IS 'argon2id, PHC string.';
    COMMENT ON COLUMN users.display_name IS 'At most 60 code points; empty when none.';
    COMMENT ON COLUMN users.avatar_url IS 'https address, or empty.';
    COMMENT ON COLUMN users.status IS 'active or suspended (set by an operator).';
    COMMENT ON COLUMN users.email_verified_at IS 'When the address was proved; null while unverified.';
    COMMENT ON COLUMN users.credits IS 'Balance in whole credits = sum of the account''s ledger entries.';
    COMMENT ON COLUMN users.debt IS 'Credits that its calls left uncollected, less what was collected since. While there is any, nothing can be spent.';
    COMMENT ON COLUMN users.ledger_seq IS 'Number of ledger entries so far: the seq of the newest one.';
    COMMENT ON COLUMN users.outstanding_calls IS 'Calls that have not ended; bounds an account and orders the queues.';
    COMMENT ON COLUMN users.request_bytes IS 'Bytes of the requests of its open calls, which Redis holds; bounds an account.';
    COMMENT ON COLUMN users.role IS 'user, or admin: may use /api/operator.';
    COMMENT ON COLUMN users.password_changed_at IS 'Reset links that were asked for before it are dead.';
    COMMENT ON COLUMN users.created_at IS 'Registration.';

    CREATE TABLE api_keys (
      id uuid NOT NULL,
      user_id uuid NOT NULL,
      name text NOT NULL,
      key_hash bytea NOT NULL,
      hint text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      last_used_at timestamptz,
      revoked_at timestamptz,
      CONSTRAINT api_keys_pkey PRIMARY KEY (id),
      CONSTRAINT api_keys_hash_key UNIQUE (key_hash),
      CONSTRAINT api_keys_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT api_keys_hash_is_sha256 CHECK (octet_length(key_hash) = 32),
      CONSTRAINT api_keys_name_length CHECK (char_length(name) <= 60)
    );
    CREATE INDEX api_keys_user ON api_keys (user_id, id);
    -- Behind the count of an account's valid keys: at most a hundred among any number of revoked ones.
    CREATE INDEX api_keys_valid ON api_keys (user_id, id) WHERE revoked_at IS NULL;
    COMMENT ON TABLE api_keys IS 'Keys of the gateway. The secret itself is never stored.';
    COMMENT ON COLUMN api_keys.id IS 'UUIDv7; key_… in text.';
    COMMENT ON COLUMN api_keys.user_id IS 'Whose credits it spends.';
    COMMENT ON COLUMN api_keys.name IS 'The owner''s label, at most 60 code points.';
    COMMENT ON COLUMN api_keys.key_hash IS 'SHA-256 of the whole key.';
    COMMENT ON COLUMN api_keys.hint IS 'First 7 and last 4 characters, to recognise it by.';
    COMMENT ON COLUMN api_keys.created_at IS 'When it was made.';
    COMMENT ON COLUMN api_keys.last_used_at IS 'Last charged call, to the minute.';
    COMMENT ON COLUMN api_keys.revoked_at IS 'Since when it is refused; null while valid.';

    CREATE TABLE grants (
      id uuid NOT NULL,
      user_id uuid NOT NULL,
      origin text NOT NULL,
      amount bigint NOT NULL,
      remaining bigint NOT NULL,
      open boolean NOT NULL,
      expires_at timestamptz,
      note text,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT grants_pkey PRIMARY KEY (id),
      CONSTRAINT grants_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT grants_origin_known CHECK (origin IN ('signup', 'purchase', 'bonus', 'adjustment')),
      CONSTRAINT grants_amount_positive CHECK (amount BETWEEN 1 AND 1000000000000),
      CONSTRAINT grants_remaining_not_negative CHECK (remaining >= 0),
      CONSTRAINT grants_remaining_within_amount CHECK (remaining <= amount),
      CONSTRAINT grants_open_means_remaining CHECK (open = (remaining > 0))
    ) WITH (fillfactor = 70);
    -- Indexes look at "open", never at "remaining": an indexed column would make each charge rewrite the index.
    CREATE INDEX grants_user_open ON grants (user_id) WHERE open;
    CREATE INDEX grants_expiry ON grants (expires_at) WHERE open AND expires_at IS NOT NULL;
    CREATE INDEX grants_user ON grants (user_id, id);
    COMMENT ON TABLE grants IS 'Lots of credits with one origin. Charges burn the ones that expire first, then the oldest.';
    COMMENT ON COLUMN grants.id IS 'UUIDv7; grant_… in text.';
    COMMENT ON COLUMN grants.user_id IS 'Whose credits.';
    COMMENT ON COLUMN grants.origin IS 'signup, purchase, bonus or adjustment.';
    COMMENT ON COLUMN grants.amount IS 'Credits granted.';
    COMMENT ON COLUMN grants.remaining IS 'Credits left = sum of the grant''s ledger entries.';
    COMMENT ON COLUMN grants.open IS 'Whether anything remains.';
    COMMENT ON COLUMN grants.expires_at IS 'From then on it pays for nothing; null: never.';
    COMMENT ON COLUMN grants.note IS 'The operator''s remark.';
    COMMENT ON COLUMN grants.created_at IS 'When it was granted.';

    CREATE TABLE ledger_entries (
      user_id uuid NOT NULL,
      seq bigint NOT NULL,
      call_id uuid,
      grant_id uuid NOT NULL,
      kind text NOT NULL,
      amount bigint NOT NULL,
      balance_after bigint NOT NULL,
      note text,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT ledger_entries_pkey PRIMARY KEY (user_id, seq),
      CONSTRAINT ledger_entries_seq_positive CHECK (seq > 0),
      CONSTRAINT ledger_entries_balance_not_negative CHECK (balance_after >= 0),
      CONSTRAINT ledger_entries_call_where_needed
        CHECK ((kind IN ('charge', 'settlement', 'refund')) = (call_id IS NOT NULL)),
      CONSTRAINT ledger_entries_sign_of_kind CHECK (CASE kind
        WHEN 'grant' THEN amount > 0
        WHEN 'charge' THEN amount < 0
        WHEN 'refund' THEN amount > 0
        WHEN 'expiry' THEN amount < 0
        WHEN 'settlement' THEN amount <> 0
        WHEN 'adjustment' THEN amount <> 0
        WHEN 'collection' THEN amount < 0
        ELSE false END)
    ) WITH (${FEW_EARLY_STATISTICS});
    CREATE UNIQUE INDEX ledger_entries_once_per_call ON ledger_entries (call_id, grant_id, kind) WHERE call_id IS NOT NULL;
    COMMENT ON TABLE ledger_entries IS 'Every movement of credits, append-only, numbered without gaps within its account.';
    COMMENT ON COLUMN ledger_entries.user_id IS 'Whose credits.';
    COMMENT ON COLUMN ledger_entries.seq IS '1, 2, 3… within the account: the order of the ledger.';
    COMMENT ON COLUMN ledger_entries.call_id IS 'The call that caused it. No foreign key: the ledger outlives swept call records.';
    COMMENT ON COLUMN ledger_entries.grant_id IS 'The lot it takes from or gives to.';
    COMMENT ON COLUMN ledger_entries.kind IS 'grant, charge, settlement, refund, expiry, adjustment or collection (repays debt).';
    COMMENT ON COLUMN ledger_entries.amount IS 'Signed credits: negative leaves the balance.';
    COMMENT ON COLUMN ledger_entries.balance_after IS 'The balance after this very entry.';
    COMMENT ON COLUMN ledger_entries.note IS 'A remark for people.';
    COMMENT ON COLUMN ledger_entries.created_at IS 'Start of its transaction; seq, not time, is the order.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DROP TABLE ledger_entries;
    DROP TABLE grants;
    DROP TABLE api_keys;
    DROP TABLE users;
  `)
}
