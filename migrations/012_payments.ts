/**
 * Payments: orders, what a provider said about them, their refunds and reversals. What ties an order to its grants, and
 * keeps its terms, are triggers of `sql/`.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`${PAYMENTS};${MOVEMENTS}`)
}

const PAYMENTS = `
  CREATE TABLE payments (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    provider text NOT NULL,
    kind text NOT NULL,
    status text NOT NULL DEFAULT 'created',
    live_mode boolean NOT NULL,
    pack text,
    currency text NOT NULL,
    amount_minor bigint NOT NULL,
    credits bigint NOT NULL,
    bonus bigint NOT NULL DEFAULT 0,
    customer text,
    method text,
    session text,
    intent text,
    receipt_url text,
    review_reason text,
    failure text,
    refunded_minor bigint NOT NULL DEFAULT 0,
    disputed_minor bigint NOT NULL DEFAULT 0,
    reversed bigint NOT NULL DEFAULT 0,
    version integer NOT NULL DEFAULT 0,
    checks integer NOT NULL DEFAULT 0,
    next_check_at timestamptz,
    expires_at timestamptz,
    created_at timestamptz NOT NULL DEFAULT now(),
    paid_at timestamptz,
    CONSTRAINT payments_pkey PRIMARY KEY (id),
    CONSTRAINT payments_of_account_key UNIQUE (id, account_id),
    CONSTRAINT payments_session_key UNIQUE (provider, session),
    CONSTRAINT payments_intent_key UNIQUE (provider, intent),
    CONSTRAINT payments_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT payments_provider_known CHECK (provider IN ('stripe')),
    CONSTRAINT payments_kind_known CHECK (kind IN ('checkout', 'auto')),
    CONSTRAINT payments_status_known CHECK (status IN ('created', 'open', 'paid', 'expired', 'failed', 'review')),
    CONSTRAINT payments_currency_is_lowercase CHECK (currency ~ '^[a-z]{3}$'),
    CONSTRAINT payments_amount_positive CHECK (amount_minor BETWEEN 1 AND 1000000000000),
    CONSTRAINT payments_credits_positive CHECK (credits BETWEEN 1 AND 1000000000000),
    CONSTRAINT payments_bonus_not_negative CHECK (bonus BETWEEN 0 AND 1000000000000),
    CONSTRAINT payments_auto_has_card CHECK (kind <> 'auto' OR (method IS NOT NULL AND session IS NULL)),
    CONSTRAINT payments_open_is_known_there CHECK (status <> 'open' OR session IS NOT NULL OR intent IS NOT NULL),
    CONSTRAINT payments_paid_has_time CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
    CONSTRAINT payments_review_has_reason CHECK ((status = 'review') = (review_reason IS NOT NULL)),
    CONSTRAINT payments_refunded_within CHECK (refunded_minor BETWEEN 0 AND amount_minor),
    CONSTRAINT payments_disputed_within CHECK (disputed_minor BETWEEN 0 AND amount_minor),
    CONSTRAINT payments_reversed_within CHECK (reversed BETWEEN 0 AND credits + bonus),
    CONSTRAINT payments_reversed_was_paid CHECK (reversed = 0 OR status = 'paid'),
    CONSTRAINT payments_checks_not_negative CHECK (checks >= 0),
    CONSTRAINT payments_pack_length CHECK (char_length(pack) <= 200),
    CONSTRAINT payments_failure_length CHECK (char_length(failure) <= 200)
  );
  CREATE INDEX payments_account ON payments (account_id, id DESC);
  CREATE INDEX payments_due ON payments (next_check_at) WHERE next_check_at IS NOT NULL;
  CREATE INDEX payments_review ON payments (id) WHERE status = 'review';
  -- One automatic payment of an account at a time, whatever asks for one.
  CREATE UNIQUE INDEX payments_one_auto ON payments (account_id)
    WHERE kind = 'auto' AND status IN ('created', 'open', 'review');
  COMMENT ON TABLE payments IS 'Orders of credits. A row is committed before its provider is asked for anything.';
  COMMENT ON COLUMN payments.id IS 'UUIDv7; pay_… in text. The idempotency key at the provider.';
  COMMENT ON COLUMN payments.account_id IS 'Who buys.';
  COMMENT ON COLUMN payments.provider IS 'Who takes the money: stripe.';
  COMMENT ON COLUMN payments.kind IS 'checkout (a page of the provider) or auto (automatic top-up).';
  COMMENT ON COLUMN payments.status IS 'created, open, paid, expired, failed or review (an operator must look).';
  COMMENT ON COLUMN payments.live_mode IS 'Whether it moves real money; what the provider says must agree.';
  COMMENT ON COLUMN payments.pack IS 'The pack that was bought; null for a free amount.';
  COMMENT ON COLUMN payments.currency IS 'ISO 4217, lower case.';
  COMMENT ON COLUMN payments.amount_minor IS 'The price, in the minor unit of the currency.';
  COMMENT ON COLUMN payments.credits IS 'Credits bought.';
  COMMENT ON COLUMN payments.bonus IS 'Credits given on top.';
  COMMENT ON COLUMN payments.customer IS 'The provider''s id of the customer.';
  COMMENT ON COLUMN payments.method IS 'The provider''s id of the card that an automatic payment asks.';
  COMMENT ON COLUMN payments.session IS 'The provider''s id of the checkout; null until it is known.';
  COMMENT ON COLUMN payments.intent IS 'The provider''s id of the payment itself; null until it is known.';
  COMMENT ON COLUMN payments.receipt_url IS 'The provider''s receipt.';
  COMMENT ON COLUMN payments.review_reason IS 'Why an operator must look: what differs from the order.';
  COMMENT ON COLUMN payments.failure IS 'Why it failed, in a word of the provider.';
  COMMENT ON COLUMN payments.refunded_minor IS 'Refunded so far, or being refunded.';
  COMMENT ON COLUMN payments.disputed_minor IS 'Withdrawn by disputes, less what came back.';
  COMMENT ON COLUMN payments.reversed IS 'Credits taken back or turned into debt, less what was reinstated.';
  COMMENT ON COLUMN payments.version IS 'Changes so far: what was read from the provider before a change is stale.';
  COMMENT ON COLUMN payments.checks IS 'Times that the sweep has looked since the last change.';
  COMMENT ON COLUMN payments.next_check_at IS 'When the sweep looks again; null: no more.';
  COMMENT ON COLUMN payments.expires_at IS 'When its checkout closes.';
  COMMENT ON COLUMN payments.created_at IS 'When it was ordered.';
  COMMENT ON COLUMN payments.paid_at IS 'When it was found paid, and its credits were granted.';

  CREATE TABLE payment_events (
    provider text NOT NULL,
    id text NOT NULL,
    type text NOT NULL,
    live_mode boolean NOT NULL,
    hint jsonb NOT NULL,
    outcome text,
    tries integer NOT NULL DEFAULT 0,
    next_try_at timestamptz DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payment_events_pkey PRIMARY KEY (provider, id),
    CONSTRAINT payment_events_id_length CHECK (char_length(id) BETWEEN 1 AND 255),
    CONSTRAINT payment_events_decided_or_due CHECK ((outcome IS NULL) = (next_try_at IS NOT NULL)),
    CONSTRAINT payment_events_tries_not_negative CHECK (tries >= 0)
  );
  CREATE INDEX payment_events_due ON payment_events (next_try_at) WHERE next_try_at IS NOT NULL;
  CREATE INDEX payment_events_age ON payment_events (created_at);
  COMMENT ON TABLE payment_events
    IS 'Signed events of providers, once each. They are hints: nothing is credited by them.';
  COMMENT ON COLUMN payment_events.provider IS 'Who sent it.';
  COMMENT ON COLUMN payment_events.id IS 'The provider''s id of the event.';
  COMMENT ON COLUMN payment_events.type IS 'What it says happened.';
  COMMENT ON COLUMN payment_events.live_mode IS 'Whether it is about real money.';
  COMMENT ON COLUMN payment_events.hint IS 'Which object it is about, and which order that names.';
  COMMENT ON COLUMN payment_events.outcome IS 'checked, ignored, unknown, given up; null until a worker handled it.';
  COMMENT ON COLUMN payment_events.tries IS 'Times that a worker took it.';
  COMMENT ON COLUMN payment_events.next_try_at IS 'When a worker takes it (again); null once decided.';
  COMMENT ON COLUMN payment_events.created_at IS 'When it came in.'`

const MOVEMENTS = `
  CREATE TABLE payment_refunds (
    id uuid NOT NULL,
    payment_id uuid NOT NULL,
    amount_minor bigint NOT NULL,
    status text NOT NULL DEFAULT 'asked',
    reference text,
    failure text,
    operator_id uuid,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payment_refunds_pkey PRIMARY KEY (id),
    CONSTRAINT payment_refunds_reference_key UNIQUE (reference),
    CONSTRAINT payment_refunds_payment_fkey FOREIGN KEY (payment_id) REFERENCES payments (id),
    CONSTRAINT payment_refunds_operator_fkey FOREIGN KEY (operator_id) REFERENCES users (id),
    CONSTRAINT payment_refunds_amount_positive CHECK (amount_minor > 0),
    CONSTRAINT payment_refunds_status_known CHECK (status IN ('asked', 'taken', 'refused')),
    CONSTRAINT payment_refunds_taken_is_known_there CHECK (status <> 'taken' OR reference IS NOT NULL),
    CONSTRAINT payment_refunds_failure_length CHECK (char_length(failure) <= 200)
  );
  CREATE INDEX payment_refunds_payment ON payment_refunds (payment_id);
  COMMENT ON TABLE payment_refunds
    IS 'Refunds that operators asked for. Written, and their credits taken, before the provider is asked.';
  COMMENT ON COLUMN payment_refunds.id IS 'UUIDv7; the idempotency key at the provider.';
  COMMENT ON COLUMN payment_refunds.payment_id IS 'Of which payment.';
  COMMENT ON COLUMN payment_refunds.amount_minor IS 'How much, in the minor unit of the payment''s currency.';
  COMMENT ON COLUMN payment_refunds.status IS 'asked, taken (the provider has it) or refused (for good).';
  COMMENT ON COLUMN payment_refunds.reference IS 'The provider''s id of the refund.';
  COMMENT ON COLUMN payment_refunds.failure IS 'Why it was refused, in a word of the provider.';
  COMMENT ON COLUMN payment_refunds.operator_id IS 'Who asked for it; null for the command line.';
  COMMENT ON COLUMN payment_refunds.created_at IS 'When it was asked for.';

  CREATE TABLE payment_reversals (
    payment_id uuid NOT NULL,
    nth integer NOT NULL,
    account_id uuid NOT NULL,
    credits bigint NOT NULL,
    moved bigint NOT NULL,
    owed bigint NOT NULL,
    elsewhere bigint NOT NULL,
    refunded_minor bigint NOT NULL,
    disputed_minor bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT payment_reversals_pkey PRIMARY KEY (payment_id, nth),
    CONSTRAINT payment_reversals_payment_fkey FOREIGN KEY (payment_id, account_id)
      REFERENCES payments (id, account_id),
    CONSTRAINT payment_reversals_nth_positive CHECK (nth > 0),
    CONSTRAINT payment_reversals_of_something CHECK (credits <> 0),
    CONSTRAINT payment_reversals_parts CHECK (credits = moved + owed + elsewhere),
    CONSTRAINT payment_reversals_one_direction CHECK (CASE WHEN credits > 0
      THEN moved >= 0 AND owed >= 0 AND elsewhere = 0
      ELSE moved <= 0 AND owed <= 0 AND elsewhere <= 0 END)
  );
  CREATE INDEX payment_reversals_account ON payment_reversals (account_id);
  CREATE INDEX payment_reversals_time ON payment_reversals (created_at);
  COMMENT ON TABLE payment_reversals IS 'What refunds and disputes took back, and what was reinstated; append-only.';
  COMMENT ON COLUMN payment_reversals.payment_id IS 'Of which payment.';
  COMMENT ON COLUMN payment_reversals.nth IS '1, 2, 3… of its payment.';
  COMMENT ON COLUMN payment_reversals.account_id IS 'Whose credits.';
  COMMENT ON COLUMN payment_reversals.credits IS 'Taken back (positive) or reinstated (negative).';
  COMMENT ON COLUMN payment_reversals.moved IS 'Of these, by ledger entries of kind reversal or reinstatement.';
  COMMENT ON COLUMN payment_reversals.owed IS 'Of these, by debt: what was spent already.';
  COMMENT ON COLUMN payment_reversals.elsewhere
    IS 'Of these, by a new grant, or not at all where its debt was forgiven.';
  COMMENT ON COLUMN payment_reversals.refunded_minor IS 'What of the payment was refunded then.';
  COMMENT ON COLUMN payment_reversals.disputed_minor IS 'What disputes had withdrawn then.';
  COMMENT ON COLUMN payment_reversals.created_at IS 'When.';

  CREATE TABLE forgiven_debts (
    id uuid NOT NULL,
    account_id uuid NOT NULL,
    credits bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT forgiven_debts_pkey PRIMARY KEY (id),
    CONSTRAINT forgiven_debts_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT forgiven_debts_credits_positive CHECK (credits > 0)
  );
  CREATE INDEX forgiven_debts_account ON forgiven_debts (account_id);
  COMMENT ON TABLE forgiven_debts IS 'Debts that operators let go; append-only.';
  COMMENT ON COLUMN forgiven_debts.id IS 'UUIDv7.';
  COMMENT ON COLUMN forgiven_debts.account_id IS 'Whose debt.';
  COMMENT ON COLUMN forgiven_debts.credits IS 'How much it was.';
  COMMENT ON COLUMN forgiven_debts.created_at IS 'When.';

  ALTER TABLE grants ADD COLUMN payment_id uuid,
    ADD CONSTRAINT grants_payment_fkey FOREIGN KEY (payment_id, account_id) REFERENCES payments (id, account_id),
    ADD CONSTRAINT grants_payment_gives_purchases
      CHECK (payment_id IS NULL OR (origin IN ('purchase', 'bonus') AND expires_at IS NULL));
  COMMENT ON COLUMN grants.payment_id IS 'The payment that bought it.';

  ALTER TABLE ledger_entries ADD COLUMN payment_id uuid,
    ADD CONSTRAINT ledger_entries_payment_fkey FOREIGN KEY (payment_id, account_id)
      REFERENCES payments (id, account_id),
    ADD CONSTRAINT ledger_entries_payment_where_needed
      CHECK ((kind IN ('reversal', 'reinstatement')) = (payment_id IS NOT NULL)),
    DROP CONSTRAINT ledger_entries_sign_of_kind,
    ADD CONSTRAINT ledger_entries_sign_of_kind CHECK (CASE
      -- Arrays, because Postgres reads this text again for every statement (docs/performance.md#what-paid).
      WHEN kind = ANY ('{grant,refund,reinstatement}'::text[]) THEN amount > 0
      WHEN kind = ANY ('{charge,expiry,adjustment,collection,reversal}'::text[]) THEN amount < 0
      WHEN kind = 'settlement' THEN amount <> 0
      ELSE false END);
  COMMENT ON COLUMN ledger_entries.payment_id IS 'The payment that was reversed or reinstated.';
  COMMENT ON COLUMN ledger_entries.kind
    IS 'grant, charge, settlement, refund, expiry, adjustment, collection (repays debt), reversal or reinstatement.'`

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    COMMENT ON COLUMN ledger_entries.kind
      IS 'grant, charge, settlement, refund, expiry, adjustment or collection (repays debt).';
    ALTER TABLE ledger_entries DROP COLUMN payment_id, DROP CONSTRAINT ledger_entries_sign_of_kind,
      ADD CONSTRAINT ledger_entries_sign_of_kind CHECK (CASE kind
        WHEN 'grant' THEN amount > 0
        WHEN 'charge' THEN amount < 0
        WHEN 'refund' THEN amount > 0
        WHEN 'expiry' THEN amount < 0
        WHEN 'settlement' THEN amount <> 0
        WHEN 'adjustment' THEN amount < 0
        WHEN 'collection' THEN amount < 0
        ELSE false END);
    ALTER TABLE grants DROP COLUMN payment_id;
    DROP TABLE forgiven_debts, payment_reversals, payment_refunds, payment_events, payments;
  `)
}
