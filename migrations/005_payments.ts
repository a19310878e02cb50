/**
 * Payments: orders, a provider's events about them, their refunds and reversals, and how accounts pay. What ties an
 * order to its grants, and keeps its terms, are triggers of `sql/`.
 */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- Orders of credits. A row is committed before its provider is asked for anything.
    CREATE TABLE payments (
      id uuid NOT NULL, -- UUIDv7; pay_… in text. The idempotency key at the provider.
      account_id uuid NOT NULL, -- Who buys.
      provider text NOT NULL, -- Who takes the money: stripe.
      kind text NOT NULL, -- checkout (a page of the provider) or auto (automatic top-up).
      status text NOT NULL DEFAULT 'created', -- created, open, paid, expired, failed or review (an operator must look).
      live_mode boolean NOT NULL, -- Whether it moves real money; what the provider says must agree.
      pack text, -- The pack that was bought; null for a free amount.
      currency text NOT NULL, -- ISO 4217, lower case.
      amount_minor bigint NOT NULL, -- The price, in the minor unit of the currency.
      credits credits NOT NULL, -- Credits bought.
      bonus credits NOT NULL DEFAULT 0, -- Credits given on top.
      customer text, -- The provider's id of the customer.
      method text, -- The provider's id of the card that an automatic payment asks.
      session text, -- The provider's id of the checkout; null until it is known.
      intent text, -- The provider's id of the payment itself; null until it is known.
      receipt_url text, -- The provider's receipt.
      review_reason text, -- Why an operator must look: what differs from the order.
      failure text, -- Why it failed, in a word of the provider.
      refunded_minor bigint NOT NULL DEFAULT 0, -- Refunded so far, or being refunded.
      disputed_minor bigint NOT NULL DEFAULT 0, -- Withdrawn by disputes, less what came back.
      reversed credits NOT NULL DEFAULT 0, -- Credits taken back or turned into debt, less what was reinstated.
      version integer NOT NULL DEFAULT 0, -- Changes so far: what was read from the provider before a change is stale.
      checks integer NOT NULL DEFAULT 0, -- Times that the sweep has looked since the last change.
      next_check_at timestamptz, -- When the sweep looks again; null: no more.
      expires_at timestamptz, -- When its checkout closes.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was ordered.
      paid_at timestamptz, -- When it was found paid, and its credits were granted.
      -- The provider's page, for as long as nobody has paid there; not to be shown unless the payment is open.
      page text,
      CONSTRAINT payments_pkey PRIMARY KEY (id),
      CONSTRAINT payments_intent_key UNIQUE (provider, intent),
      CONSTRAINT payments_of_account_key UNIQUE (id, account_id),
      CONSTRAINT payments_session_key UNIQUE (provider, session),
      CONSTRAINT payments_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT payments_amount_positive CHECK (amount_minor BETWEEN 1 AND 1000000000000),
      CONSTRAINT payments_auto_has_card CHECK (kind <> 'auto' OR (method IS NOT NULL AND session IS NULL)),
      CONSTRAINT payments_bonus_not_negative CHECK (bonus BETWEEN 0 AND 1000000000000),
      CONSTRAINT payments_checks_not_negative CHECK (checks >= 0),
      CONSTRAINT payments_credits_positive CHECK (credits BETWEEN 1 AND 1000000000000),
      CONSTRAINT payments_currency_is_lowercase CHECK (currency ~ '^[a-z]{3}$'),
      CONSTRAINT payments_disputed_within CHECK (disputed_minor BETWEEN 0 AND amount_minor),
      CONSTRAINT payments_failure_length CHECK (char_length(failure) <= 200),
      CONSTRAINT payments_kind_known CHECK (kind IN ('checkout', 'auto')),
      CONSTRAINT payments_open_is_known_there CHECK (status <> 'open' OR session IS NOT NULL OR intent IS NOT NULL),
      CONSTRAINT payments_pack_length CHECK (char_length(pack) <= 200),
      CONSTRAINT payments_paid_has_time CHECK ((status = 'paid') = (paid_at IS NOT NULL)),
      CONSTRAINT payments_provider_known CHECK (provider IN ('stripe')),
      CONSTRAINT payments_refunded_within CHECK (refunded_minor BETWEEN 0 AND amount_minor),
      CONSTRAINT payments_reversed_was_paid CHECK (reversed = 0 OR status = 'paid'),
      CONSTRAINT payments_reversed_within CHECK (reversed BETWEEN 0 AND credits + bonus),
      CONSTRAINT payments_review_has_reason CHECK ((status = 'review') = (review_reason IS NOT NULL)),
      CONSTRAINT payments_status_known CHECK (status IN ('created', 'open', 'paid', 'expired', 'failed', 'review'))
    );
    CREATE INDEX payments_account ON payments (account_id, id DESC);
    CREATE INDEX payments_due ON payments (next_check_at) WHERE next_check_at IS NOT NULL;
    -- One automatic payment of an account at a time, whatever asks for one.
    CREATE UNIQUE INDEX payments_one_auto ON payments (account_id)
      WHERE kind = 'auto' AND status IN ('created', 'open', 'review');
    CREATE INDEX payments_review ON payments (id) WHERE status = 'review';

    -- Signed events of providers, once each. They are hints: nothing is credited by them.
    CREATE TABLE payment_events (
      provider text NOT NULL, -- Who sent it.
      id text NOT NULL, -- The provider's id of the event.
      type text NOT NULL, -- What it says happened.
      live_mode boolean NOT NULL, -- Whether it is about real money.
      hint jsonb NOT NULL, -- Which object it is about, and which order that names.
      outcome text, -- checked, ignored, unknown, given up; null until a worker handled it.
      tries integer NOT NULL DEFAULT 0, -- Times that a worker took it.
      next_try_at timestamptz DEFAULT now(), -- When a worker takes it (again); null once decided.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it came in.
      CONSTRAINT payment_events_pkey PRIMARY KEY (provider, id),
      CONSTRAINT payment_events_decided_or_due CHECK ((outcome IS NULL) = (next_try_at IS NOT NULL)),
      CONSTRAINT payment_events_id_length CHECK (char_length(id) BETWEEN 1 AND 255),
      CONSTRAINT payment_events_tries_not_negative CHECK (tries >= 0)
    );
    CREATE INDEX payment_events_age ON payment_events (created_at);
    CREATE INDEX payment_events_due ON payment_events (next_try_at) WHERE next_try_at IS NOT NULL;

    -- Refunds that operators asked for. Written, and their credits taken, before the provider is asked.
    CREATE TABLE payment_refunds (
      id uuid NOT NULL, -- UUIDv7; the idempotency key at the provider.
      payment_id uuid NOT NULL, -- Of which payment.
      amount_minor bigint NOT NULL, -- How much, in the minor unit of the payment's currency.
      status text NOT NULL DEFAULT 'asked', -- asked, taken (the provider has it) or refused (for good).
      reference text, -- The provider's id of the refund.
      failure text, -- Why it was refused, in a word of the provider.
      operator_id uuid, -- Who asked for it; null for the command line.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was asked for.
      CONSTRAINT payment_refunds_pkey PRIMARY KEY (id),
      CONSTRAINT payment_refunds_reference_key UNIQUE (reference),
      CONSTRAINT payment_refunds_operator_fkey FOREIGN KEY (operator_id) REFERENCES users (id),
      CONSTRAINT payment_refunds_payment_fkey FOREIGN KEY (payment_id) REFERENCES payments (id),
      CONSTRAINT payment_refunds_amount_positive CHECK (amount_minor > 0),
      CONSTRAINT payment_refunds_failure_length CHECK (char_length(failure) <= 200),
      CONSTRAINT payment_refunds_status_known CHECK (status IN ('asked', 'taken', 'refused')),
      CONSTRAINT payment_refunds_taken_is_known_there CHECK (status <> 'taken' OR reference IS NOT NULL)
    );
    CREATE INDEX payment_refunds_payment ON payment_refunds (payment_id);

    -- What refunds and disputes took back, and what was reinstated; append-only.
    CREATE TABLE payment_reversals (
      payment_id uuid NOT NULL, -- Of which payment.
      nth integer NOT NULL, -- 1, 2, 3… of its payment.
      account_id uuid NOT NULL, -- Whose credits.
      credits bigint NOT NULL, -- Taken back (positive) or reinstated (negative).
      moved bigint NOT NULL, -- Of these, by ledger entries of kind reversal or reinstatement.
      owed bigint NOT NULL, -- Of these, by debt: what was spent already.
      elsewhere bigint NOT NULL, -- Of these, by a new grant, or not at all where its debt was forgiven.
      refunded_minor bigint NOT NULL, -- What of the payment was refunded then.
      disputed_minor bigint NOT NULL, -- What disputes had withdrawn then.
      created_at timestamptz NOT NULL DEFAULT now(), -- When.
      CONSTRAINT payment_reversals_pkey PRIMARY KEY (payment_id, nth),
      CONSTRAINT payment_reversals_payment_fkey FOREIGN KEY (payment_id, account_id)
        REFERENCES payments (id, account_id),
      CONSTRAINT payment_reversals_nth_positive CHECK (nth > 0),
      CONSTRAINT payment_reversals_of_something CHECK (credits <> 0),
      CONSTRAINT payment_reversals_one_direction
        CHECK (CASE WHEN credits > 0 THEN moved >= 0 AND owed >= 0 AND elsewhere = 0
          ELSE moved <= 0 AND owed <= 0 AND elsewhere <= 0 END),
      CONSTRAINT payment_reversals_parts CHECK (credits = moved + owed + elsewhere)
    );
    CREATE INDEX payment_reversals_account ON payment_reversals (account_id);
    CREATE INDEX payment_reversals_time ON payment_reversals (created_at);

    -- How an account pays. A row is made when it first buys or sets something.
    CREATE TABLE billing_settings (
      account_id uuid NOT NULL, -- Whose settings.
      customer text, -- The provider's id of the customer.
      card_method text, -- The provider's id of the card that was kept; null without one.
      card_brand text, -- Its brand.
      card_last4 text, -- Its last four digits.
      card_exp_month integer, -- The month in which it expires.
      card_exp_year integer, -- The year in which it expires.
      top_up_pack text, -- The pack that an automatic top-up buys.
      top_up_amount_minor bigint, -- The free amount that it buys instead.
      top_up_monthly_cap_minor bigint, -- The most that it pays a month of UTC; null: off.
      top_up_declines integer NOT NULL DEFAULT 0, -- Declines in a row; the third turns it off.
      live_mode boolean, -- The mode of the provider that knows the customer and the card; null where it is not known.
      -- The customer before, which the provider no longer has: part of the key under which the next one is made.
      customer_gone text,
      top_up_failure text, -- Why the last automatic top-up failed; null where it did not.
      top_up_failed_at timestamptz, -- When it failed.
      -- When a balance that is still too low is topped up again after a failure; null: not before the next crossing.
      top_up_retry_at timestamptz,
      CONSTRAINT billing_settings_pkey PRIMARY KEY (account_id),
      CONSTRAINT billing_settings_customer_key UNIQUE (customer),
      CONSTRAINT billing_settings_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT billing_settings_amount_positive CHECK (top_up_amount_minor > 0),
      CONSTRAINT billing_settings_cap_positive CHECK (top_up_monthly_cap_minor > 0),
      CONSTRAINT billing_settings_card_whole
        CHECK (num_nulls(card_method, card_brand, card_last4, card_exp_month, card_exp_year) IN (0, 5)),
      CONSTRAINT billing_settings_failure_has_time CHECK ((top_up_failure IS NULL) = (top_up_failed_at IS NULL)),
      CONSTRAINT billing_settings_failure_length CHECK (char_length(top_up_failure) <= 200),
      CONSTRAINT billing_settings_three_declines CHECK (top_up_declines BETWEEN 0 AND 2),
      CONSTRAINT billing_settings_top_up_whole
        CHECK (CASE WHEN top_up_monthly_cap_minor IS NULL THEN num_nonnulls(top_up_pack, top_up_amount_minor) = 0
          ELSE num_nonnulls(top_up_pack, top_up_amount_minor) = 1 AND card_method IS NOT NULL END)
    );
    CREATE INDEX billing_settings_top_up_retry ON billing_settings (top_up_retry_at)
      WHERE top_up_retry_at IS NOT NULL;

    -- What a provider has still to forget: a worker asks it until it has, and removes the row.
    CREATE TABLE customers_to_forget (
      provider text NOT NULL, -- Who is to forget.
      customer text NOT NULL, -- The provider's id of the customer.
      is_whole boolean NOT NULL, -- The customer; otherwise only the cards that were kept until then.
      asked_at timestamptz NOT NULL DEFAULT now(), -- Since when. Cards that are kept later stay.
      tries integer NOT NULL DEFAULT 0, -- Times that a worker took it.
      next_try_at timestamptz NOT NULL DEFAULT now(), -- When a worker takes it (again).
      CONSTRAINT customers_to_forget_pkey PRIMARY KEY (provider, customer),
      CONSTRAINT customers_to_forget_tries_not_negative CHECK (tries >= 0)
    );
    CREATE INDEX customers_to_forget_due ON customers_to_forget (next_try_at);
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw(
    'DROP TABLE customers_to_forget, billing_settings, payment_reversals, payment_refunds, payment_events, payments',
  )
}
