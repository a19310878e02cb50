/**
 * What stands around payments: redemption codes, what accounts set about money, the mails and the operators' actions
 * that come with them.
 */
import type { Knex } from 'knex'
import { addKnown, removeKnown } from './known.ts'

export async function up(db: Knex): Promise<void> {
  await db.raw(`${INDEXES};${CODES};${SETTINGS};${KNOWN_ELSEWHERE}`)
  await addKnown(db, 'mails', 'mails_kind_known', MAILS)
  await addKnown(db, 'operator_actions', 'operator_actions_action_known', [...ACTIONS, ...OPERATING])
}

const INDEXES = `
  -- One grant a payment and origin: a payment is credited once, however often it is reported.
  CREATE UNIQUE INDEX grants_once_per_payment ON grants (payment_id, origin) WHERE payment_id IS NOT NULL;
  CREATE INDEX ledger_entries_payment ON ledger_entries (payment_id) WHERE payment_id IS NOT NULL;
  CREATE INDEX ledger_entries_collected ON ledger_entries (account_id, grant_id) WHERE kind = 'collection'`

const CODES = `
  CREATE TABLE redemption_codes (
    id uuid NOT NULL,
    code_hash bytea NOT NULL,
    hint text NOT NULL,
    credits bigint NOT NULL,
    uses integer NOT NULL DEFAULT 0,
    max_uses integer NOT NULL,
    expires_at timestamptz,
    grants_expire_at timestamptz,
    disabled_at timestamptz,
    note text,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT redemption_codes_pkey PRIMARY KEY (id),
    CONSTRAINT redemption_codes_hash_key UNIQUE (code_hash),
    CONSTRAINT redemption_codes_hash_is_sha256 CHECK (octet_length(code_hash) = 32),
    CONSTRAINT redemption_codes_credits_positive CHECK (credits BETWEEN 1 AND 1000000000000),
    CONSTRAINT redemption_codes_max_uses_positive CHECK (max_uses > 0),
    CONSTRAINT redemption_codes_uses_at_most_max CHECK (uses BETWEEN 0 AND max_uses),
    CONSTRAINT redemption_codes_note_length CHECK (char_length(note) <= 200)
  );
  COMMENT ON TABLE redemption_codes IS 'Codes that give credits. The code itself is never stored.';
  COMMENT ON COLUMN redemption_codes.id IS 'UUIDv7; code_… in text.';
  COMMENT ON COLUMN redemption_codes.code_hash IS 'SHA-256 of the code without its dashes.';
  COMMENT ON COLUMN redemption_codes.hint IS 'Its last four characters, to recognise it by.';
  COMMENT ON COLUMN redemption_codes.credits IS 'Credits for each who redeems it.';
  COMMENT ON COLUMN redemption_codes.uses IS 'Times that it was redeemed.';
  COMMENT ON COLUMN redemption_codes.max_uses IS 'The most times that it can be.';
  COMMENT ON COLUMN redemption_codes.expires_at IS 'From then on it is refused; null: never.';
  COMMENT ON COLUMN redemption_codes.grants_expire_at IS 'When the credits that it gave expire; null: never.';
  COMMENT ON COLUMN redemption_codes.disabled_at IS 'Since when an operator has it refused; null while it is not.';
  COMMENT ON COLUMN redemption_codes.note IS 'The operator''s remark.';
  COMMENT ON COLUMN redemption_codes.created_at IS 'When it was made.';

  CREATE TABLE redemptions (
    code_id uuid NOT NULL,
    account_id uuid NOT NULL,
    grant_id uuid NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT redemptions_pkey PRIMARY KEY (code_id, account_id),
    CONSTRAINT redemptions_grant_key UNIQUE (grant_id),
    CONSTRAINT redemptions_code_fkey FOREIGN KEY (code_id) REFERENCES redemption_codes (id),
    CONSTRAINT redemptions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT redemptions_grant_fkey FOREIGN KEY (grant_id) REFERENCES grants (id)
  );
  CREATE INDEX redemptions_account ON redemptions (account_id);
  COMMENT ON TABLE redemptions IS 'Who has redeemed which code: an account each code once.';
  COMMENT ON COLUMN redemptions.code_id IS 'Which code.';
  COMMENT ON COLUMN redemptions.account_id IS 'Whose account.';
  COMMENT ON COLUMN redemptions.grant_id IS 'The grant that it gave.';
  COMMENT ON COLUMN redemptions.created_at IS 'When.'`

const SETTINGS = `
  CREATE TABLE billing_settings (
    account_id uuid NOT NULL,
    customer text,
    card_method text,
    card_brand text,
    card_last4 text,
    card_exp_month integer,
    card_exp_year integer,
    top_up_pack text,
    top_up_amount_minor bigint,
    top_up_monthly_cap_minor bigint,
    top_up_declines integer NOT NULL DEFAULT 0,
    CONSTRAINT billing_settings_pkey PRIMARY KEY (account_id),
    CONSTRAINT billing_settings_customer_key UNIQUE (customer),
    CONSTRAINT billing_settings_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
    CONSTRAINT billing_settings_card_whole CHECK (num_nulls(card_method, card_brand, card_last4, card_exp_month,
      card_exp_year) IN (0, 5)),
    CONSTRAINT billing_settings_top_up_whole CHECK (CASE WHEN top_up_monthly_cap_minor IS NULL
      THEN num_nonnulls(top_up_pack, top_up_amount_minor) = 0
      ELSE num_nonnulls(top_up_pack, top_up_amount_minor) = 1 AND card_method IS NOT NULL END),
    CONSTRAINT billing_settings_amount_positive CHECK (top_up_amount_minor > 0),
    CONSTRAINT billing_settings_cap_positive CHECK (top_up_monthly_cap_minor > 0),
    CONSTRAINT billing_settings_three_declines CHECK (top_up_declines BETWEEN 0 AND 2)
  );
  COMMENT ON TABLE billing_settings IS 'How an account pays. A row is made when it first buys or sets something.';
  COMMENT ON COLUMN billing_settings.account_id IS 'Whose settings.';
  COMMENT ON COLUMN billing_settings.customer IS 'The provider''s id of the customer.';
  COMMENT ON COLUMN billing_settings.card_method IS 'The provider''s id of the card that was kept; null without one.';
  COMMENT ON COLUMN billing_settings.card_brand IS 'Its brand.';
  COMMENT ON COLUMN billing_settings.card_last4 IS 'Its last four digits.';
  COMMENT ON COLUMN billing_settings.card_exp_month IS 'The month in which it expires.';
  COMMENT ON COLUMN billing_settings.card_exp_year IS 'The year in which it expires.';
  COMMENT ON COLUMN billing_settings.top_up_pack IS 'The pack that an automatic top-up buys.';
  COMMENT ON COLUMN billing_settings.top_up_amount_minor IS 'The free amount that it buys instead.';
  COMMENT ON COLUMN billing_settings.top_up_monthly_cap_minor IS 'The most that it pays a month of UTC; null: off.';
  COMMENT ON COLUMN billing_settings.top_up_declines IS 'Declines in a row; the third turns it off.';

  CREATE TABLE customers_to_forget (
    provider text NOT NULL,
    customer text NOT NULL,
    is_whole boolean NOT NULL,
    asked_at timestamptz NOT NULL DEFAULT now(),
    tries integer NOT NULL DEFAULT 0,
    next_try_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT customers_to_forget_pkey PRIMARY KEY (provider, customer),
    CONSTRAINT customers_to_forget_tries_not_negative CHECK (tries >= 0)
  );
  CREATE INDEX customers_to_forget_due ON customers_to_forget (next_try_at);
  COMMENT ON TABLE customers_to_forget
    IS 'What a provider has still to forget: a worker asks it until it has, and removes the row.';
  COMMENT ON COLUMN customers_to_forget.provider IS 'Who is to forget.';
  COMMENT ON COLUMN customers_to_forget.customer IS 'The provider''s id of the customer.';
  COMMENT ON COLUMN customers_to_forget.is_whole IS 'The customer; otherwise only the cards that were kept until then.';
  COMMENT ON COLUMN customers_to_forget.asked_at IS 'Since when. Cards that are kept later stay.';
  COMMENT ON COLUMN customers_to_forget.tries IS 'Times that a worker took it.';
  COMMENT ON COLUMN customers_to_forget.next_try_at IS 'When a worker takes it (again).';

  ALTER TABLE accounts
    ADD COLUMN low_balance_below bigint,
    ADD COLUMN low_balance_state text NOT NULL DEFAULT 'armed',
    ADD COLUMN top_up_below bigint,
    ADD COLUMN top_up_state text NOT NULL DEFAULT 'armed',
    ADD CONSTRAINT accounts_low_balance_positive CHECK (low_balance_below > 0),
    ADD CONSTRAINT accounts_top_up_positive CHECK (top_up_below > 0),
    ADD CONSTRAINT accounts_low_balance_state_known CHECK (low_balance_state IN ('armed', 'due', 'done')),
    ADD CONSTRAINT accounts_top_up_state_known CHECK (top_up_state IN ('armed', 'due', 'done')),
    ADD CONSTRAINT accounts_watch_only_what_is_set CHECK ((low_balance_below IS NOT NULL OR low_balance_state = 'armed')
      AND (top_up_below IS NOT NULL OR top_up_state = 'armed'));
  CREATE INDEX accounts_low_balance_due ON accounts (id) WHERE low_balance_state = 'due';
  CREATE INDEX accounts_top_up_due ON accounts (id) WHERE top_up_state = 'due';
  CREATE INDEX accounts_in_debt ON accounts (id) WHERE debt > 0;
  COMMENT ON COLUMN accounts.debt
    IS 'Credits that calls and reversals left uncollected, less what was collected. Beside it nothing can be spent.';
  COMMENT ON COLUMN accounts.low_balance_below IS 'A balance below it is worth a mail; null: none is wanted.';
  COMMENT ON COLUMN accounts.low_balance_state IS 'armed, due (crossed, a mail is to be written) or done.';
  COMMENT ON COLUMN accounts.top_up_below IS 'A balance below it is topped up; null: it is not.';
  COMMENT ON COLUMN accounts.top_up_state IS 'armed, due (crossed, a worker is to pay) or done.'`

const KNOWN_ELSEWHERE = `
  ALTER TABLE mails ADD COLUMN details jsonb NOT NULL DEFAULT '{}';
  COMMENT ON COLUMN mails.kind
    IS 'verification, reset, address, address_notice, budget, receipt, low_balance or top_up_off.';
  COMMENT ON COLUMN mails.details IS 'What a mail says beside its links: amounts, addresses.'`

const MAILS = ['receipt', 'low_balance', 'top_up_off']
const ACTIONS = ['payment_refunded', 'payment_resolved', 'code_created', 'code_disabled', 'debt_forgiven']

/** What operators do in the console beside that. */
const OPERATING = [
  'credits_deducted',
  'account_viewed',
  'mail_discarded',
  'actions_exported',
  'banner_set',
  'banner_removed',
]

const textOf = (values: string[]): string => values.map((value) => `'${value}'`).join(', ')

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DELETE FROM operator_actions WHERE action IN (${textOf([...ACTIONS, ...OPERATING])});
    DELETE FROM mails WHERE kind IN (${textOf(MAILS)});
    ALTER TABLE mails DROP COLUMN details;
    COMMENT ON COLUMN mails.kind IS 'verification, reset, address, address_notice or budget.';
    ALTER TABLE accounts DROP COLUMN low_balance_below, DROP COLUMN low_balance_state, DROP COLUMN top_up_below,
      DROP COLUMN top_up_state;
    DROP INDEX accounts_in_debt, grants_once_per_payment, ledger_entries_payment, ledger_entries_collected;
    COMMENT ON COLUMN accounts.debt
      IS
      'Credits that its calls left uncollected, less what was collected since. '
      'While there is any, nothing can be spent.';
    DROP TABLE customers_to_forget, billing_settings, redemptions, redemption_codes;
  `)
  await removeKnown(db, 'mails', 'mails_kind_known', MAILS)
  await removeKnown(db, 'operator_actions', 'operator_actions_action_known', [...ACTIONS, ...OPERATING])
}
