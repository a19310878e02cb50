/**
 * What a mailbox was given and sent, under a keyed hash of it that outlives its accounts; and the link that ends
 * everything which can use an account.
 */
import type { Knex } from 'knex'
import { addKnown, removeKnown } from './known.ts'

const KINDS = ['access']

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE mailbox_gifts (
      grant_id uuid NOT NULL,
      mailbox bytea NOT NULL,
      code_id uuid,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT mailbox_gifts_pkey PRIMARY KEY (grant_id),
      -- The mailbox is claimed before the grant is made: of two that claim it at once, one waits for the other.
      CONSTRAINT mailbox_gifts_grant_fkey FOREIGN KEY (grant_id) REFERENCES grants (id) DEFERRABLE INITIALLY DEFERRED,
      CONSTRAINT mailbox_gifts_code_fkey FOREIGN KEY (code_id) REFERENCES redemption_codes (id),
      CONSTRAINT mailbox_gifts_mailbox_is_sha256 CHECK (octet_length(mailbox) = 32)
    );
    CREATE UNIQUE INDEX mailbox_gifts_signup_once ON mailbox_gifts (mailbox) WHERE code_id IS NULL;
    CREATE UNIQUE INDEX mailbox_gifts_code_once ON mailbox_gifts (mailbox, code_id) WHERE code_id IS NOT NULL;
    COMMENT ON TABLE mailbox_gifts
      IS 'What a mailbox is given once: the sign-up credits, and the credits of each code. It outlives the account.';
    COMMENT ON COLUMN mailbox_gifts.grant_id IS 'The grant that was given.';
    COMMENT ON COLUMN mailbox_gifts.mailbox
      IS 'HMAC-SHA-256 of the mailbox, under a key derived from APP_SECRET: it identifies nobody without the secret.';
    COMMENT ON COLUMN mailbox_gifts.code_id IS 'The code that was redeemed; null for the sign-up credits.';
    COMMENT ON COLUMN mailbox_gifts.created_at IS 'When it was given.';

    CREATE TABLE mailbox_mails (
      mail_id uuid NOT NULL,
      mailbox bytea NOT NULL,
      kind text NOT NULL,
      counted_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT mailbox_mails_pkey PRIMARY KEY (mail_id),
      CONSTRAINT mailbox_mails_mailbox_is_sha256 CHECK (octet_length(mailbox) = 32)
    );
    CREATE INDEX mailbox_mails_mailbox ON mailbox_mails (mailbox, kind, counted_at);
    CREATE INDEX mailbox_mails_old ON mailbox_mails (counted_at);
    COMMENT ON TABLE mailbox_mails
      IS 'The mails that each mailbox was sent, for the hourly limit: kept for a day, also if the account is deleted.';
    COMMENT ON COLUMN mailbox_mails.mail_id IS 'The mail; a mail that is tried again counts once. Its row may be gone.';
    COMMENT ON COLUMN mailbox_mails.mailbox IS 'HMAC-SHA-256 of the mailbox, as in mailbox_gifts.';
    COMMENT ON COLUMN mailbox_mails.kind IS 'What the limit counts apart: the kind of the mail, or test.';
    COMMENT ON COLUMN mailbox_mails.counted_at IS 'When it was first to be sent.';

    ALTER TABLE one_time_tokens ALTER COLUMN mailbox DROP NOT NULL;
    COMMENT ON COLUMN one_time_tokens.mailbox IS 'Written by the releases before 0.2 alone; see mailbox_mails.';
  `)
  await addKnown(db, 'mails', 'mails_kind_known', KINDS)
  await addKnown(db, 'one_time_tokens', 'one_time_tokens_purpose_known', KINDS)
}

export async function down(db: Knex): Promise<void> {
  // Links go with their mails.
  await db.raw(`
    DELETE FROM mails WHERE kind = 'access';
    UPDATE one_time_tokens SET mailbox = email WHERE mailbox IS NULL;
    ALTER TABLE one_time_tokens ALTER COLUMN mailbox SET NOT NULL;
    COMMENT ON COLUMN one_time_tokens.mailbox
      IS 'The mailbox that the address leads to, without tags: the hourly limit counts by it.';
    DROP TABLE mailbox_mails, mailbox_gifts;
  `)
  await removeKnown(db, 'one_time_tokens', 'one_time_tokens_purpose_known', KINDS)
  await removeKnown(db, 'mails', 'mails_kind_known', KINDS)
}
