/**
 * Sessions, the outbox of mails, and the one-time tokens of the links in them. No secret rests here: sessions and
 * tokens are kept as SHA-256, a mail as what it is about and for whom.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE sessions (
      id uuid NOT NULL,
      user_id uuid NOT NULL,
      account_id uuid NOT NULL,
      token_hash bytea NOT NULL,
      user_agent text NOT NULL,
      ip text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      last_seen_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL,
      CONSTRAINT sessions_pkey PRIMARY KEY (id),
      CONSTRAINT sessions_token_hash_key UNIQUE (token_hash),
      CONSTRAINT sessions_member_fkey FOREIGN KEY (user_id, account_id) REFERENCES members (user_id, account_id)
        ON DELETE CASCADE,
      CONSTRAINT sessions_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
      CONSTRAINT sessions_user_agent_length CHECK (char_length(user_agent) <= 200),
      CONSTRAINT sessions_ip_length CHECK (char_length(ip) <= 45),
      CONSTRAINT sessions_live_a_week_at_most CHECK (expires_at <= created_at + interval '7 days')
    );
    CREATE INDEX sessions_user ON sessions (user_id, id);
    CREATE INDEX sessions_account ON sessions (account_id);
    CREATE INDEX sessions_expiry ON sessions (expires_at);
    COMMENT ON TABLE sessions IS 'Logins that hold. One that ended is deleted.';
    COMMENT ON COLUMN sessions.id IS 'UUIDv7; ses_… in text.';
    COMMENT ON COLUMN sessions.user_id IS 'Who logged in.';
    COMMENT ON COLUMN sessions.account_id IS 'The account that it acts for. The session ends with the membership.';
    COMMENT ON COLUMN sessions.token_hash IS 'SHA-256 of the session token.';
    COMMENT ON COLUMN sessions.user_agent IS 'What the client called itself at login, to recognise it by; cut.';
    COMMENT ON COLUMN sessions.ip IS 'Client address at login; empty when unknown.';
    COMMENT ON COLUMN sessions.created_at IS 'Login.';
    COMMENT ON COLUMN sessions.last_seen_at IS 'Last request, to the minute.';
    COMMENT ON COLUMN sessions.expires_at IS 'From then on the token is refused, by the clock of the database.';

    CREATE TABLE mails (
      id uuid NOT NULL,
      kind text NOT NULL,
      recipient text NOT NULL,
      user_id uuid,
      status text NOT NULL DEFAULT 'queued',
      tries integer NOT NULL DEFAULT 0,
      next_try_at timestamptz NOT NULL DEFAULT now(),
      note text,
      created_at timestamptz NOT NULL DEFAULT now(),
      finished_at timestamptz,
      CONSTRAINT mails_pkey PRIMARY KEY (id),
      CONSTRAINT mails_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT mails_kind_known CHECK (kind IN ('verification', 'reset', 'address', 'address_notice')),
      CONSTRAINT mails_status_known CHECK (status IN ('queued', 'sending', 'sent', 'skipped', 'dead')),
      CONSTRAINT mails_recipient_is_lowercase CHECK (recipient = lower(recipient) AND length(recipient) BETWEEN 3
        AND 254),
      CONSTRAINT mails_tries_not_negative CHECK (tries >= 0),
      CONSTRAINT mails_note_length CHECK (char_length(note) <= 500),
      CONSTRAINT mails_finished_or_not CHECK ((status IN ('sent', 'skipped', 'dead')) = (finished_at IS NOT NULL)),
      -- A reset is asked for by whoever knows an address: its row must not tell whether there is an account.
      CONSTRAINT mails_reset_knows_no_account CHECK ((kind = 'reset') = (user_id IS NULL))
    );
    CREATE INDEX mails_due ON mails (next_try_at) WHERE status IN ('queued', 'sending');
    CREATE INDEX mails_finished ON mails (status, finished_at) WHERE finished_at IS NOT NULL;
    CREATE INDEX mails_user ON mails (user_id, created_at) WHERE user_id IS NOT NULL;
    -- Few among many that were sent, and looked for by operators.
    CREATE INDEX mails_dead ON mails (id) WHERE status = 'dead';
    COMMENT ON TABLE mails IS 'The outbox: written with what causes a mail, delivered by the mail workers.';
    COMMENT ON COLUMN mails.id IS 'UUIDv7; mail_… in text. Message-ID and link are made of it.';
    COMMENT ON COLUMN mails.kind IS 'verification, reset, address or address_notice.';
    COMMENT ON COLUMN mails.recipient IS 'The address, ASCII, lowercased.';
    COMMENT ON COLUMN mails.user_id IS 'The user whom it is about; null for a reset.';
    COMMENT ON COLUMN mails.status
      IS 'queued, sending, sent, skipped (no mail was due) or dead (given up, a dead letter).';
    COMMENT ON COLUMN mails.tries IS 'Times that a worker took it.';
    COMMENT ON COLUMN mails.next_try_at IS 'When it may be taken; while sending, when its worker counts as dead.';
    COMMENT ON COLUMN mails.note IS 'What the last try ran into, or why no mail was due.';
    COMMENT ON COLUMN mails.created_at IS 'When it was asked for.';
    COMMENT ON COLUMN mails.finished_at IS 'When it was sent, skipped or given up.';

    CREATE TABLE one_time_tokens (
      mail_id uuid NOT NULL,
      user_id uuid NOT NULL,
      purpose text NOT NULL,
      token_hash bytea NOT NULL,
      email text NOT NULL,
      mailbox text NOT NULL,
      asked_at timestamptz NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      expires_at timestamptz NOT NULL,
      spent_at timestamptz,
      CONSTRAINT one_time_tokens_pkey PRIMARY KEY (mail_id),
      CONSTRAINT one_time_tokens_hash_key UNIQUE (token_hash),
      CONSTRAINT one_time_tokens_mail_fkey FOREIGN KEY (mail_id) REFERENCES mails (id) ON DELETE CASCADE,
      CONSTRAINT one_time_tokens_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT one_time_tokens_purpose_known CHECK (purpose IN ('verification', 'reset', 'address')),
      CONSTRAINT one_time_tokens_hash_is_sha256 CHECK (octet_length(token_hash) = 32)
    );
    CREATE INDEX one_time_tokens_user ON one_time_tokens (user_id, purpose, asked_at);
    CREATE INDEX one_time_tokens_mailbox ON one_time_tokens (mailbox, purpose, created_at);
    COMMENT ON TABLE one_time_tokens
      IS 'The links that were mailed. A row stays as long as its mail, so that a late try cannot revive a spent link.';
    COMMENT ON COLUMN one_time_tokens.mail_id IS 'The mail that carries the link.';
    COMMENT ON COLUMN one_time_tokens.user_id IS 'Whose address or password it is about.';
    COMMENT ON COLUMN one_time_tokens.purpose IS 'The kind of the mail: a link does one thing.';
    COMMENT ON COLUMN one_time_tokens.token_hash IS 'SHA-256 of the token.';
    COMMENT ON COLUMN one_time_tokens.email
      IS 'The address it was mailed to; dead once the user has another or, for a new one, once somebody has it.';
    COMMENT ON COLUMN one_time_tokens.mailbox
      IS 'The mailbox that the address leads to, without tags: the hourly limit counts by it.';
    COMMENT ON COLUMN one_time_tokens.asked_at
      IS 'When its mail was asked for: the newest link of a reset or a new address ends the older ones.';
    COMMENT ON COLUMN one_time_tokens.created_at IS 'First try of its mail.';
    COMMENT ON COLUMN one_time_tokens.expires_at IS 'Counted from the last try of its mail.';
    COMMENT ON COLUMN one_time_tokens.spent_at IS 'When it was used; null while it was not.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DROP TABLE one_time_tokens;
    DROP TABLE mails;
    DROP TABLE sessions;
  `)
}
