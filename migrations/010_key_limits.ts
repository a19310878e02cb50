/**
 * Limits of keys: what a key may call, from where, until when, how often, and for how many credits. A budget is a row
 * of its own with a scope, so that members and whole accounts can have one later.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE accounts ADD COLUMN keys_limited boolean NOT NULL DEFAULT false;
    COMMENT ON COLUMN accounts.keys_limited
      IS 'Whether a key of it has a budget or a limit of open calls: statements look for them only then.';

    ALTER TABLE api_keys
      ADD COLUMN models text[],
      ADD COLUMN modalities text[],
      ADD COLUMN allowed_ips cidr[],
      ADD COLUMN expires_at timestamptz,
      ADD COLUMN rate_limit integer,
      ADD COLUMN max_outstanding integer,
      ADD COLUMN outstanding_calls integer NOT NULL DEFAULT 0,
      ADD COLUMN secret_version integer NOT NULL DEFAULT 1,
      ADD COLUMN previous_hash bytea,
      ADD COLUMN previous_until timestamptz,
      ADD CONSTRAINT api_keys_of_account UNIQUE (id, account_id),
      ADD CONSTRAINT api_keys_models_count CHECK (cardinality(models) BETWEEN 1 AND 100),
      ADD CONSTRAINT api_keys_modalities_known
        CHECK (cardinality(modalities) >= 1 AND modalities <@ ARRAY['chat', 'image', 'video']),
      ADD CONSTRAINT api_keys_allowed_ips_count CHECK (cardinality(allowed_ips) BETWEEN 1 AND 50),
      ADD CONSTRAINT api_keys_rate_limit_positive CHECK (rate_limit > 0),
      ADD CONSTRAINT api_keys_max_outstanding_positive CHECK (max_outstanding > 0),
      ADD CONSTRAINT api_keys_outstanding_not_negative CHECK (outstanding_calls >= 0),
      ADD CONSTRAINT api_keys_outstanding_where_limited CHECK (max_outstanding IS NOT NULL OR outstanding_calls = 0),
      ADD CONSTRAINT api_keys_previous_whole CHECK ((previous_hash IS NULL) = (previous_until IS NULL)),
      ADD CONSTRAINT api_keys_previous_is_sha256 CHECK (octet_length(previous_hash) = 32);
    CREATE UNIQUE INDEX api_keys_previous_hash ON api_keys (previous_hash) WHERE previous_hash IS NOT NULL;
    COMMENT ON COLUMN api_keys.models IS 'The models that it may call; null: all.';
    COMMENT ON COLUMN api_keys.modalities IS 'The modalities that it may call; null: all.';
    COMMENT ON COLUMN api_keys.allowed_ips IS 'The networks that it may be used from; null: all.';
    COMMENT ON COLUMN api_keys.expires_at IS 'From then on it is refused, by the clock of the database; null: never.';
    COMMENT ON COLUMN api_keys.rate_limit IS 'Requests a minute, beside the limit of its account; null: only that.';
    COMMENT ON COLUMN api_keys.max_outstanding
      IS 'Calls that have not ended, beside the limit of its account; null: only that.';
    COMMENT ON COLUMN api_keys.outstanding_calls
      IS 'Its calls that have not ended, counted only where max_outstanding is set.';
    COMMENT ON COLUMN api_keys.secret_version IS 'Counts its secrets: each rotation makes the next one.';
    COMMENT ON COLUMN api_keys.previous_hash IS 'SHA-256 of the secret before the last rotation, if it had a grace.';
    COMMENT ON COLUMN api_keys.previous_until IS 'Until when that secret is still good.';

    CREATE TABLE budgets (
      id uuid NOT NULL,
      account_id uuid NOT NULL,
      scope text NOT NULL,
      key_id uuid,
      credits bigint NOT NULL,
      period text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT budgets_pkey PRIMARY KEY (id),
      CONSTRAINT budgets_key_key UNIQUE (key_id),
      CONSTRAINT budgets_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT budgets_key_fkey FOREIGN KEY (key_id, account_id) REFERENCES api_keys (id, account_id),
      CONSTRAINT budgets_scope_known CHECK (scope IN ('key')),
      CONSTRAINT budgets_scope_names_its_holder CHECK ((scope = 'key') = (key_id IS NOT NULL)),
      CONSTRAINT budgets_credits_range CHECK (credits BETWEEN 0 AND 9007199254740991),
      CONSTRAINT budgets_period_known CHECK (period IN ('total', 'day', 'week', 'month'))
    );
    CREATE INDEX budgets_account ON budgets (account_id);
    COMMENT ON TABLE budgets
      IS 'How many credits may be spent in a period. Whoever changes one holds the account''s row.';
    COMMENT ON COLUMN budgets.id IS 'UUIDv7. A budget of another period is another budget.';
    COMMENT ON COLUMN budgets.account_id IS 'Whose credits.';
    COMMENT ON COLUMN budgets.scope IS 'Whose calls count: those of a key. The only scope there is.';
    COMMENT ON COLUMN budgets.key_id IS 'The key of that scope.';
    COMMENT ON COLUMN budgets.credits IS 'The most credits of a window; 0 allows nothing.';
    COMMENT ON COLUMN budgets.period IS 'total, day, week (from Monday) or month, in UTC.';
    COMMENT ON COLUMN budgets.created_at IS 'Since when every call of its scope is counted.';

    CREATE TABLE budget_windows (
      budget_id uuid NOT NULL,
      starts_at timestamptz NOT NULL,
      used bigint NOT NULL,
      swept bigint NOT NULL DEFAULT 0,
      CONSTRAINT budget_windows_pkey PRIMARY KEY (budget_id, starts_at),
      CONSTRAINT budget_windows_budget_fkey FOREIGN KEY (budget_id) REFERENCES budgets (id) ON DELETE CASCADE,
      CONSTRAINT budget_windows_used_not_negative CHECK (used >= 0 AND swept >= 0)
    ) WITH (fillfactor = 70);
    COMMENT ON TABLE budget_windows IS 'What was used of a budget, a row for each day, week or month with calls.';
    COMMENT ON COLUMN budget_windows.budget_id IS 'Of which budget.';
    COMMENT ON COLUMN budget_windows.starts_at IS 'When the window begins; -infinity for a total.';
    COMMENT ON COLUMN budget_windows.used
      IS 'Credits of the calls that were opened in the window, with what they left uncollected.';
    COMMENT ON COLUMN budget_windows.swept IS 'The part of it whose call records were swept since.';

    CREATE TABLE budget_notices (
      budget_id uuid NOT NULL,
      starts_at timestamptz NOT NULL,
      percent integer NOT NULL,
      mail_id uuid,
      CONSTRAINT budget_notices_pkey PRIMARY KEY (budget_id, starts_at, percent),
      CONSTRAINT budget_notices_window_fkey FOREIGN KEY (budget_id, starts_at)
        REFERENCES budget_windows (budget_id, starts_at) ON UPDATE CASCADE ON DELETE CASCADE,
      CONSTRAINT budget_notices_mail_fkey FOREIGN KEY (mail_id) REFERENCES mails (id) ON DELETE SET NULL,
      CONSTRAINT budget_notices_percent_known CHECK (percent IN (80, 100))
    );
    CREATE UNIQUE INDEX budget_notices_mail ON budget_notices (mail_id) WHERE mail_id IS NOT NULL;
    COMMENT ON TABLE budget_notices IS 'Which marks of a window were passed: each is mailed at most once.';
    COMMENT ON COLUMN budget_notices.budget_id IS 'Of which budget.';
    COMMENT ON COLUMN budget_notices.starts_at IS 'Of which window.';
    COMMENT ON COLUMN budget_notices.percent IS 'The mark: 80 or 100 percent of the budget.';
    COMMENT ON COLUMN budget_notices.mail_id
      IS 'The mail about it; null where a higher mark was passed at once, or the mail was swept.';

    ALTER TABLE mails DROP CONSTRAINT mails_kind_known;
    ALTER TABLE mails ADD CONSTRAINT mails_kind_known CHECK (kind IN
      ('verification', 'reset', 'address', 'address_notice', 'budget'));
    COMMENT ON COLUMN mails.kind IS 'verification, reset, address, address_notice or budget.';

    ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_known;
    ALTER TABLE operator_actions ADD CONSTRAINT operator_actions_action_known CHECK (action IN
      ('credits_granted', 'account_suspended', 'account_activated', 'role_changed', 'mail_revived', 'catalogue_applied',
       'catalogue_rolled_back', 'key_limited', 'key_rotated', 'key_revoked'));
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DELETE FROM operator_actions WHERE action IN ('key_limited', 'key_rotated', 'key_revoked');
    ALTER TABLE operator_actions DROP CONSTRAINT operator_actions_action_known;
    ALTER TABLE operator_actions ADD CONSTRAINT operator_actions_action_known CHECK (action IN
      ('credits_granted', 'account_suspended', 'account_activated', 'role_changed', 'mail_revived', 'catalogue_applied',
       'catalogue_rolled_back'));
    DROP TABLE budget_notices;
    DROP TABLE budget_windows;
    DROP TABLE budgets;
    DELETE FROM mails WHERE kind = 'budget';
    ALTER TABLE mails DROP CONSTRAINT mails_kind_known;
    ALTER TABLE mails ADD CONSTRAINT mails_kind_known CHECK (kind IN
      ('verification', 'reset', 'address', 'address_notice'));
    COMMENT ON COLUMN mails.kind IS 'verification, reset, address or address_notice.';
    DROP INDEX api_keys_previous_hash;
    ALTER TABLE api_keys
      DROP CONSTRAINT api_keys_of_account,
      DROP COLUMN models,
      DROP COLUMN modalities,
      DROP COLUMN allowed_ips,
      DROP COLUMN expires_at,
      DROP COLUMN rate_limit,
      DROP COLUMN max_outstanding,
      DROP COLUMN outstanding_calls,
      DROP COLUMN secret_version,
      DROP COLUMN previous_hash,
      DROP COLUMN previous_until;
    ALTER TABLE accounts DROP COLUMN keys_limited;
  `)
}
