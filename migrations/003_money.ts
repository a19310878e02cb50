/**
 * Credits: grants (lots with one origin) and the append-only ledger.
 *
 * The rules that must never break stand here as constraints, not only in code: no negative balance, no negative
 * remainder, one entry of a kind for a call and grant, a sign for every kind. What ties the ledger to calls, and keeps
 * it append-only, are triggers of `sql/`.
 */
import type { Knex } from 'knex'
import { FEW_EARLY_STATISTICS } from './storage.ts'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE grants (
      id uuid NOT NULL,
      account_id uuid NOT NULL,
      origin text NOT NULL,
      amount bigint NOT NULL,
      remaining bigint NOT NULL,
      open boolean NOT NULL,
      expires_at timestamptz,
      note text,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT grants_pkey PRIMARY KEY (id),
      CONSTRAINT grants_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT grants_origin_known CHECK (origin IN ('signup', 'purchase', 'bonus', 'adjustment')),
      CONSTRAINT grants_amount_positive CHECK (amount BETWEEN 1 AND 1000000000000),
      CONSTRAINT grants_remaining_not_negative CHECK (remaining >= 0),
      CONSTRAINT grants_remaining_within_amount CHECK (remaining <= amount),
      CONSTRAINT grants_open_means_remaining CHECK (open = (remaining > 0))
    ) WITH (fillfactor = 70);
    -- Indexes look at "open", never at "remaining": an indexed column would make each charge rewrite the index.
    CREATE INDEX grants_account_open ON grants (account_id) WHERE open;
    CREATE INDEX grants_expiry ON grants (expires_at) WHERE open AND expires_at IS NOT NULL;
    CREATE INDEX grants_account ON grants (account_id, id);
    -- One sign-up grant an account, whatever grants it.
    CREATE UNIQUE INDEX grants_signup_once ON grants (account_id) WHERE origin = 'signup';
    COMMENT ON TABLE grants
      IS 'Lots of credits with one origin. Charges burn the ones that expire first, then the oldest.';
    COMMENT ON COLUMN grants.id IS 'UUIDv7; grant_… in text.';
    COMMENT ON COLUMN grants.account_id IS 'Whose credits.';
    COMMENT ON COLUMN grants.origin IS 'signup, purchase, bonus or adjustment.';
    COMMENT ON COLUMN grants.amount IS 'Credits granted.';
    COMMENT ON COLUMN grants.remaining IS 'Credits left = sum of the grant''s ledger entries.';
    COMMENT ON COLUMN grants.open IS 'Whether anything remains.';
    COMMENT ON COLUMN grants.expires_at IS 'From then on it pays for nothing; null: never.';
    COMMENT ON COLUMN grants.note IS 'The operator''s remark.';
    COMMENT ON COLUMN grants.created_at IS 'When it was granted.';

    CREATE TABLE deductions (
      id uuid NOT NULL,
      account_id uuid NOT NULL,
      credits bigint NOT NULL,
      moved bigint NOT NULL,
      owed bigint NOT NULL,
      reason text NOT NULL,
      idempotency_key text,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT deductions_pkey PRIMARY KEY (id),
      CONSTRAINT deductions_of_account_key UNIQUE (account_id, id),
      CONSTRAINT deductions_once UNIQUE (account_id, idempotency_key),
      CONSTRAINT deductions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT deductions_credits_positive CHECK (credits BETWEEN 1 AND 1000000000000),
      CONSTRAINT deductions_parts CHECK (moved >= 0 AND owed >= 0 AND credits = moved + owed),
      CONSTRAINT deductions_reason_length CHECK (char_length(reason) BETWEEN 1 AND 200),
      CONSTRAINT deductions_idempotency_key_length CHECK (char_length(idempotency_key) BETWEEN 1 AND 255)
    );
    COMMENT ON TABLE deductions IS 'Credits that operators took back; append-only.';
    COMMENT ON COLUMN deductions.id IS 'UUIDv7; ded_… in text.';
    COMMENT ON COLUMN deductions.account_id IS 'From whose account.';
    COMMENT ON COLUMN deductions.credits IS 'How many credits.';
    COMMENT ON COLUMN deductions.moved IS 'Of these, by ledger entries of kind adjustment.';
    COMMENT ON COLUMN deductions.owed IS 'Of these, by debt: what could not be spent.';
    COMMENT ON COLUMN deductions.reason IS 'Why, in the operator''s words; the customer sees it.';
    COMMENT ON COLUMN deductions.idempotency_key IS 'The client''s name for the request, so that it is done once.';
    COMMENT ON COLUMN deductions.created_at IS 'When.';

    CREATE TABLE ledger_entries (
      account_id uuid NOT NULL,
      seq bigint NOT NULL,
      call_id uuid,
      grant_id uuid NOT NULL,
      kind text NOT NULL,
      amount bigint NOT NULL,
      balance_after bigint NOT NULL,
      note text,
      created_at timestamptz NOT NULL DEFAULT now(),
      deduction_id uuid,
      CONSTRAINT ledger_entries_pkey PRIMARY KEY (account_id, seq),
      CONSTRAINT ledger_entries_seq_positive CHECK (seq > 0),
      CONSTRAINT ledger_entries_balance_not_negative CHECK (balance_after >= 0),
      CONSTRAINT ledger_entries_call_where_needed
        CHECK ((kind IN ('charge', 'settlement', 'refund')) = (call_id IS NOT NULL)),
      CONSTRAINT ledger_entries_deduction_where_needed CHECK ((kind = 'adjustment') = (deduction_id IS NOT NULL)),
      CONSTRAINT ledger_entries_deduction_fkey FOREIGN KEY (account_id, deduction_id)
        REFERENCES deductions (account_id, id),
      CONSTRAINT ledger_entries_sign_of_kind CHECK (CASE kind
        WHEN 'grant' THEN amount > 0
        WHEN 'charge' THEN amount < 0
        WHEN 'refund' THEN amount > 0
        WHEN 'expiry' THEN amount < 0
        WHEN 'settlement' THEN amount <> 0
        WHEN 'adjustment' THEN amount < 0
        WHEN 'collection' THEN amount < 0
        ELSE false END)
    ) WITH (${FEW_EARLY_STATISTICS});
    CREATE UNIQUE INDEX ledger_entries_once_per_call ON ledger_entries (call_id, grant_id, kind)
      WHERE call_id IS NOT NULL;
    CREATE INDEX ledger_entries_deduction ON ledger_entries (deduction_id) WHERE deduction_id IS NOT NULL;
    COMMENT ON TABLE ledger_entries
      IS 'Every movement of credits, append-only, numbered without gaps within its account.';
    COMMENT ON COLUMN ledger_entries.account_id IS 'Whose credits.';
    COMMENT ON COLUMN ledger_entries.seq IS '1, 2, 3… within the account: the order of the ledger.';
    COMMENT ON COLUMN ledger_entries.call_id
      IS 'The call that caused it. No foreign key: the ledger outlives swept call records.';
    COMMENT ON COLUMN ledger_entries.grant_id IS 'The lot it takes from or gives to.';
    COMMENT ON COLUMN ledger_entries.kind
      IS 'grant, charge, settlement, refund, expiry, adjustment or collection (repays debt).';
    COMMENT ON COLUMN ledger_entries.amount IS 'Signed credits: negative leaves the balance.';
    COMMENT ON COLUMN ledger_entries.balance_after IS 'The balance after this very entry.';
    COMMENT ON COLUMN ledger_entries.note IS 'A remark for people.';
    COMMENT ON COLUMN ledger_entries.created_at IS 'Start of its transaction; seq, not time, is the order.';
    COMMENT ON COLUMN ledger_entries.deduction_id IS 'The deduction that it is a part of.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DROP TABLE ledger_entries;
    DROP TABLE deductions;
    DROP TABLE grants;
  `)
}
