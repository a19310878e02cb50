/**
 * Who signs in (`users`), who pays (`accounts`), who may act for which account (`members`), and their logins.
 * Before them the types of columns that have a rule of their own.
 */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- Whole credits that somebody has, owes or pays: never negative, and exact in JavaScript.
    CREATE DOMAIN credits AS bigint
      CONSTRAINT credits_not_negative CHECK (VALUE >= 0)
      CONSTRAINT credits_exact_in_javascript CHECK (VALUE <= 9007199254740991);

    -- Tokens, bytes or micro-dollars: never negative.
    CREATE DOMAIN quantity AS bigint
      CONSTRAINT quantity_not_negative CHECK (VALUE >= 0);

    -- People who sign in. Nothing of the money hangs on them: that is the account's.
    CREATE TABLE users (
      id uuid NOT NULL, -- UUIDv7, made by the caller; usr_… in text.
      email text NOT NULL, -- ASCII, lowercased.
      password_hash text NOT NULL, -- argon2id, PHC string.
      display_name text NOT NULL DEFAULT '', -- At most 60 code points; empty when none.
      avatar_url text NOT NULL DEFAULT '', -- https address, or empty.
      role text NOT NULL DEFAULT 'user', -- user, or admin: may use /api/operator.
      email_verified_at timestamptz, -- When the address was proved; null while unverified.
      password_changed_at timestamptz NOT NULL DEFAULT now(), -- Reset links that were asked for before it are dead.
      created_at timestamptz NOT NULL DEFAULT now(), -- Registration.
      CONSTRAINT users_pkey PRIMARY KEY (id),
      CONSTRAINT users_email_key UNIQUE (email),
      CONSTRAINT users_avatar_url_length CHECK (char_length(avatar_url) <= 2048),
      CONSTRAINT users_display_name_length CHECK (char_length(display_name) <= 60),
      CONSTRAINT users_email_is_lowercase CHECK (email = lower(email) AND length(email) <= 254),
      CONSTRAINT users_role_known CHECK (role IN ('user', 'admin'))
    );

    -- Who pays. The row is the lock of everything that moves its credits.
    CREATE TABLE accounts (
      id uuid NOT NULL, -- UUIDv7, made by the caller; acc_… in text.
      kind text NOT NULL DEFAULT 'personal', -- personal: of one person; or organisation, which may have members.
      name text NOT NULL DEFAULT '', -- What an organisation is called; empty for a personal one, and once deleted.
      status text NOT NULL DEFAULT 'active', -- active or suspended (set by an operator).
      credits credits NOT NULL DEFAULT 0, -- Balance in whole credits = sum of the account's ledger entries.
      -- Credits that calls and reversals left uncollected, less what was collected. Beside it nothing can be spent.
      debt credits NOT NULL DEFAULT 0,
      ledger_seq bigint NOT NULL DEFAULT 0, -- Number of ledger entries so far: the seq of the newest one.
      -- What its open calls were charged, and may give back: with the balance, its funds.
      held credits NOT NULL DEFAULT 0,
      -- Calls that have not ended; bounds an account and orders the queues.
      outstanding_calls integer NOT NULL DEFAULT 0,
      -- Bytes of the requests of its open calls, which Redis holds; bounds an account.
      request_bytes quantity NOT NULL DEFAULT 0,
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was opened.
      -- Whether keys of it are limited, by a budget of theirs or of their member, in their open calls or their tokens:
      -- statements look for that only then.
      keys_limited boolean NOT NULL DEFAULT false,
      deleted_at timestamptz, -- When it was deleted: nobody can tell whose it was; its ledger and calls stay.
      emptied_at timestamptz, -- When the last of its media results had been removed after that.
      low_balance_below credits, -- Funds below it are worth a mail; null: none is wanted.
      low_balance_state text NOT NULL DEFAULT 'armed', -- armed, due (crossed, a mail is to be written) or done.
      top_up_below credits, -- Funds below it are topped up; null: they are not.
      top_up_state text NOT NULL DEFAULT 'armed', -- armed, due (a worker is to pay) or done.
      -- The funds that a refused call lacked, which made a top-up due; null where it is not, or was by a crossing.
      top_up_for credits,
      group_name text, -- The group of the catalogue that it is served in; null: none.
      -- Its own limits, which operators set; null: its group's, or the usual ones (identity/account-limits.ts).
      rate_limit integer, -- Requests a minute.
      max_outstanding integer, -- Calls that have not ended.
      tokens_per_minute quantity, -- Tokens of its calls in a window of a minute; null: any number.
      token_window_at timestamptz, -- When the newest window began in which its tokens were counted; null: none did.
      -- Tokens of the calls of that window: what they reserved, or what they came to once they have ended.
      token_window_used quantity NOT NULL DEFAULT 0,
      has_webhooks boolean NOT NULL DEFAULT false, -- Whether it has a webhook: statements write events only then.
      CONSTRAINT accounts_pkey PRIMARY KEY (id),
      CONSTRAINT accounts_of_kind UNIQUE (id, kind),
      CONSTRAINT accounts_kind_known CHECK (kind IN ('personal', 'organisation')),
      CONSTRAINT accounts_name_length CHECK (char_length(name) <= 60),
      CONSTRAINT accounts_organisations_are_named
        CHECK ((kind = 'organisation' AND deleted_at IS NULL) = (name <> '')),
      CONSTRAINT accounts_status_known CHECK (status IN ('active', 'suspended')),
      CONSTRAINT accounts_outstanding_not_negative CHECK (outstanding_calls >= 0),
      CONSTRAINT accounts_deleted_are_suspended CHECK (deleted_at IS NULL OR status = 'suspended'),
      CONSTRAINT accounts_emptied_were_deleted CHECK (emptied_at IS NULL OR deleted_at IS NOT NULL),
      CONSTRAINT accounts_group_name_length CHECK (char_length(group_name) BETWEEN 1 AND 50),
      CONSTRAINT accounts_rate_limit_positive CHECK (rate_limit > 0),
      CONSTRAINT accounts_max_outstanding_positive CHECK (max_outstanding > 0),
      CONSTRAINT accounts_tokens_per_minute_positive CHECK (tokens_per_minute > 0),
      CONSTRAINT accounts_tokens_counted_where_limited
        CHECK ((tokens_per_minute IS NOT NULL OR token_window_at IS NULL)
          AND (token_window_at IS NOT NULL OR token_window_used = 0)),
      CONSTRAINT accounts_low_balance_positive CHECK (low_balance_below > 0),
      CONSTRAINT accounts_top_up_positive CHECK (top_up_below > 0),
      CONSTRAINT accounts_low_balance_state_known CHECK (low_balance_state IN ('armed', 'due', 'done')),
      CONSTRAINT accounts_top_up_state_known CHECK (top_up_state IN ('armed', 'due', 'done')),
      CONSTRAINT accounts_watch_only_what_is_set
        CHECK ((low_balance_below IS NOT NULL OR low_balance_state = 'armed') AND (top_up_below IS NOT NULL OR
          top_up_state = 'armed')),
      CONSTRAINT accounts_demand_only_a_due_top_up CHECK (top_up_for IS NULL OR top_up_state = 'due')
    ) WITH (fillfactor = 70);
    CREATE INDEX accounts_in_a_group ON accounts (group_name) WHERE group_name IS NOT NULL;
    CREATE INDEX accounts_in_debt ON accounts (id) WHERE debt > 0;
    CREATE INDEX accounts_low_balance_due ON accounts (id) WHERE low_balance_state = 'due';
    CREATE INDEX accounts_suspended ON accounts (id) WHERE status = 'suspended';
    CREATE INDEX accounts_to_empty ON accounts (deleted_at) WHERE deleted_at IS NOT NULL AND emptied_at IS NULL;
    CREATE INDEX accounts_top_up_due ON accounts (id) WHERE top_up_state = 'due';

    -- Who may act for which account.
    CREATE TABLE members (
      user_id uuid NOT NULL, -- Who.
      account_id uuid NOT NULL, -- For which account.
      account_kind text NOT NULL DEFAULT 'personal', -- The kind of that account.
      -- owner: may do everything; admin: all but what ends the account or hands it over; member: own keys and calls.
      role text NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(), -- Since when.
      CONSTRAINT members_pkey PRIMARY KEY (user_id, account_id),
      CONSTRAINT members_account_fkey FOREIGN KEY (account_id, account_kind) REFERENCES accounts (id, kind),
      CONSTRAINT members_user_fkey FOREIGN KEY (user_id) REFERENCES users (id),
      CONSTRAINT members_personal_accounts_have_an_owner_alone CHECK (role = 'owner' OR account_kind = 'organisation'),
      CONSTRAINT members_role_known CHECK (role IN ('owner', 'admin', 'member'))
    );
    CREATE INDEX members_account ON members (account_id, created_at);
    -- An account belongs to one person: the address that operators know it by. That there is one at all is
    -- said by a trigger (sql/keep_an_owner.sql).
    CREATE UNIQUE INDEX members_one_owner ON members (account_id) WHERE role = 'owner';
    -- A person has one account of their own: a login begins with it, and sign-up credits are given to it.
    CREATE UNIQUE INDEX members_one_personal_account ON members (user_id) WHERE account_kind = 'personal';

    -- Logins that hold. One that ended is deleted.
    CREATE TABLE sessions (
      id uuid NOT NULL, -- UUIDv7; ses_… in text.
      user_id uuid NOT NULL, -- Who logged in.
      account_id uuid NOT NULL, -- The account that it acts for. The session ends with the membership.
      token_hash bytea NOT NULL, -- SHA-256 of the session token.
      user_agent text NOT NULL, -- What the client called itself at login, to recognise it by; cut.
      ip text NOT NULL, -- Client address at login; empty when unknown.
      created_at timestamptz NOT NULL DEFAULT now(), -- Login.
      last_seen_at timestamptz NOT NULL DEFAULT now(), -- Last request, to the minute.
      expires_at timestamptz NOT NULL, -- From then on the token is refused, by the clock of the database.
      CONSTRAINT sessions_pkey PRIMARY KEY (id),
      CONSTRAINT sessions_token_hash_key UNIQUE (token_hash),
      CONSTRAINT sessions_member_fkey FOREIGN KEY (user_id, account_id)
        REFERENCES members (user_id, account_id) ON DELETE CASCADE,
      CONSTRAINT sessions_hash_is_sha256 CHECK (octet_length(token_hash) = 32),
      CONSTRAINT sessions_ip_length CHECK (char_length(ip) <= 45),
      CONSTRAINT sessions_live_a_week_at_most CHECK (expires_at <= created_at + interval '7 days'),
      CONSTRAINT sessions_user_agent_length CHECK (char_length(user_agent) <= 200)
    );
    CREATE INDEX sessions_account ON sessions (account_id);
    CREATE INDEX sessions_expiry ON sessions (expires_at);
    CREATE INDEX sessions_user ON sessions (user_id, id);

    -- Networks that a user has logged in from: guesses of others do not keep them out there.
    CREATE TABLE login_networks (
      user_id uuid NOT NULL, -- Who logged in.
      network_hash bytea NOT NULL, -- HMAC-SHA-256 under APP_SECRET of the IPv4 address, or of the /64 of IPv6.
      last_login_at timestamptz NOT NULL DEFAULT now(), -- The last login from there.
      CONSTRAINT login_networks_pkey PRIMARY KEY (user_id, network_hash),
      CONSTRAINT login_networks_user_fkey FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
      CONSTRAINT login_networks_hash_is_sha256 CHECK (octet_length(network_hash) = 32)
    );
    CREATE INDEX login_networks_age ON login_networks (last_login_at);
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE login_networks, sessions, members, accounts, users; DROP DOMAIN quantity, credits')
}
