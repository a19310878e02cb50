/**
 * Keys of upstreams: those that operators have switched off, and by which key, in which tries, and how as a part of its
 * session, a call was served.
 */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

const BEFORE = [
  'credits_granted',
  'account_suspended',
  'account_activated',
  'account_limited',
  'role_changed',
  'account_grouped',
  'mail_revived',
  'catalogue_applied',
  'catalogue_rolled_back',
  'key_limited',
  'key_rotated',
  'key_revoked',
  'account_created',
  'account_deleted',
  'account_exported',
  'password_reset_sent',
  'sessions_revoked',
  'payment_refunded',
  'payment_resolved',
  'code_created',
  'code_disabled',
  'debt_forgiven',
  'credits_deducted',
  'account_viewed',
  'mail_discarded',
  'actions_exported',
  'banner_set',
  'banner_removed',
  'webhook_created',
  'webhook_changed',
  'webhook_rotated',
  'webhook_removed',
]

const ADDED = ['upstream_key_disabled', 'upstream_key_enabled', 'upstream_key_tested']

const allow = (db: Knex, actions: readonly string[]) =>
  db.raw(`
    ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_known;
    ALTER TABLE operator_actions ADD CONSTRAINT operator_actions_action_known
      CHECK (action IN (${actions.map((action) => `'${action}'`).join(', ')})) NOT VALID`)

const validate = (db: Knex) => db.raw('ALTER TABLE operator_actions VALIDATE CONSTRAINT operator_actions_action_known')

export async function up(db: Knex): Promise<void> {
  await createTables(
    db,
    `
    -- Keys of upstreams that operators have switched off, by their names in the catalogue.
    CREATE TABLE disabled_upstream_keys (
      upstream text NOT NULL, -- The upstream.
      key text NOT NULL, -- The key.
      disabled_at timestamptz NOT NULL DEFAULT now(), -- When.
      CONSTRAINT disabled_upstream_keys_pkey PRIMARY KEY (upstream, key)
    );

    -- The tries of a call at its upstreams, where it had more than one, or failed; swept after seven days.
    CREATE TABLE call_tries (
      call_id uuid NOT NULL, -- Whose tries.
      tries jsonb NOT NULL, -- A list: upstream, key, status, error, ms and at of each (src/shared/calls/tries.ts).
      expires_at timestamptz NOT NULL, -- When they are deleted.
      CONSTRAINT call_tries_pkey PRIMARY KEY (call_id),
      CONSTRAINT call_tries_call_fkey FOREIGN KEY (call_id) REFERENCES calls (id) ON DELETE CASCADE
    );
    CREATE INDEX call_tries_expiry ON call_tries (expires_at);
  `,
  )
  await db.raw(`
    ALTER TABLE calls ADD upstream_key text, ADD tries integer, ADD session text;
    COMMENT ON COLUMN calls.upstream_key IS 'The key of its upstream, by its name in the catalogue; null: unknown.';
    COMMENT ON COLUMN calls.tries IS 'How often upstreams were asked, where that is not once.';
    COMMENT ON COLUMN calls.session IS 'How its session was served: hit, new or moved; null: it named none.';
    ALTER TYPE outcome ADD ATTRIBUTE upstream_key text, ADD ATTRIBUTE tries jsonb, ADD ATTRIBUTE session text`)
  await allow(db, [...BEFORE, ...ADDED])
  await validate(db)
}

/** The log keeps what was recorded meanwhile: the narrower list is then for new rows alone. */
export async function down(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TYPE outcome DROP ATTRIBUTE upstream_key, DROP ATTRIBUTE tries, DROP ATTRIBUTE session;
    ALTER TABLE calls DROP upstream_key, DROP tries, DROP session;
    DROP TABLE call_tries, disabled_upstream_keys`)
  await allow(db, BEFORE)
  if (!(await db('operator_actions').whereIn('action', ADDED).first('id'))) await validate(db)
}
