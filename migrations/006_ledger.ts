/**
 * Credits: grants (each of one origin), the append-only ledger, and what else gives or takes credits. What ties the
 * ledger to calls, and keeps it append-only, are triggers of `sql/`.
 */
import type { Knex } from 'knex'
import { FEW_EARLY_STATISTICS } from './storage.ts'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- Credits that operators took back; append-only.
    CREATE TABLE deductions (
      id uuid NOT NULL, -- UUIDv7; ded_… in text.
      account_id uuid NOT NULL, -- From whose account.
      credits credits NOT NULL, -- How many credits.
      moved credits NOT NULL, -- Of these, by ledger entries of kind adjustment.
      owed credits NOT NULL, -- Of these, by debt: what could not be spent.
      reason text NOT NULL, -- Why, in the operator's words; the customer sees it.
      idempotency_key text, -- The client's name for the request, so that it is done once.
      created_at timestamptz NOT NULL DEFAULT now(), -- When.
      CONSTRAINT deductions_pkey PRIMARY KEY (id),
      CONSTRAINT deductions_of_account_key UNIQUE (account_id, id),
      CONSTRAINT deductions_once UNIQUE (account_id, idempotency_key),
      CONSTRAINT deductions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT deductions_credits_positive CHECK (credits BETWEEN 1 AND 1000000000000),
      CONSTRAINT deductions_idempotency_key_length CHECK (char_length(idempotency_key) BETWEEN 1 AND 255),
      CONSTRAINT deductions_parts CHECK (credits = moved + owed),
      CONSTRAINT deductions_reason_length CHECK (char_length(reason) BETWEEN 1 AND 200)
    );

    -- Debts that operators let go; append-only.
    CREATE TABLE forgiven_debts (
      id uuid NOT NULL, -- UUIDv7.
      account_id uuid NOT NULL, -- Whose debt.
      credits credits NOT NULL, -- How much it was.
      created_at timestamptz NOT NULL DEFAULT now(), -- When.
      CONSTRAINT forgiven_debts_pkey PRIMARY KEY (id),
      CONSTRAINT forgiven_debts_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT forgiven_debts_credits_positive CHECK (credits > 0)
    );
    CREATE INDEX forgiven_debts_account ON forgiven_debts (account_id);

    -- Credits of one origin each. Charges burn the ones that expire first, then the oldest.
    CREATE TABLE grants (
      id uuid NOT NULL, -- UUIDv7; grant_… in text.
      account_id uuid NOT NULL, -- Whose credits.
      origin text NOT NULL, -- signup, purchase, bonus or adjustment.
      amount credits NOT NULL, -- Credits granted.
      remaining credits NOT NULL, -- Credits left = sum of the grant's ledger entries.
      open boolean NOT NULL, -- Whether anything remains.
      expires_at timestamptz, -- From then on what is left of it pays for nothing; null: never.
      note text, -- The operator's remark.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was granted.
      payment_id uuid, -- The payment that bought it.
      -- Until when it pays again, by what came back to it past its time: a day after expires_at, or after a payment was
      -- reinstated.
      revived_until timestamptz,
      CONSTRAINT grants_pkey PRIMARY KEY (id),
      CONSTRAINT grants_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT grants_payment_fkey FOREIGN KEY (payment_id, account_id) REFERENCES payments (id, account_id),
      CONSTRAINT grants_origin_known CHECK (origin IN ('signup', 'purchase', 'bonus', 'adjustment')),
      CONSTRAINT grants_amount_positive CHECK (amount BETWEEN 1 AND 1000000000000),
      CONSTRAINT grants_remaining_within_amount CHECK (remaining <= amount),
      CONSTRAINT grants_open_means_remaining CHECK (open = (remaining > 0)),
      CONSTRAINT grants_payment_gives_purchases
        CHECK (payment_id IS NULL OR (origin IN ('purchase', 'bonus') AND expires_at IS NULL)),
      CONSTRAINT grants_revived_once_expired
        CHECK (revived_until IS NULL OR coalesce(revived_until > expires_at, false))
    ) WITH (fillfactor = 70);
    CREATE INDEX grants_account ON grants (account_id, id);
    -- Indexes look at "open", never at "remaining": an indexed column would make each charge rewrite the index.
    CREATE INDEX grants_account_open ON grants (account_id) WHERE open;
    CREATE INDEX grants_expiry ON grants (expires_at) WHERE open AND expires_at IS NOT NULL;
    -- One grant a payment and origin: a payment is credited once, however often it is reported.
    CREATE UNIQUE INDEX grants_once_per_payment ON grants (payment_id, origin) WHERE payment_id IS NOT NULL;
    -- One sign-up grant an account, whatever grants it.
    CREATE UNIQUE INDEX grants_signup_once ON grants (account_id) WHERE origin = 'signup';

    -- Every movement of credits, append-only, numbered without gaps within its account.
    CREATE TABLE ledger_entries (
      account_id uuid NOT NULL, -- Whose credits.
      seq bigint NOT NULL, -- 1, 2, 3… within the account: the order of the ledger.
      call_id uuid, -- The call that caused it. No foreign key: the ledger outlives swept call records.
      grant_id uuid NOT NULL, -- The grant it takes from or gives to.
      -- grant, charge, settlement, refund, expiry, adjustment, collection (repays debt), reversal or reinstatement.
      kind text NOT NULL,
      amount bigint NOT NULL, -- Signed credits: negative leaves the balance.
      balance_after credits NOT NULL, -- The balance after this very entry.
      note text, -- A remark for people.
      created_at timestamptz NOT NULL DEFAULT now(), -- Start of its transaction; seq, not time, is the order.
      deduction_id uuid, -- The deduction that it is a part of.
      payment_id uuid, -- The payment that was reversed or reinstated.
      CONSTRAINT ledger_entries_pkey PRIMARY KEY (account_id, seq),
      CONSTRAINT ledger_entries_deduction_fkey FOREIGN KEY (account_id, deduction_id)
        REFERENCES deductions (account_id, id),
      CONSTRAINT ledger_entries_payment_fkey FOREIGN KEY (payment_id, account_id) REFERENCES payments (id, account_id),
      CONSTRAINT ledger_entries_seq_positive CHECK (seq > 0),
      CONSTRAINT ledger_entries_call_where_needed
        CHECK ((kind IN ('charge', 'settlement', 'refund')) = (call_id IS NOT NULL)),
      CONSTRAINT ledger_entries_deduction_where_needed CHECK ((kind = 'adjustment') = (deduction_id IS NOT NULL)),
      CONSTRAINT ledger_entries_payment_where_needed
        CHECK ((kind IN ('reversal', 'reinstatement')) = (payment_id IS NOT NULL)),
      CONSTRAINT ledger_entries_sign_of_kind CHECK (CASE
        WHEN kind IN ('grant', 'refund', 'reinstatement') THEN amount > 0
        WHEN kind IN ('charge', 'expiry', 'adjustment', 'collection', 'reversal') THEN amount < 0
        WHEN kind = 'settlement' THEN amount <> 0
        ELSE false END)
    ) WITH (${FEW_EARLY_STATISTICS});
    CREATE INDEX ledger_entries_collected ON ledger_entries (account_id, grant_id) WHERE kind = 'collection';
    CREATE INDEX ledger_entries_deduction ON ledger_entries (deduction_id) WHERE deduction_id IS NOT NULL;
    CREATE UNIQUE INDEX ledger_entries_once_per_call ON ledger_entries (call_id, grant_id, kind)
      WHERE call_id IS NOT NULL;
    CREATE INDEX ledger_entries_payment ON ledger_entries (payment_id) WHERE payment_id IS NOT NULL;

    -- Codes that give credits. The code itself is never stored.
    CREATE TABLE redemption_codes (
      id uuid NOT NULL, -- UUIDv7; code_… in text.
      code_hash bytea NOT NULL, -- SHA-256 of the code without its dashes.
      hint text NOT NULL, -- Its last four characters, to recognise it by.
      credits credits NOT NULL, -- Credits for each who redeems it.
      uses integer NOT NULL DEFAULT 0, -- Times that it was redeemed.
      max_uses integer NOT NULL, -- The most times that it can be.
      expires_at timestamptz, -- From then on it is refused; null: never.
      grants_expire_at timestamptz, -- When the credits that it gave expire; null: never.
      disabled_at timestamptz, -- Since when an operator has it refused; null while it is not.
      note text, -- The operator's remark.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was made.
      CONSTRAINT redemption_codes_pkey PRIMARY KEY (id),
      CONSTRAINT redemption_codes_hash_key UNIQUE (code_hash),
      CONSTRAINT redemption_codes_credits_positive CHECK (credits BETWEEN 1 AND 1000000000000),
      CONSTRAINT redemption_codes_hash_is_sha256 CHECK (octet_length(code_hash) = 32),
      CONSTRAINT redemption_codes_max_uses_positive CHECK (max_uses > 0),
      CONSTRAINT redemption_codes_note_length CHECK (char_length(note) <= 200),
      CONSTRAINT redemption_codes_uses_at_most_max CHECK (uses BETWEEN 0 AND max_uses)
    );

    -- Who has redeemed which code: an account each code once.
    CREATE TABLE redemptions (
      code_id uuid NOT NULL, -- Which code.
      account_id uuid NOT NULL, -- Whose account.
      grant_id uuid NOT NULL, -- The grant that it gave.
      created_at timestamptz NOT NULL DEFAULT now(), -- When.
      CONSTRAINT redemptions_pkey PRIMARY KEY (code_id, account_id),
      CONSTRAINT redemptions_grant_key UNIQUE (grant_id),
      CONSTRAINT redemptions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT redemptions_code_fkey FOREIGN KEY (code_id) REFERENCES redemption_codes (id),
      CONSTRAINT redemptions_grant_fkey FOREIGN KEY (grant_id) REFERENCES grants (id)
    );
    CREATE INDEX redemptions_account ON redemptions (account_id);

    -- What a mailbox is given once: the sign-up credits, and the credits of each code. It outlives the account.
    CREATE TABLE mailbox_gifts (
      grant_id uuid NOT NULL, -- The grant that was given.
      -- HMAC-SHA-256 of the mailbox, under a key derived from APP_SECRET: it identifies nobody without the secret.
      mailbox bytea NOT NULL,
      code_id uuid, -- The code that was redeemed; null for the sign-up credits.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was given.
      CONSTRAINT mailbox_gifts_pkey PRIMARY KEY (grant_id),
      CONSTRAINT mailbox_gifts_code_fkey FOREIGN KEY (code_id) REFERENCES redemption_codes (id),
      CONSTRAINT mailbox_gifts_grant_fkey FOREIGN KEY (grant_id) REFERENCES grants (id) DEFERRABLE INITIALLY DEFERRED,
      CONSTRAINT mailbox_gifts_mailbox_is_sha256 CHECK (octet_length(mailbox) = 32)
    );
    CREATE UNIQUE INDEX mailbox_gifts_code_once ON mailbox_gifts (mailbox, code_id) WHERE code_id IS NOT NULL;
    CREATE UNIQUE INDEX mailbox_gifts_signup_once ON mailbox_gifts (mailbox) WHERE code_id IS NULL;
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw(
    'DROP TABLE mailbox_gifts, redemptions, redemption_codes, ledger_entries, grants, forgiven_debts, deductions',
  )
}
