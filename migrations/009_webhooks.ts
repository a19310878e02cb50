/**
 * Webhooks: addresses at which an account, or the operators, get events, and the outbox of these events
 * (docs/webhooks.md). Secrets are stored encrypted.
 */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- Where events go, and what they are signed with.
    CREATE TABLE webhooks (
      id uuid NOT NULL, -- UUIDv7; wh_… in text.
      account_id uuid, -- Whose it is; null: the operators'.
      -- The receiver's address. Null: the row has the secret of the addresses that calls name themselves.
      url text,
      types text[] NOT NULL, -- The types of events that are sent; chat: those of chats that somebody waits for too.
      secret bytea NOT NULL, -- The signing secret, encrypted under APP_SECRET.
      previous_secret bytea, -- The one before the last rotation, encrypted too.
      previous_until timestamptz, -- Until when events are signed with that as well.
      is_shown boolean NOT NULL DEFAULT true, -- Whether its owner was shown the secret: not one that a call made.
      failing_since timestamptz, -- The first failed try since the last success; null: the last try succeeded.
      is_slow boolean NOT NULL DEFAULT false, -- A try failed, and no event was delivered in the slow lane since.
      disabled_at timestamptz, -- Since when nothing is sent.
      disabled_reason text, -- owner, gone (the receiver answered 410) or failing (five days without a success).
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was made.
      CONSTRAINT webhooks_pkey PRIMARY KEY (id),
      CONSTRAINT webhooks_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT webhooks_callbacks_have_an_account CHECK (url IS NOT NULL OR account_id IS NOT NULL),
      CONSTRAINT webhooks_callbacks_are_never_disabled CHECK (url IS NOT NULL OR disabled_at IS NULL),
      CONSTRAINT webhooks_disabled_whole CHECK ((disabled_at IS NULL) = (disabled_reason IS NULL)),
      CONSTRAINT webhooks_disabled_reason_known CHECK (disabled_reason IN ('owner', 'gone', 'failing')),
      CONSTRAINT webhooks_previous_whole CHECK ((previous_secret IS NULL) = (previous_until IS NULL)),
      CONSTRAINT webhooks_types_count CHECK (cardinality(types) <= 20),
      CONSTRAINT webhooks_url_length CHECK (char_length(url) BETWEEN 1 AND 2048)
    );
    CREATE INDEX webhooks_account ON webhooks (account_id);
    CREATE UNIQUE INDEX webhooks_callback_secret ON webhooks (account_id) WHERE url IS NULL;

    -- The outbox: an event for one receiver, written in the transaction of its cause, delivered by the webhook workers.
    CREATE TABLE webhook_deliveries (
      id uuid NOT NULL, -- UUIDv7; whd_… in text.
      webhook_id uuid NOT NULL, -- For whom, and whose secret signs it.
      event_id uuid NOT NULL, -- The event, the same for all its receivers: webhook-id; evt_… in text.
      type text NOT NULL, -- The type of the event.
      url text, -- Where a call wants its own event; null: the address of the webhook.
      body text NOT NULL, -- The bytes that are sent, the same in all tries.
      -- queued, sending, delivered, failed (given up), or held while its webhook is disabled.
      status text NOT NULL DEFAULT 'queued',
      tries integer NOT NULL DEFAULT 0, -- Times that a worker took it.
      -- When it may be taken; while sending, when its worker counts as dead.
      next_try_at timestamptz NOT NULL DEFAULT now(),
      answer_status integer, -- The HTTP status that the last try was answered with; null where it was not.
      answer_ms integer, -- How long the last try took, in ms.
      note text, -- Why the last try was no success.
      created_at timestamptz NOT NULL DEFAULT now(), -- When the event happened.
      finished_at timestamptz, -- When it was delivered or given up.
      CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
      CONSTRAINT webhook_deliveries_webhook_fkey FOREIGN KEY (webhook_id) REFERENCES webhooks (id) ON DELETE CASCADE,
      CONSTRAINT webhook_deliveries_body_length CHECK (octet_length(body) <= 20000),
      CONSTRAINT webhook_deliveries_finished_or_not
        CHECK ((status IN ('delivered', 'failed')) = (finished_at IS NOT NULL)),
      CONSTRAINT webhook_deliveries_status_known
        CHECK (status IN ('queued', 'sending', 'delivered', 'failed', 'held')),
      CONSTRAINT webhook_deliveries_tries_not_negative CHECK (tries >= 0),
      CONSTRAINT webhook_deliveries_url_length CHECK (char_length(url) BETWEEN 1 AND 2048)
    );
    CREATE INDEX webhook_deliveries_due ON webhook_deliveries (next_try_at) WHERE status IN ('queued', 'sending');
    CREATE INDEX webhook_deliveries_open ON webhook_deliveries (webhook_id, next_try_at)
      WHERE status IN ('queued', 'sending');
    CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries (webhook_id, id);
    -- Counted for the metrics.
    CREATE INDEX webhook_deliveries_lost ON webhook_deliveries (status) WHERE status IN ('failed', 'held');
    CREATE INDEX webhook_deliveries_old ON webhook_deliveries (created_at);

    -- Grants whose end was told of, so that each is told of once.
    CREATE TABLE grant_notices (
      grant_id uuid NOT NULL, -- The grant.
      told_at timestamptz NOT NULL DEFAULT now(), -- When the event was written.
      CONSTRAINT grant_notices_pkey PRIMARY KEY (grant_id),
      CONSTRAINT grant_notices_grant_fkey FOREIGN KEY (grant_id) REFERENCES grants (id)
    );
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE grant_notices, webhook_deliveries, webhooks')
}
