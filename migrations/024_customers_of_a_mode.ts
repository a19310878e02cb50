/**
 * A customer and a card belong to one mode of the provider; an automatic top-up that failed is told, and tried again
 * later; and a checkout that nobody has paid keeps its page.
 */
import type { Knex } from 'knex'
import { addKnown, removeKnown } from './known.ts'

const MAILS = ['top_up_failed']

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE billing_settings
      ADD COLUMN live_mode boolean,
      ADD COLUMN customer_gone text,
      ADD COLUMN top_up_failure text,
      ADD COLUMN top_up_failed_at timestamptz,
      ADD COLUMN top_up_retry_at timestamptz,
      ADD CONSTRAINT billing_settings_failure_has_time
        CHECK ((top_up_failure IS NULL) = (top_up_failed_at IS NULL)),
      ADD CONSTRAINT billing_settings_failure_length CHECK (char_length(top_up_failure) <= 200);
    CREATE INDEX billing_settings_top_up_retry ON billing_settings (top_up_retry_at)
      WHERE top_up_retry_at IS NOT NULL;
    COMMENT ON COLUMN billing_settings.live_mode
      IS 'The mode of the provider that knows the customer and the card; null where it is not known.';
    COMMENT ON COLUMN billing_settings.customer_gone
      IS 'The customer before, which the provider no longer has: part of the key under which the next one is made.';
    COMMENT ON COLUMN billing_settings.top_up_failure
      IS 'Why the last automatic top-up failed; null where it did not.';
    COMMENT ON COLUMN billing_settings.top_up_failed_at IS 'When it failed.';
    COMMENT ON COLUMN billing_settings.top_up_retry_at
      IS 'When a balance that is still too low is topped up again after a failure; null: not before the next crossing.';
    UPDATE billing_settings b SET live_mode = p.live_mode
      FROM (SELECT DISTINCT ON (account_id, customer) account_id, customer, live_mode FROM payments
        WHERE customer IS NOT NULL ORDER BY account_id, customer, id DESC) p
      WHERE p.account_id = b.account_id AND p.customer = b.customer;
    ALTER TABLE payments ADD COLUMN page text;
    COMMENT ON COLUMN payments.page
      IS 'The provider''s page, for as long as nobody has paid there; not to be shown unless the payment is open.';
    COMMENT ON COLUMN mails.kind
      IS 'verification, reset, address, address_notice, budget, receipt, low_balance, top_up_failed or top_up_off.';
  `)
  await addKnown(db, 'mails', 'mails_kind_known', MAILS)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DELETE FROM mails WHERE kind IN (${MAILS.map((kind) => `'${kind}'`).join(', ')});
    COMMENT ON COLUMN mails.kind
      IS 'verification, reset, address, address_notice, budget, receipt, low_balance or top_up_off.';
    ALTER TABLE payments DROP COLUMN page;
    ALTER TABLE billing_settings DROP COLUMN live_mode, DROP COLUMN customer_gone, DROP COLUMN top_up_failure,
      DROP COLUMN top_up_failed_at, DROP COLUMN top_up_retry_at;
  `)
  await removeKnown(db, 'mails', 'mails_kind_known', MAILS)
}
