/** The keys of the gateway and their limits, and the budgets of keys and members. */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- A kind of call: its queue.
    CREATE DOMAIN modality AS text
      CONSTRAINT modality_known CHECK (VALUE IN
        ('chat', 'image', 'video', 'embedding', 'moderation', 'rerank', 'speech', 'transcription'));

    -- Keys of the gateway. The secret itself is never stored.
    CREATE TABLE api_keys (
      id uuid NOT NULL, -- UUIDv7; key_… in text.
      account_id uuid NOT NULL, -- Whose credits it spends.
      user_id uuid NOT NULL, -- The member of the account who made it: whose key it is.
      name text NOT NULL, -- Their label, at most 60 code points.
      key_hash bytea NOT NULL, -- SHA-256 of the whole key.
      hint text NOT NULL, -- First 7 and last 4 characters, to recognise it by.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was made.
      last_used_at timestamptz, -- Last charged call, to the minute.
      revoked_at timestamptz, -- Since when it is refused; null while valid.
      models text[], -- The models that it may call; null: all.
      modalities text[], -- The modalities that it may call; null: all.
      allowed_ips cidr[], -- The networks that it may be used from; null: all.
      expires_at timestamptz, -- From then on it is refused, by the clock of the database; null: never.
      rate_limit integer, -- Requests a minute, beside the limit of its account; null: only that.
      max_outstanding integer, -- Calls that have not ended, beside the limit of its account; null: only that.
      -- Its calls that have not ended, counted only where max_outstanding is set.
      outstanding_calls integer NOT NULL DEFAULT 0,
      tokens_per_minute quantity, -- Tokens of its calls in a window of a minute, beside those of its account.
      token_window_at timestamptz, -- When the newest window began in which its tokens were counted; null: none did.
      -- Tokens of the calls of that window: what they reserved, or what they came to once they have ended.
      token_window_used quantity NOT NULL DEFAULT 0,
      secret_version integer NOT NULL DEFAULT 1, -- Counts its secrets: each rotation makes the next one.
      previous_hash bytea, -- SHA-256 of the secret before the last rotation, if it had a grace.
      previous_until timestamptz, -- Until when that secret is still good.
      -- When an operator ended its secret: nobody has one until its owner rotates the key; null: its secret is good.
      secret_ended_at timestamptz,
      -- Whose it is while it is not revoked: only members of an account have such keys of it.
      holder_id uuid GENERATED ALWAYS AS (CASE WHEN revoked_at IS NULL THEN user_id END) STORED,
      CONSTRAINT api_keys_pkey PRIMARY KEY (id),
      CONSTRAINT api_keys_hash_key UNIQUE (key_hash),
      CONSTRAINT api_keys_of_account UNIQUE (id, account_id),
      CONSTRAINT api_keys_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT api_keys_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT api_keys_holders_are_members
        FOREIGN KEY (holder_id, account_id) REFERENCES members (user_id, account_id),
      CONSTRAINT api_keys_allowed_ips_count CHECK (cardinality(allowed_ips) BETWEEN 1 AND 50),
      CONSTRAINT api_keys_hash_is_sha256 CHECK (octet_length(key_hash) = 32),
      CONSTRAINT api_keys_max_outstanding_positive CHECK (max_outstanding > 0),
      CONSTRAINT api_keys_modalities_count CHECK (cardinality(modalities::modality[]) >= 1),
      CONSTRAINT api_keys_models_count CHECK (cardinality(models) BETWEEN 1 AND 100),
      CONSTRAINT api_keys_name_length CHECK (char_length(name) <= 60),
      CONSTRAINT api_keys_outstanding_not_negative CHECK (outstanding_calls >= 0),
      CONSTRAINT api_keys_outstanding_where_limited CHECK (max_outstanding IS NOT NULL OR outstanding_calls = 0),
      CONSTRAINT api_keys_previous_is_sha256 CHECK (octet_length(previous_hash) = 32),
      CONSTRAINT api_keys_previous_whole CHECK ((previous_hash IS NULL) = (previous_until IS NULL)),
      CONSTRAINT api_keys_rate_limit_positive CHECK (rate_limit > 0),
      CONSTRAINT api_keys_tokens_per_minute_positive CHECK (tokens_per_minute > 0),
      CONSTRAINT api_keys_tokens_counted_where_limited
        CHECK ((tokens_per_minute IS NOT NULL OR token_window_at IS NULL)
          AND (token_window_at IS NOT NULL OR token_window_used = 0))
    );
    CREATE INDEX api_keys_account ON api_keys (account_id, id);
    CREATE INDEX api_keys_user ON api_keys (user_id, account_id, id);
    CREATE UNIQUE INDEX api_keys_previous_hash ON api_keys (previous_hash) WHERE previous_hash IS NOT NULL;
    -- Behind the lists of valid keys: at most a hundred a member, among any number of revoked ones.
    CREATE INDEX api_keys_valid ON api_keys (account_id, id) WHERE revoked_at IS NULL;
    CREATE INDEX api_keys_held ON api_keys (holder_id, account_id) WHERE holder_id IS NOT NULL;

    -- How many credits may be spent in a period. Whoever changes one holds the account's row.
    CREATE TABLE budgets (
      id uuid NOT NULL, -- UUIDv7. A budget of another period is another budget.
      account_id uuid NOT NULL, -- Whose credits.
      scope text NOT NULL, -- Whose calls count: those of a key, or those of a member with all their keys.
      key_id uuid, -- The key of that scope.
      user_id uuid, -- The member of that scope; the budget ends with the membership.
      credits credits NOT NULL, -- The most credits of a window; 0 allows nothing.
      period text NOT NULL, -- total, day, week (from Monday) or month, in UTC.
      created_at timestamptz NOT NULL DEFAULT now(), -- Since when every call of its scope is counted.
      CONSTRAINT budgets_pkey PRIMARY KEY (id),
      CONSTRAINT budgets_key_key UNIQUE (key_id),
      CONSTRAINT budgets_member_key UNIQUE (account_id, user_id),
      CONSTRAINT budgets_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT budgets_key_fkey FOREIGN KEY (key_id, account_id) REFERENCES api_keys (id, account_id),
      CONSTRAINT budgets_member_fkey FOREIGN KEY (user_id, account_id)
        REFERENCES members (user_id, account_id) ON DELETE CASCADE,
      CONSTRAINT budgets_period_known CHECK (period IN ('total', 'day', 'week', 'month')),
      CONSTRAINT budgets_scope_known CHECK (scope IN ('key', 'member')),
      CONSTRAINT budgets_scope_names_its_holder
        CHECK ((scope = 'key') = (key_id IS NOT NULL) AND (scope = 'member') = (user_id IS NOT NULL))
    );

    -- What was used of a budget, a row for each day, week or month with calls.
    CREATE TABLE budget_windows (
      budget_id uuid NOT NULL, -- Of which budget.
      starts_at timestamptz NOT NULL, -- When the window begins; -infinity for a total.
      used credits NOT NULL, -- Credits of the calls that were opened in the window, with what they left uncollected.
      held credits NOT NULL DEFAULT 0, -- The part of it that open calls were charged, and may give back.
      swept credits NOT NULL DEFAULT 0, -- The part of it whose call records were swept since.
      CONSTRAINT budget_windows_pkey PRIMARY KEY (budget_id, starts_at),
      CONSTRAINT budget_windows_budget_fkey FOREIGN KEY (budget_id) REFERENCES budgets (id) ON DELETE CASCADE,
      CONSTRAINT budget_windows_held_was_used CHECK (held <= used)
    ) WITH (fillfactor = 70);

    -- Which marks of a window were passed: each is told of at most once.
    CREATE TABLE budget_notices (
      budget_id uuid NOT NULL, -- Of which budget.
      starts_at timestamptz NOT NULL, -- Of which window.
      percent integer NOT NULL, -- The mark: 80 or 100 percent of the budget.
      CONSTRAINT budget_notices_pkey PRIMARY KEY (budget_id, starts_at, percent),
      CONSTRAINT budget_notices_window_fkey FOREIGN KEY (budget_id, starts_at)
        REFERENCES budget_windows (budget_id, starts_at) ON UPDATE CASCADE ON DELETE CASCADE,
      CONSTRAINT budget_notices_percent_known CHECK (percent IN (80, 100))
    );
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE budget_notices, budget_windows, budgets, api_keys; DROP DOMAIN modality')
}
