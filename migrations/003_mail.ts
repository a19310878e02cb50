/**
 * The outbox of mails, the one-time tokens of the links in them, and how many a mailbox was sent. No secret is stored
 * here: tokens are stored as SHA-256, a mail as its subject matter and recipient.
 */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- The outbox: written with what causes a mail, delivered by the mail workers.
    CREATE TABLE mails (
      id uuid NOT NULL, -- UUIDv7; mail_… in text. Message-ID and link are made of it.
      -- verification, reset, address, address_notice, access, key_rotated, budget, receipt, low_balance, top_up_failed,
      -- top_up_off or invitation.
      kind text NOT NULL,
      recipient text NOT NULL, -- The address, ASCII, lowercased.
      user_id uuid, -- The user whom it is about; null for a reset and an invitation.
      -- queued, sending, sent, skipped (no mail was due) or dead (given up, a dead letter).
      status text NOT NULL DEFAULT 'queued',
      tries integer NOT NULL DEFAULT 0, -- Times that a worker took it.
      -- When it may be taken; while sending, when its worker counts as dead.
      next_try_at timestamptz NOT NULL DEFAULT now(),
      note text, -- What the last try ran into, or why no mail was due.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was asked for.
      finished_at timestamptz, -- When it was sent, skipped or given up.
      details jsonb NOT NULL DEFAULT '{}', -- What a mail says beside its links: amounts, addresses.
      CONSTRAINT mails_pkey PRIMARY KEY (id),
      CONSTRAINT mails_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT mails_finished_or_not CHECK ((status IN ('sent', 'skipped', 'dead')) = (finished_at IS NOT NULL)),
      CONSTRAINT mails_kind_known
        CHECK (kind IN ('verification', 'reset', 'address', 'address_notice', 'budget', 'receipt', 'low_balance',
          'top_up_off', 'access', 'key_rotated', 'top_up_failed', 'invitation', 'webhook_off')),
      CONSTRAINT mails_note_length CHECK (char_length(note) <= 500),
      CONSTRAINT mails_recipient_is_lowercase
        CHECK (recipient = lower(recipient) AND length(recipient) BETWEEN 3 AND 254),
      CONSTRAINT mails_know_their_user CHECK ((kind IN ('reset', 'invitation')) = (user_id IS NULL)),
      CONSTRAINT mails_status_known CHECK (status IN ('queued', 'sending', 'sent', 'skipped', 'dead')),
      CONSTRAINT mails_tries_not_negative CHECK (tries >= 0)
    );
    -- Few among many that were sent, and looked for by operators.
    CREATE INDEX mails_dead ON mails (id) WHERE status = 'dead';
    CREATE INDEX mails_due ON mails (next_try_at) WHERE status IN ('queued', 'sending');
    CREATE INDEX mails_finished ON mails (status, finished_at) WHERE finished_at IS NOT NULL;
    CREATE INDEX mails_user ON mails (user_id, created_at) WHERE user_id IS NOT NULL;

    -- The links that were mailed. A row stays as long as its mail, so that a late try cannot revive a spent link.
    CREATE TABLE one_time_tokens (
      mail_id uuid NOT NULL, -- The mail that carries the link.
      user_id uuid NOT NULL, -- Whose address or password it is about.
      purpose text NOT NULL, -- The kind of the mail: a link does one thing.
      token_hash bytea NOT NULL, -- SHA-256 of the token.
      -- The address it was mailed to; dead once the user has another or, for a new one, once somebody has it.
      email text NOT NULL,
      -- When its mail was asked for: the newest link of a reset or a new address ends the older ones.
      asked_at timestamptz NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(), -- First try of its mail.
      expires_at timestamptz NOT NULL, -- Counted from the last try of its mail.
      spent_at timestamptz, -- When it was used; null while it was not.
      CONSTRAINT one_time_tokens_pkey PRIMARY KEY (mail_id),
      CONSTRAINT one_time_tokens_hash_key UNIQUE (token_hash),
      CONSTRAINT one_time_tokens_mail_fkey FOREIGN KEY (mail_id) REFERENCES mails (id) ON DELETE CASCADE,
      CONSTRAINT one_time_tokens_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT one_time_tokens_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
      CONSTRAINT one_time_tokens_purpose_known CHECK (purpose IN ('verification', 'reset', 'address', 'access'))
    );
    CREATE INDEX one_time_tokens_user ON one_time_tokens (user_id, purpose, asked_at);

    -- The mails that each mailbox was sent, for the hourly limit: kept for a day, also if the account is deleted.
    CREATE TABLE mailbox_mails (
      mail_id uuid NOT NULL, -- The mail; a mail that is tried again counts once. Its row may be gone.
      mailbox bytea NOT NULL, -- HMAC-SHA-256 of the mailbox, as in mailbox_gifts.
      kind text NOT NULL, -- What the limit counts apart: the kind of the mail, or test.
      counted_at timestamptz NOT NULL DEFAULT now(), -- When it was first to be sent.
      CONSTRAINT mailbox_mails_pkey PRIMARY KEY (mail_id),
      CONSTRAINT mailbox_mails_mailbox_is_sha256 CHECK (octet_length(mailbox) = 32)
    );
    CREATE INDEX mailbox_mails_mailbox ON mailbox_mails (mailbox, kind, counted_at);
    CREATE INDEX mailbox_mails_old ON mailbox_mails (counted_at);
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE mailbox_mails, one_time_tokens, mails')
}
