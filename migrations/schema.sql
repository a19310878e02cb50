-- The schema after all migrations, written by `npm run schema`: to read, and to compare. Nothing runs this file.

-- Whole credits that somebody has, owes or pays: never negative, and exact in JavaScript.
CREATE DOMAIN credits AS bigint
  CONSTRAINT credits_exact_in_javascript CHECK ((VALUE <= '9007199254740991'::bigint))
  CONSTRAINT credits_not_negative CHECK ((VALUE >= 0));

-- A kind of call: its queue.
CREATE DOMAIN modality AS text
  CONSTRAINT modality_known CHECK ((VALUE = ANY (ARRAY['chat'::text, 'image'::text, 'video'::text, 'embedding'::text, 'moderation'::text, 'rerank'::text, 'speech'::text, 'transcription'::text])));

-- Tokens, bytes or micro-dollars: never negative.
CREATE DOMAIN quantity AS bigint
  CONSTRAINT quantity_not_negative CHECK ((VALUE >= 0));

-- Who pays. The row is the lock of everything that moves its credits.
CREATE TABLE accounts (
  id uuid NOT NULL, -- UUIDv7, made by the caller; acc_… in text.
  kind text NOT NULL DEFAULT 'personal'::text, -- personal: of one person; or organisation, which may have members.
  name text NOT NULL DEFAULT ''::text, -- What an organisation is called; empty for a personal one, and once deleted.
  status text NOT NULL DEFAULT 'active'::text, -- active or suspended (set by an operator).
  credits credits NOT NULL DEFAULT 0, -- Balance in whole credits = sum of the account's ledger entries.
  debt credits NOT NULL DEFAULT 0, -- Credits that calls and reversals left uncollected, less what was collected. Beside it nothing can be spent.
  ledger_seq bigint NOT NULL DEFAULT 0, -- Number of ledger entries so far: the seq of the newest one.
  held credits NOT NULL DEFAULT 0, -- What its open calls were charged, and may give back: with the balance, its funds.
  outstanding_calls integer NOT NULL DEFAULT 0, -- Calls that have not ended; bounds an account and orders the queues.
  request_bytes quantity NOT NULL DEFAULT 0, -- Bytes of the requests of its open calls, which Redis holds; bounds an account.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was opened.
  keys_limited boolean NOT NULL DEFAULT false, -- Whether keys of it are limited, by a budget of theirs or of their member, in their open calls or their tokens: statements look for that only then.
  deleted_at timestamptz, -- When it was deleted: nobody can tell whose it was; its ledger and calls stay.
  emptied_at timestamptz, -- When the last of its media results had been removed after that.
  low_balance_below credits, -- Funds below it are worth a mail; null: none is wanted.
  low_balance_state text NOT NULL DEFAULT 'armed'::text, -- armed, due (crossed, a mail is to be written) or done.
  top_up_below credits, -- Funds below it are topped up; null: they are not.
  top_up_state text NOT NULL DEFAULT 'armed'::text, -- armed, due (a worker is to pay) or done.
  top_up_for credits, -- The funds that a refused call lacked, which made a top-up due; null where it is not, or was by a crossing.
  group_name text, -- The group of the catalogue that it is served in; null: none.
  rate_limit integer, -- Its own limits, which operators set; null: its group's, or the usual ones (effective-limits.ts). Requests a minute.
  max_outstanding integer, -- Calls that have not ended.
  tokens_per_minute quantity, -- Tokens of its calls in a window of a minute; null: any number.
  token_window_at timestamptz, -- When the newest window began in which its tokens were counted; null: none did.
  token_window_used quantity NOT NULL DEFAULT 0, -- Tokens of the calls of that window: what they reserved, or what they came to once they have ended.
  has_webhooks boolean NOT NULL DEFAULT false, -- Whether it has a webhook: statements write events only then.
  CONSTRAINT accounts_pkey PRIMARY KEY (id),
  CONSTRAINT accounts_of_kind UNIQUE (id, kind),
  CONSTRAINT accounts_rules CHECK (accounts_rules(kind, name, status, outstanding_calls, deleted_at, emptied_at, (low_balance_below)::bigint, low_balance_state, (top_up_below)::bigint, top_up_state, (top_up_for)::bigint, group_name, rate_limit, max_outstanding, (tokens_per_minute)::bigint, token_window_at, (token_window_used)::bigint))
) WITH (fillfactor=70);
CREATE INDEX accounts_in_a_group ON accounts USING btree (group_name) WHERE (group_name IS NOT NULL);
CREATE INDEX accounts_in_debt ON accounts USING btree (id) WHERE ((debt)::bigint > 0);
CREATE INDEX accounts_low_balance_due ON accounts USING btree (id) WHERE (low_balance_state = 'due'::text);
CREATE INDEX accounts_suspended ON accounts USING btree (id) WHERE (status = 'suspended'::text);
CREATE INDEX accounts_to_empty ON accounts USING btree (deleted_at) WHERE ((deleted_at IS NOT NULL) AND (emptied_at IS NULL));
CREATE INDEX accounts_top_up_due ON accounts USING btree (id) WHERE (top_up_state = 'due'::text);
CREATE TRIGGER accounts_watch_balance BEFORE UPDATE ON accounts FOR EACH ROW WHEN ((((new.low_balance_below IS NOT NULL) OR (new.top_up_below IS NOT NULL)) AND (((new.credits)::bigint + (new.held)::bigint) <> ((old.credits)::bigint + (old.held)::bigint)))) EXECUTE FUNCTION watch_balance();

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
  outstanding_calls integer NOT NULL DEFAULT 0, -- Its calls that have not ended, counted only where max_outstanding is set.
  tokens_per_minute quantity, -- Tokens of its calls in a window of a minute, beside those of its account.
  token_window_at timestamptz, -- When the newest window began in which its tokens were counted; null: none did.
  token_window_used quantity NOT NULL DEFAULT 0, -- Tokens of the calls of that window: what they reserved, or what they came to once they have ended.
  secret_version integer NOT NULL DEFAULT 1, -- Counts its secrets: each rotation makes the next one.
  previous_hash bytea, -- SHA-256 of the secret before the last rotation, if it had a grace.
  previous_until timestamptz, -- Until when that secret is still good.
  secret_ended_at timestamptz, -- When an operator ended its secret: nobody has one until its owner rotates the key; null: its secret is good.
  holder_id uuid DEFAULT 
CASE
    WHEN (revoked_at IS NULL) THEN user_id
    ELSE NULL::uuid
END, -- Whose it is while it is not revoked: only members of an account have such keys of it.
  CONSTRAINT api_keys_pkey PRIMARY KEY (id),
  CONSTRAINT api_keys_hash_key UNIQUE (key_hash),
  CONSTRAINT api_keys_of_account UNIQUE (id, account_id),
  CONSTRAINT api_keys_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT api_keys_holders_are_members FOREIGN KEY (holder_id, account_id) REFERENCES members(user_id, account_id),
  CONSTRAINT api_keys_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT api_keys_allowed_ips_count CHECK (((cardinality(allowed_ips) >= 1) AND (cardinality(allowed_ips) <= 50))),
  CONSTRAINT api_keys_hash_is_sha256 CHECK ((octet_length(key_hash) = 32)),
  CONSTRAINT api_keys_max_outstanding_positive CHECK ((max_outstanding > 0)),
  CONSTRAINT api_keys_modalities_count CHECK ((cardinality((modalities)::modality[]) >= 1)),
  CONSTRAINT api_keys_models_count CHECK (((cardinality(models) >= 1) AND (cardinality(models) <= 100))),
  CONSTRAINT api_keys_name_length CHECK ((char_length(name) <= 60)),
  CONSTRAINT api_keys_outstanding_not_negative CHECK ((outstanding_calls >= 0)),
  CONSTRAINT api_keys_outstanding_where_limited CHECK (((max_outstanding IS NOT NULL) OR (outstanding_calls = 0))),
  CONSTRAINT api_keys_previous_is_sha256 CHECK ((octet_length(previous_hash) = 32)),
  CONSTRAINT api_keys_previous_whole CHECK (((previous_hash IS NULL) = (previous_until IS NULL))),
  CONSTRAINT api_keys_rate_limit_positive CHECK ((rate_limit > 0)),
  CONSTRAINT api_keys_tokens_counted_where_limited CHECK ((((tokens_per_minute IS NOT NULL) OR (token_window_at IS NULL)) AND ((token_window_at IS NOT NULL) OR ((token_window_used)::bigint = 0)))),
  CONSTRAINT api_keys_tokens_per_minute_positive CHECK (((tokens_per_minute)::bigint > 0))
);
CREATE INDEX api_keys_account ON api_keys USING btree (account_id, id);
CREATE INDEX api_keys_held ON api_keys USING btree (holder_id, account_id) WHERE (holder_id IS NOT NULL);
CREATE UNIQUE INDEX api_keys_previous_hash ON api_keys USING btree (previous_hash) WHERE (previous_hash IS NOT NULL);
CREATE INDEX api_keys_user ON api_keys USING btree (user_id, account_id, id);
CREATE INDEX api_keys_valid ON api_keys USING btree (account_id, id) WHERE (revoked_at IS NULL);
CREATE TRIGGER api_keys_tell AFTER INSERT OR UPDATE OF revoked_at ON api_keys FOR EACH ROW EXECUTE FUNCTION tell_of_key();

-- The functions of sql/ that are in this database, those of earlier releases too.
CREATE TABLE applied_sql (
  name text NOT NULL, -- The function, which is the file's name without .sql.
  hash text NOT NULL, -- SHA-256 of the file as it was applied, in hex.
  applied_at timestamptz NOT NULL DEFAULT now(), -- When it was.
  release text NOT NULL, -- The version of the release that applied it.
  CONSTRAINT applied_sql_pkey PRIMARY KEY (name)
);

-- What stands above every page of the console: one banner at a time.
CREATE TABLE banners (
  id uuid NOT NULL, -- UUIDv7; banner_… in text. Who has dismissed a banner did so by its id.
  text text NOT NULL, -- What it says.
  level text NOT NULL, -- info, warning or critical.
  shown_from timestamptz NOT NULL, -- From when on it is shown.
  shown_until timestamptz, -- Until when; null: until it is removed.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was set.
  removed_at timestamptz, -- When it was removed, or replaced by another; null while neither.
  CONSTRAINT banners_pkey PRIMARY KEY (id),
  CONSTRAINT banners_end_after_they_begin CHECK ((shown_until > shown_from)),
  CONSTRAINT banners_level_known CHECK ((level = ANY (ARRAY['info'::text, 'warning'::text, 'critical'::text]))),
  CONSTRAINT banners_text_length CHECK (((char_length(text) >= 1) AND (char_length(text) <= 300)))
);
CREATE UNIQUE INDEX banners_one ON banners USING btree (((removed_at IS NULL))) WHERE (removed_at IS NULL);

-- How an account pays. A row is made when it first buys or sets something.
CREATE TABLE billing_settings (
  account_id uuid NOT NULL, -- Whose settings.
  customer text, -- The provider's id of the customer.
  card_method text, -- The provider's id of the card that was kept; null without one.
  card_brand text, -- Its brand.
  card_last4 text, -- Its last four digits.
  card_exp_month integer, -- The month in which it expires.
  card_exp_year integer, -- The year in which it expires.
  top_up_pack text, -- The pack that an automatic top-up buys.
  top_up_amount_minor bigint, -- The free amount that it buys instead.
  top_up_monthly_cap_minor bigint, -- The most that it pays a month of UTC; null: off.
  top_up_declines integer NOT NULL DEFAULT 0, -- Declines in a row; the third turns it off.
  live_mode boolean, -- The mode of the provider that knows the customer and the card; null where it is not known.
  customer_gone text, -- The customer before, which the provider no longer has: part of the key under which the next one is made.
  top_up_failure text, -- Why the last automatic top-up failed; null where it did not.
  top_up_failed_at timestamptz, -- When it failed.
  top_up_retry_at timestamptz, -- When a balance that is still too low is topped up again after a failure; null: not before the next crossing.
  CONSTRAINT billing_settings_pkey PRIMARY KEY (account_id),
  CONSTRAINT billing_settings_customer_key UNIQUE (customer),
  CONSTRAINT billing_settings_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT billing_settings_amount_positive CHECK ((top_up_amount_minor > 0)),
  CONSTRAINT billing_settings_cap_positive CHECK ((top_up_monthly_cap_minor > 0)),
  CONSTRAINT billing_settings_card_whole CHECK ((num_nulls(card_method, card_brand, card_last4, card_exp_month, card_exp_year) = ANY (ARRAY[0, 5]))),
  CONSTRAINT billing_settings_failure_has_time CHECK (((top_up_failure IS NULL) = (top_up_failed_at IS NULL))),
  CONSTRAINT billing_settings_failure_length CHECK ((char_length(top_up_failure) <= 200)),
  CONSTRAINT billing_settings_three_declines CHECK (((top_up_declines >= 0) AND (top_up_declines <= 2))),
  CONSTRAINT billing_settings_top_up_whole CHECK (
CASE
    WHEN (top_up_monthly_cap_minor IS NULL) THEN (num_nonnulls(top_up_pack, top_up_amount_minor) = 0)
    ELSE ((num_nonnulls(top_up_pack, top_up_amount_minor) = 1) AND (card_method IS NOT NULL))
END)
);
CREATE INDEX billing_settings_top_up_retry ON billing_settings USING btree (top_up_retry_at) WHERE (top_up_retry_at IS NOT NULL);

-- Which marks of a window were passed: each is told of at most once.
CREATE TABLE budget_notices (
  budget_id uuid NOT NULL, -- Of which budget.
  starts_at timestamptz NOT NULL, -- Of which window.
  percent integer NOT NULL, -- The mark: 80 or 100 percent of the budget.
  CONSTRAINT budget_notices_pkey PRIMARY KEY (budget_id, starts_at, percent),
  CONSTRAINT budget_notices_window_fkey FOREIGN KEY (budget_id, starts_at) REFERENCES budget_windows(budget_id, starts_at) ON UPDATE CASCADE ON DELETE CASCADE,
  CONSTRAINT budget_notices_percent_known CHECK ((percent = ANY (ARRAY[80, 100])))
);

-- What was used of a budget, a row for each day, week or month with calls.
CREATE TABLE budget_windows (
  budget_id uuid NOT NULL, -- Of which budget.
  starts_at timestamptz NOT NULL, -- When the window begins; -infinity for a total.
  used credits NOT NULL, -- Credits of the calls that were opened in the window, with what they left uncollected.
  held credits NOT NULL DEFAULT 0, -- The part of it that open calls were charged, and may give back.
  swept credits NOT NULL DEFAULT 0, -- The part of it that has no call records: they were swept since, or it was spent before an import.
  CONSTRAINT budget_windows_pkey PRIMARY KEY (budget_id, starts_at),
  CONSTRAINT budget_windows_budget_fkey FOREIGN KEY (budget_id) REFERENCES budgets(id) ON DELETE CASCADE,
  CONSTRAINT budget_windows_held_was_used CHECK (((held)::bigint <= (used)::bigint))
) WITH (fillfactor=70);
CREATE TRIGGER budget_windows_notify AFTER INSERT OR UPDATE OF used, held ON budget_windows FOR EACH ROW EXECUTE FUNCTION notify_of_budget();

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
  CONSTRAINT budgets_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT budgets_key_fkey FOREIGN KEY (key_id, account_id) REFERENCES api_keys(id, account_id),
  CONSTRAINT budgets_member_fkey FOREIGN KEY (user_id, account_id) REFERENCES members(user_id, account_id) ON DELETE CASCADE,
  CONSTRAINT budgets_period_known CHECK ((period = ANY (ARRAY['total'::text, 'day'::text, 'week'::text, 'month'::text]))),
  CONSTRAINT budgets_scope_known CHECK ((scope = ANY (ARRAY['key'::text, 'member'::text]))),
  CONSTRAINT budgets_scope_names_its_holder CHECK ((((scope = 'key'::text) = (key_id IS NOT NULL)) AND ((scope = 'member'::text) = (user_id IS NOT NULL))))
);

-- What a call produced, so that its answer can be fetched again; swept after its time.
CREATE TABLE call_results (
  call_id uuid NOT NULL, -- Whose result.
  output text NOT NULL, -- JSON: the part of the answer that only the worker knew (src/shared/calls/stored-answers.ts).
  input bytea, -- Of a response that later ones may refer to: the items that it was asked with, compressed JSON (src/shared/calls/stored-responses.ts).
  expires_at timestamptz NOT NULL, -- From then on 410 result_expired.
  CONSTRAINT call_results_all_pkey PRIMARY KEY (call_id)
) PARTITION BY RANGE (call_id);
CREATE INDEX call_results_expiry_all ON call_results USING btree (expires_at);

-- The tries of a call at its upstreams, where it had more than one, or failed; swept after seven days.
CREATE TABLE call_tries (
  call_id uuid NOT NULL, -- Whose tries.
  tries jsonb NOT NULL, -- A list: upstream, key, status, error, ms and at of each (src/shared/calls/tries.ts).
  expires_at timestamptz NOT NULL, -- When they are deleted.
  CONSTRAINT call_tries_pkey PRIMARY KEY (call_id)
);
CREATE INDEX call_tries_expiry ON call_tries USING btree (expires_at);

-- One row a gateway call, refused ones too. Written by src/shared/calls alone. Prompts never rest here.
CREATE TABLE calls (
  id uuid NOT NULL, -- UUIDv7, made by the web process before the charge; call_… in text.
  account_id uuid NOT NULL, -- Who pays.
  key_id uuid NOT NULL, -- The API key it came with.
  user_id uuid NOT NULL, -- Whose key that is: the member whose call it is.
  modality modality NOT NULL, -- chat, image, video, embedding, moderation, rerank, speech or transcription: its queue.
  dialect text, -- In which a chat was asked, and is answered, where that is not chat completions.
  model text NOT NULL, -- The gateway's model id as asked for.
  status text NOT NULL, -- queued, running, succeeded, failed or rejected; see src/shared/terms/lifecycle.ts.
  price jsonb, -- The price when the call was opened: later changes of the catalogue do not touch it.
  estimated_input_tokens quantity, -- Input tokens of the pre-charge (chat).
  estimated_output_tokens quantity, -- Output tokens of the pre-charge (chat).
  reserved_tokens quantity DEFAULT ((estimated_input_tokens)::bigint + COALESCE((estimated_output_tokens)::bigint, (0)::bigint)), -- The tokens of a minute that it reserves; null where it is not estimated by tokens.
  credits_precharged credits NOT NULL DEFAULT 0, -- Credits charged at the beginning.
  credits credits NOT NULL DEFAULT 0, -- Credits collected so far = minus the sum of the call's ledger entries.
  credits_uncollected credits NOT NULL DEFAULT 0, -- What the price asked for beyond the balance: became debt of the account.
  balance_after credits, -- The account's balance when the call ended: usage.balance of its answer.
  input_tokens quantity, -- Real input tokens, those of caches too (chat).
  output_tokens quantity, -- Real output tokens (chat).
  http_status integer, -- The status of its answer.
  error_type text, -- The error code of its answer, where it failed or was refused.
  latency_ms bigint, -- From its acceptance to its end, in milliseconds.
  upstream text, -- The upstream that served or failed it, by its name in the catalogue.
  upstream_ref jsonb, -- The upstream's own task, so that another worker can go on with it.
  attempts integer NOT NULL DEFAULT 0, -- How often a worker began it.
  result_url text, -- Where the media result is, or the first of them.
  more_result_urls text[], -- Where the further pictures are.
  pictures quantity, -- How many pictures were delivered (image).
  seconds numeric, -- The length that was asked for (video), or measured (transcription).
  resolution text, -- The resolution that was asked for (image, video).
  progress smallint, -- In percent, as far as its upstream has told (video); never falls.
  deleted_at timestamptz, -- When its owner deleted it (video). From then on it has no result, and no client can see it.
  request_id text, -- X-Request-Id of the request that opened it.
  reply_to text, -- The web process that waits for it.
  idempotency_key text, -- The client's Idempotency-Key; null after its time.
  idempotency_expires_at timestamptz, -- Until when the key is remembered.
  request_hash bytea, -- SHA-256 of the request, to recognise a retry of it.
  request_bytes quantity NOT NULL DEFAULT 0, -- Bytes of its request as Redis holds it while the call is open.
  abandoned_at timestamptz, -- When the waiting client went away unanswered.
  lease_until timestamptz, -- Until when nobody need look after it.
  deadline_at timestamptz, -- When it must have ended.
  created_at timestamptz NOT NULL DEFAULT now(), -- Acceptance.
  started_at timestamptz, -- When a worker began it; null again when handed back unsent.
  started_by uuid, -- The run that has it: the one that began it last; null while none does.
  finished_at timestamptz, -- When it ended.
  fold_minute timestamptz, -- The minute whose equal refusals this row stands for.
  count integer NOT NULL DEFAULT 1, -- How many refusals were folded into this row; else 1.
  price_version uuid, -- The version of its price.
  cached_input_tokens quantity, -- Input tokens that were read from a cache (chat).
  cache_write_tokens quantity, -- Input tokens that were written to a cache (chat).
  repeated_input_tokens quantity, -- Of those written, what its upstream bills once more: written for an hour (chat).
  cost_micro_usd quantity, -- What it cost at its upstreams, in micro-dollars, failed tries too; null where that is unknown.
  catalogue_version integer, -- The version of the catalogue that it was opened at: it is charged and served by that one.
  group_name text, -- The group of its account when it was opened, whose share its price has; null: none.
  is_async boolean NOT NULL DEFAULT false, -- Whether its client asked not to wait for the answer.
  callback_url text, -- Where its client wants to be told of its end; null: nowhere.
  upstream_key text, -- The key of its upstream, by its name in the catalogue; null: unknown.
  tries integer, -- How often upstreams were asked, where that is not once.
  session text, -- How its session was served: hit, new or moved; null: it named none.
  units quantity, -- How many characters (speech) or searches (rerank) it is paid for.
  size text, -- The size that it is priced at: as asked for, else as it came (image).
  quality text, -- The quality that it is priced at: as asked for, else as it came (image).
  requested text, -- Its first model, if another of its list was asked after it; else null.
  counted integer NOT NULL DEFAULT 0, -- How many of its refusals usage_hours has.
  CONSTRAINT calls_all_pkey PRIMARY KEY (id),
  CONSTRAINT calls_rules CHECK (calls_rules((modality)::text, dialect, status, price, (credits_precharged)::bigint, (credits)::bigint, (credits_uncollected)::bigint, (input_tokens)::bigint, http_status, error_type, more_result_urls, (pictures)::bigint, progress, deleted_at, idempotency_key, idempotency_expires_at, request_hash, lease_until, deadline_at, finished_at, count, (cached_input_tokens)::bigint, (cache_write_tokens)::bigint, (repeated_input_tokens)::bigint, callback_url))
) PARTITION BY RANGE (id);
CREATE INDEX calls_account_time_all ON calls USING btree (account_id, created_at DESC, id DESC);
CREATE INDEX calls_deleted_results_all ON calls USING btree (id) WHERE ((deleted_at IS NOT NULL) AND (result_url IS NOT NULL));
CREATE INDEX calls_ended_all ON calls USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX calls_idempotency_expiry_all ON calls USING btree (idempotency_expires_at) WHERE (idempotency_key IS NOT NULL);
CREATE INDEX calls_left_in_order_all ON calls USING btree (request_hash, account_id, created_at, id) WHERE (abandoned_at IS NOT NULL);
CREATE INDEX calls_of_errors_all ON calls USING btree (id) WHERE (error_type IS NOT NULL);
CREATE INDEX calls_open_all ON calls USING btree (created_at) WHERE (finished_at IS NULL);
CREATE INDEX calls_videos_all ON calls USING btree (account_id, created_at DESC, id DESC) WHERE (((modality)::text = 'video'::text) AND (deleted_at IS NULL));
CREATE INDEX calls_waited_for_all ON calls USING btree (account_id, request_hash) WHERE (COALESCE(finished_at, abandoned_at) IS NULL);
CREATE TRIGGER calls_swept_stay_used AFTER DELETE ON calls REFERENCING OLD TABLE AS swept FOR EACH STATEMENT EXECUTE FUNCTION keep_swept_use();

-- Every version of the catalogue. The newest is the current one: rows are added, never changed.
CREATE TABLE catalogue_versions (
  version integer NOT NULL, -- Counts from 1, without gaps.
  previous integer DEFAULT NULLIF((version - 1), 0), -- The version before it: there is one.
  content json NOT NULL, -- The catalogue as it was given (docs/upstreams/README.md).
  hash bytea NOT NULL, -- SHA-256 of the content with its keys in order: what is the same content.
  source text NOT NULL, -- file (MODELS_FILE, by migrate), command, page, or rollback to an earlier version.
  operator_id uuid, -- Who, of the console; null for a file and the command line.
  note text, -- Why, in the operator's words.
  applied_at timestamptz NOT NULL DEFAULT now(), -- When.
  CONSTRAINT catalogue_versions_pkey PRIMARY KEY (version),
  CONSTRAINT catalogue_versions_operator_fkey FOREIGN KEY (operator_id) REFERENCES users(id),
  CONSTRAINT catalogue_versions_previous_fkey FOREIGN KEY (previous) REFERENCES catalogue_versions(version),
  CONSTRAINT catalogue_versions_count_from_one CHECK ((version >= 1)),
  CONSTRAINT catalogue_versions_files_have_none CHECK (((source <> 'file'::text) OR (operator_id IS NULL))),
  CONSTRAINT catalogue_versions_hash_is_sha256 CHECK ((octet_length(hash) = 32)),
  CONSTRAINT catalogue_versions_note_length CHECK ((char_length(note) <= 500)),
  CONSTRAINT catalogue_versions_pages_have_operators CHECK (((source <> 'page'::text) OR (operator_id IS NOT NULL))),
  CONSTRAINT catalogue_versions_source_known CHECK ((source = ANY (ARRAY['file'::text, 'command'::text, 'page'::text, 'rollback'::text])))
);
CREATE INDEX catalogue_versions_files ON catalogue_versions USING btree (version) WHERE (source = 'file'::text);
CREATE TRIGGER catalogue_versions_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON catalogue_versions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- When circuits of upstreams opened; kept for a week.
CREATE TABLE circuit_openings (
  minute timestamptz NOT NULL, -- In which minute.
  upstream text NOT NULL, -- Of which upstream, by its name in the catalogue.
  openings integer NOT NULL, -- How often, all workers together.
  recovered_at timestamptz, -- When the upstream was found to work again; null: not yet.
  CONSTRAINT circuit_openings_pkey PRIMARY KEY (minute, upstream),
  CONSTRAINT circuit_openings_positive CHECK ((openings > 0))
);
CREATE TRIGGER circuit_openings_tell AFTER INSERT ON circuit_openings FOR EACH ROW EXECUTE FUNCTION tell_of_opening();

-- What a provider has still to forget: a worker asks it until it has, and removes the row.
CREATE TABLE customers_to_forget (
  provider text NOT NULL, -- Who is to forget.
  customer text NOT NULL, -- The provider's id of the customer.
  is_whole boolean NOT NULL, -- The customer; otherwise only the cards that were kept until then.
  asked_at timestamptz NOT NULL DEFAULT now(), -- Since when. Cards that are kept later stay.
  tries integer NOT NULL DEFAULT 0, -- Times that a worker took it.
  next_try_at timestamptz NOT NULL DEFAULT now(), -- When a worker takes it (again).
  CONSTRAINT customers_to_forget_pkey PRIMARY KEY (provider, customer),
  CONSTRAINT customers_to_forget_tries_not_negative CHECK ((tries >= 0))
);
CREATE INDEX customers_to_forget_due ON customers_to_forget USING btree (next_try_at);

-- Credits that operators took back; append-only.
CREATE TABLE deductions (
  id uuid NOT NULL, -- UUIDv7; ded_… in text.
  account_id uuid NOT NULL, -- From whose account.
  credits credits NOT NULL, -- How many credits.
  moved credits NOT NULL, -- Of these, by ledger entries of kind adjustment.
  owed credits NOT NULL, -- Of these, by debt: what could not be spent.
  reason text NOT NULL, -- Why, in the operator's words; the customer sees it.
  idempotency_key text, -- The client's name for the request, so that it is done once.
  created_at timestamptz NOT NULL DEFAULT now(), -- When.
  CONSTRAINT deductions_pkey PRIMARY KEY (id),
  CONSTRAINT deductions_of_account_key UNIQUE (account_id, id),
  CONSTRAINT deductions_once UNIQUE (account_id, idempotency_key),
  CONSTRAINT deductions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT deductions_credits_positive CHECK ((((credits)::bigint >= 1) AND ((credits)::bigint <= '1000000000000'::bigint))),
  CONSTRAINT deductions_idempotency_key_length CHECK (((char_length(idempotency_key) >= 1) AND (char_length(idempotency_key) <= 255))),
  CONSTRAINT deductions_parts CHECK (((credits)::bigint = ((moved)::bigint + (owed)::bigint))),
  CONSTRAINT deductions_reason_length CHECK (((char_length(reason) >= 1) AND (char_length(reason) <= 200)))
);
CREATE TRIGGER deductions_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON deductions FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Keys of upstreams that operators have switched off, by their names in the catalogue.
CREATE TABLE disabled_upstream_keys (
  upstream text NOT NULL, -- The upstream.
  key text NOT NULL, -- The key.
  disabled_at timestamptz NOT NULL DEFAULT now(), -- When.
  CONSTRAINT disabled_upstream_keys_pkey PRIMARY KEY (upstream, key)
);

-- Debts that operators let go; append-only.
CREATE TABLE forgiven_debts (
  id uuid NOT NULL, -- UUIDv7.
  account_id uuid NOT NULL, -- Whose debt.
  credits credits NOT NULL, -- How much it was.
  created_at timestamptz NOT NULL DEFAULT now(), -- When.
  CONSTRAINT forgiven_debts_pkey PRIMARY KEY (id),
  CONSTRAINT forgiven_debts_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT forgiven_debts_credits_positive CHECK (((credits)::bigint > 0))
);
CREATE INDEX forgiven_debts_account ON forgiven_debts USING btree (account_id);
CREATE TRIGGER forgiven_debts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON forgiven_debts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Grants whose end was told of, so that each is told of once.
CREATE TABLE grant_notices (
  grant_id uuid NOT NULL, -- The grant.
  told_at timestamptz NOT NULL DEFAULT now(), -- When the event was written.
  CONSTRAINT grant_notices_pkey PRIMARY KEY (grant_id),
  CONSTRAINT grant_notices_grant_fkey FOREIGN KEY (grant_id) REFERENCES grants(id)
);

-- Credits of one origin each. Charges burn the ones that expire first, then the oldest.
CREATE TABLE grants (
  id uuid NOT NULL, -- UUIDv7; grant_… in text.
  account_id uuid NOT NULL, -- Whose credits.
  origin text NOT NULL, -- signup, purchase, bonus, adjustment or import.
  amount credits NOT NULL, -- Credits granted.
  remaining credits NOT NULL, -- Credits left = sum of the grant's ledger entries.
  open boolean NOT NULL, -- Whether anything remains.
  expires_at timestamptz, -- From then on what is left of it pays for nothing; null: never.
  note text, -- The operator's remark.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was granted.
  payment_id uuid, -- The payment that bought it.
  revived_until timestamptz, -- Until when it pays again, by what came back to it past its time: a day after expires_at, or after a payment was reinstated.
  CONSTRAINT grants_pkey PRIMARY KEY (id),
  CONSTRAINT grants_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT grants_payment_fkey FOREIGN KEY (payment_id, account_id) REFERENCES payments(id, account_id),
  CONSTRAINT grants_rules CHECK (grants_rules(origin, (amount)::bigint, (remaining)::bigint, open, expires_at, payment_id, revived_until))
) WITH (fillfactor=70);
CREATE INDEX grants_account ON grants USING btree (account_id, id);
CREATE INDEX grants_account_open ON grants USING btree (account_id) WHERE open;
CREATE INDEX grants_expiry ON grants USING btree (expires_at) WHERE (open AND (expires_at IS NOT NULL));
CREATE UNIQUE INDEX grants_once_per_payment ON grants USING btree (payment_id, origin) WHERE (payment_id IS NOT NULL);
CREATE UNIQUE INDEX grants_signup_once ON grants USING btree (account_id) WHERE (origin = 'signup'::text);
CREATE CONSTRAINT TRIGGER grants_are_missed_by_payments AFTER DELETE ON grants DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((old.payment_id IS NOT NULL)) EXECUTE FUNCTION check_payment();
CREATE CONSTRAINT TRIGGER grants_keep_matching_payments AFTER UPDATE OF amount, origin, payment_id ON grants DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (((old.payment_id IS NOT NULL) OR (new.payment_id IS NOT NULL))) EXECUTE FUNCTION check_payment();
CREATE CONSTRAINT TRIGGER grants_match_payments AFTER INSERT ON grants DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN ((new.payment_id IS NOT NULL)) EXECUTE FUNCTION check_payment();

-- Who users are at providers.
CREATE TABLE identities (
  id uuid NOT NULL, -- UUIDv7.
  user_id uuid NOT NULL, -- Whose it is.
  issuer text NOT NULL, -- Who vouches for them.
  subject text NOT NULL, -- What the issuer calls them; nothing else is looked up.
  email text, -- The address that they had there when they linked it, for its owner to recognise it by.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was linked.
  last_used_at timestamptz, -- When it last signed in or proved its user; null: never.
  CONSTRAINT identities_pkey PRIMARY KEY (id),
  CONSTRAINT identities_subject_key UNIQUE (issuer, subject),
  CONSTRAINT identities_user_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);
CREATE INDEX identities_user ON identities USING btree (user_id);

-- What was imported, and what it is here: each thing once.
CREATE TABLE import_origins (
  source text NOT NULL, -- From which gateway.
  kind text NOT NULL, -- user (with an account of their own), organisation, member (of one) or key.
  their_id text NOT NULL, -- Its id there; sha256:… of it once the account is deleted.
  account_id uuid NOT NULL, -- The account that it is, or that it belongs to.
  user_id uuid, -- The user or the member that it is.
  key_id uuid, -- The key that it is.
  granted credits NOT NULL DEFAULT 0, -- Credits of all grants that it was imported with.
  off boolean NOT NULL, -- Whether it was turned off there when it was last imported.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was imported.
  CONSTRAINT import_origins_pkey PRIMARY KEY (source, kind, their_id),
  CONSTRAINT import_origins_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT import_origins_key_fkey FOREIGN KEY (key_id, account_id) REFERENCES api_keys(id, account_id),
  CONSTRAINT import_origins_source_fkey FOREIGN KEY (source) REFERENCES import_sources(name),
  CONSTRAINT import_origins_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT import_origins_granted_to_accounts CHECK ((((granted)::bigint = 0) OR (kind = ANY (ARRAY['user'::text, 'organisation'::text])))),
  CONSTRAINT import_origins_id_length CHECK (((char_length(their_id) >= 1) AND (char_length(their_id) <= 500))),
  CONSTRAINT import_origins_kind_known CHECK ((kind = ANY (ARRAY['user'::text, 'organisation'::text, 'member'::text, 'key'::text]))),
  CONSTRAINT import_origins_names_what_it_is CHECK ((((kind = 'key'::text) = (key_id IS NOT NULL)) AND ((kind = ANY (ARRAY['user'::text, 'member'::text])) = (user_id IS NOT NULL))))
);
CREATE INDEX import_origins_account ON import_origins USING btree (account_id);
CREATE UNIQUE INDEX import_origins_of_account ON import_origins USING btree (account_id) WHERE (kind = ANY (ARRAY['user'::text, 'organisation'::text]));
CREATE UNIQUE INDEX import_origins_of_key ON import_origins USING btree (key_id) WHERE (key_id IS NOT NULL);

-- Gateways that accounts were imported from.
CREATE TABLE import_sources (
  name text NOT NULL, -- What the operator calls it.
  gateway text NOT NULL, -- litellm, new-api or one-api.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was first imported.
  CONSTRAINT import_sources_pkey PRIMARY KEY (name),
  CONSTRAINT import_sources_gateway_known CHECK ((gateway = ANY (ARRAY['litellm'::text, 'new-api'::text, 'one-api'::text]))),
  CONSTRAINT import_sources_name_length CHECK (((char_length(name) >= 1) AND (char_length(name) <= 60)))
);

-- Invitations that can still be accepted. One that was accepted or revoked is deleted.
CREATE TABLE invitations (
  id uuid NOT NULL, -- UUIDv7; inv_… in text.
  account_id uuid NOT NULL, -- To which organisation.
  account_kind text NOT NULL DEFAULT 'organisation'::text, -- The kind of that account.
  email text NOT NULL, -- Who is invited: ASCII, lowercased.
  role text NOT NULL, -- What they become: admin or member.
  budget_credits credits, -- The budget that they get, as in budgets; null: none.
  budget_period text, -- Its period.
  invited_by uuid NOT NULL, -- Which member invites them. The invitation ends with that membership.
  mail_id uuid NOT NULL, -- The mail with the link, of whose id the token is made. Its row may be gone.
  token_hash bytea NOT NULL, -- SHA-256 of the token.
  created_at timestamptz NOT NULL DEFAULT now(), -- When.
  expires_at timestamptz NOT NULL, -- From then on the token is refused.
  CONSTRAINT invitations_pkey PRIMARY KEY (id),
  CONSTRAINT invitations_once_an_address UNIQUE (account_id, email),
  CONSTRAINT invitations_token_hash_key UNIQUE (token_hash),
  CONSTRAINT invitations_account_fkey FOREIGN KEY (account_id, account_kind) REFERENCES accounts(id, kind),
  CONSTRAINT invitations_inviter_fkey FOREIGN KEY (invited_by, account_id) REFERENCES members(user_id, account_id) ON DELETE CASCADE,
  CONSTRAINT invitations_budget_whole CHECK (((budget_credits IS NULL) = (budget_period IS NULL))),
  CONSTRAINT invitations_email_is_lowercase CHECK (((email = lower(email)) AND ((length(email) >= 3) AND (length(email) <= 254)))),
  CONSTRAINT invitations_hash_is_sha256 CHECK ((octet_length(token_hash) = 32)),
  CONSTRAINT invitations_live_a_week CHECK ((expires_at <= (created_at + '7 days'::interval))),
  CONSTRAINT invitations_period_known CHECK ((budget_period = ANY (ARRAY['total'::text, 'day'::text, 'week'::text, 'month'::text]))),
  CONSTRAINT invitations_role_known CHECK ((role = ANY (ARRAY['admin'::text, 'member'::text]))),
  CONSTRAINT invitations_to_organisations_alone CHECK ((account_kind = 'organisation'::text))
);
CREATE INDEX invitations_expiry ON invitations USING btree (expires_at);
CREATE INDEX invitations_inviter ON invitations USING btree (invited_by, account_id);
CREATE INDEX invitations_mail ON invitations USING btree (mail_id);

-- Work that one process does at a time, whatever happens to Redis.
CREATE TABLE leases (
  name text NOT NULL, -- The work.
  held_until timestamptz NOT NULL, -- Until when somebody does it.
  CONSTRAINT leases_pkey PRIMARY KEY (name)
);

-- Every movement of credits, append-only, numbered without gaps within its account.
CREATE TABLE ledger_entries (
  account_id uuid NOT NULL, -- Whose credits.
  seq bigint NOT NULL, -- 1, 2, 3… within the account: the order of the ledger.
  call_id uuid, -- The call that caused it. No foreign key: the ledger outlives swept call records.
  grant_id uuid NOT NULL, -- The grant it takes from or gives to.
  kind text NOT NULL, -- grant, charge, settlement, refund, expiry, adjustment, collection (repays debt), reversal or reinstatement.
  amount bigint NOT NULL, -- Signed credits: negative leaves the balance.
  balance_after credits NOT NULL, -- The balance after this very entry.
  note text, -- A remark for people.
  created_at timestamptz NOT NULL DEFAULT now(), -- Start of its transaction; seq, not time, is the order.
  deduction_id uuid, -- The deduction that it is a part of.
  payment_id uuid, -- The payment that was reversed or reinstated.
  id uuid NOT NULL DEFAULT (((lpad(to_hex(((EXTRACT(epoch FROM clock_timestamp()) * (1000)::numeric))::bigint), 12, '0'::text) || '7'::text) || substr(replace((gen_random_uuid())::text, '-'::text, ''::text), 14)))::uuid, -- UUIDv7 of its time: decides its partition. Entries from before there were partitions share one.
  CONSTRAINT ledger_entries_deduction_fkey FOREIGN KEY (account_id, deduction_id) REFERENCES deductions(account_id, id),
  CONSTRAINT ledger_entries_payment_fkey FOREIGN KEY (payment_id, account_id) REFERENCES payments(id, account_id),
  CONSTRAINT ledger_entries_rules CHECK (ledger_entries_rules(seq, call_id, kind, amount, deduction_id, payment_id))
) PARTITION BY RANGE (id);
CREATE INDEX ledger_entries_collected_all ON ledger_entries USING btree (account_id, grant_id) WHERE (kind = 'collection'::text);
CREATE INDEX ledger_entries_deduction_all ON ledger_entries USING btree (deduction_id) WHERE (deduction_id IS NOT NULL);
CREATE INDEX ledger_entries_payment_all ON ledger_entries USING btree (payment_id) WHERE (payment_id IS NOT NULL);
CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_entries FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER ledger_entries_match_calls AFTER INSERT ON ledger_entries REFERENCING NEW TABLE AS inserted FOR EACH STATEMENT EXECUTE FUNCTION check_ledger();

-- Links by which operators let somebody in. A used one is deleted.
CREATE TABLE login_links (
  token_hash bytea NOT NULL, -- SHA-256 of its token.
  user_id uuid NOT NULL, -- Who signs in by it.
  expires_at timestamptz NOT NULL, -- From then on it is refused.
  CONSTRAINT login_links_pkey PRIMARY KEY (token_hash),
  CONSTRAINT login_links_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT login_links_token_is_sha256 CHECK ((octet_length(token_hash) = 32))
);
CREATE INDEX login_links_user ON login_links USING btree (user_id);

-- Networks that a user has logged in from: guesses of others do not keep them out there.
CREATE TABLE login_networks (
  user_id uuid NOT NULL, -- Who logged in.
  network_hash bytea NOT NULL, -- HMAC-SHA-256 under APP_SECRET of the IPv4 address, or of the /64 of IPv6.
  last_login_at timestamptz NOT NULL DEFAULT now(), -- The last login from there.
  CONSTRAINT login_networks_pkey PRIMARY KEY (user_id, network_hash),
  CONSTRAINT login_networks_user_fkey FOREIGN KEY (user_id) REFERENCES users(id) ON DELETE CASCADE,
  CONSTRAINT login_networks_hash_is_sha256 CHECK ((octet_length(network_hash) = 32))
);
CREATE INDEX login_networks_age ON login_networks USING btree (last_login_at);

-- What a mailbox is given once: the sign-up credits, and the credits of each code. It outlives the account.
CREATE TABLE mailbox_gifts (
  grant_id uuid NOT NULL, -- The grant that was given.
  mailbox bytea NOT NULL, -- HMAC-SHA-256 of the mailbox, under a key derived from APP_SECRET: it identifies nobody without the secret.
  code_id uuid, -- The code that was redeemed; null for the sign-up credits.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was given.
  CONSTRAINT mailbox_gifts_pkey PRIMARY KEY (grant_id),
  CONSTRAINT mailbox_gifts_code_fkey FOREIGN KEY (code_id) REFERENCES redemption_codes(id),
  CONSTRAINT mailbox_gifts_grant_fkey FOREIGN KEY (grant_id) REFERENCES grants(id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT mailbox_gifts_mailbox_is_sha256 CHECK ((octet_length(mailbox) = 32))
);
CREATE UNIQUE INDEX mailbox_gifts_code_once ON mailbox_gifts USING btree (mailbox, code_id) WHERE (code_id IS NOT NULL);
CREATE UNIQUE INDEX mailbox_gifts_signup_once ON mailbox_gifts USING btree (mailbox) WHERE (code_id IS NULL);

-- The mails that each mailbox was sent, for the hourly limit: kept for a day, also if the account is deleted.
CREATE TABLE mailbox_mails (
  mail_id uuid NOT NULL, -- The mail; a mail that is tried again counts once. Its row may be gone.
  mailbox bytea NOT NULL, -- HMAC-SHA-256 of the mailbox, as in mailbox_gifts.
  kind text NOT NULL, -- What the limit counts apart: the kind of the mail, or test.
  counted_at timestamptz NOT NULL DEFAULT now(), -- When it was first to be sent.
  CONSTRAINT mailbox_mails_pkey PRIMARY KEY (mail_id),
  CONSTRAINT mailbox_mails_mailbox_is_sha256 CHECK ((octet_length(mailbox) = 32))
);
CREATE INDEX mailbox_mails_mailbox ON mailbox_mails USING btree (mailbox, kind, counted_at);
CREATE INDEX mailbox_mails_old ON mailbox_mails USING btree (counted_at);

-- The outbox: written with what causes a mail, delivered by the mail workers.
CREATE TABLE mails (
  id uuid NOT NULL, -- UUIDv7; mail_… in text. Message-ID and link are made of it.
  kind text NOT NULL, -- verification, reset, address, address_notice, access, key_rotated, budget, receipt, low_balance, top_up_failed, top_up_off or invitation.
  recipient text NOT NULL, -- The address, ASCII, lowercased.
  user_id uuid, -- The user whom it is about; null for a reset and an invitation.
  status text NOT NULL DEFAULT 'queued'::text, -- queued, sending, sent, skipped (no mail was due) or dead (given up, a dead letter).
  tries integer NOT NULL DEFAULT 0, -- Times that a worker took it.
  next_try_at timestamptz NOT NULL DEFAULT now(), -- When it may be taken; while sending, when its worker counts as dead.
  note text, -- What the last try ran into, or why no mail was due.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was asked for.
  finished_at timestamptz, -- When it was sent, skipped or given up.
  details jsonb NOT NULL DEFAULT '{}'::jsonb, -- What a mail says beside its links: amounts, addresses.
  language text NOT NULL DEFAULT 'en'::text, -- What it is written in: a tag such as zh-CN.
  CONSTRAINT mails_pkey PRIMARY KEY (id),
  CONSTRAINT mails_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT mails_finished_or_not CHECK (((status = ANY (ARRAY['sent'::text, 'skipped'::text, 'dead'::text])) = (finished_at IS NOT NULL))),
  CONSTRAINT mails_kind_known CHECK ((kind = ANY (ARRAY['verification'::text, 'reset'::text, 'address'::text, 'address_notice'::text, 'budget'::text, 'receipt'::text, 'low_balance'::text, 'top_up_off'::text, 'access'::text, 'key_rotated'::text, 'top_up_failed'::text, 'invitation'::text, 'webhook_off'::text, 'sign_in_changed'::text, 'sign_in'::text]))) NOT VALID,
  CONSTRAINT mails_know_their_user CHECK (((kind = ANY (ARRAY['reset'::text, 'invitation'::text, 'sign_in'::text])) = (user_id IS NULL))),
  CONSTRAINT mails_language_known CHECK ((language = ANY (ARRAY['en'::text, 'zh-CN'::text]))),
  CONSTRAINT mails_note_length CHECK ((char_length(note) <= 500)),
  CONSTRAINT mails_recipient_is_lowercase CHECK (((recipient = lower(recipient)) AND ((length(recipient) >= 3) AND (length(recipient) <= 254)))),
  CONSTRAINT mails_status_known CHECK ((status = ANY (ARRAY['queued'::text, 'sending'::text, 'sent'::text, 'skipped'::text, 'dead'::text]))),
  CONSTRAINT mails_tries_not_negative CHECK ((tries >= 0))
);
CREATE INDEX mails_dead ON mails USING btree (id) WHERE (status = 'dead'::text);
CREATE INDEX mails_due ON mails USING btree (next_try_at) WHERE (status = ANY (ARRAY['queued'::text, 'sending'::text]));
CREATE INDEX mails_finished ON mails USING btree (status, finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX mails_user ON mails USING btree (user_id, created_at) WHERE (user_id IS NOT NULL);
CREATE TRIGGER mails_tell AFTER UPDATE OF status ON mails FOR EACH ROW WHEN (((new.status = 'dead'::text) AND (old.status <> 'dead'::text))) EXECUTE FUNCTION tell_of_mail();

-- Who may act for which account.
CREATE TABLE members (
  user_id uuid NOT NULL, -- Who.
  account_id uuid NOT NULL, -- For which account.
  account_kind text NOT NULL DEFAULT 'personal'::text, -- The kind of that account.
  role text NOT NULL, -- owner: may do everything; admin: all but what ends the account or hands it over; member: own keys and calls.
  created_at timestamptz NOT NULL DEFAULT now(), -- Since when.
  CONSTRAINT members_pkey PRIMARY KEY (user_id, account_id),
  CONSTRAINT members_account_fkey FOREIGN KEY (account_id, account_kind) REFERENCES accounts(id, kind),
  CONSTRAINT members_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT members_personal_accounts_have_an_owner_alone CHECK (((role = 'owner'::text) OR (account_kind = 'organisation'::text))),
  CONSTRAINT members_role_known CHECK ((role = ANY (ARRAY['owner'::text, 'admin'::text, 'member'::text])))
);
CREATE INDEX members_account ON members USING btree (account_id, created_at);
CREATE UNIQUE INDEX members_one_owner ON members USING btree (account_id) WHERE (role = 'owner'::text);
CREATE UNIQUE INDEX members_one_personal_account ON members USING btree (user_id) WHERE (account_kind = 'personal'::text);
CREATE CONSTRAINT TRIGGER members_keep_an_owner AFTER DELETE OR UPDATE ON members DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION keep_an_owner();

-- The links that were mailed. A row stays as long as its mail, so that a late try cannot revive a spent link.
CREATE TABLE one_time_tokens (
  mail_id uuid NOT NULL, -- The mail that carries the link.
  user_id uuid NOT NULL, -- Whose address or password it is about.
  purpose text NOT NULL, -- The kind of the mail: a link does one thing.
  token_hash bytea NOT NULL, -- SHA-256 of the token.
  email text NOT NULL, -- The address it was mailed to; dead once the user has another or, for a new one, once somebody has it.
  asked_at timestamptz NOT NULL, -- When its mail was asked for: the newest link of a reset or a new address ends the older ones.
  created_at timestamptz NOT NULL DEFAULT now(), -- First try of its mail.
  expires_at timestamptz NOT NULL, -- Counted from the last try of its mail.
  spent_at timestamptz, -- When it was used; null while it was not.
  CONSTRAINT one_time_tokens_pkey PRIMARY KEY (mail_id),
  CONSTRAINT one_time_tokens_hash_key UNIQUE (token_hash),
  CONSTRAINT one_time_tokens_mail_fkey FOREIGN KEY (mail_id) REFERENCES mails(id) ON DELETE CASCADE,
  CONSTRAINT one_time_tokens_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT one_time_tokens_hash_is_sha256 CHECK ((octet_length(token_hash) = 32)),
  CONSTRAINT one_time_tokens_purpose_known CHECK ((purpose = ANY (ARRAY['verification'::text, 'reset'::text, 'address'::text, 'access'::text])))
);
CREATE INDEX one_time_tokens_user ON one_time_tokens USING btree (user_id, purpose, asked_at);

-- What operators did, for good: rows are added, never changed.
CREATE TABLE operator_actions (
  id uuid NOT NULL, -- UUIDv7; act_… in text. Sorts by time.
  operator_id uuid, -- Who; null for the operator's command line.
  action text NOT NULL, -- What.
  account_id uuid, -- To whose account; null where it is about none.
  details jsonb NOT NULL DEFAULT '{}'::jsonb, -- The rest: amounts in credits, notes, ids.
  created_at timestamptz NOT NULL DEFAULT now(), -- When.
  CONSTRAINT operator_actions_pkey PRIMARY KEY (id),
  CONSTRAINT operator_actions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT operator_actions_operator_fkey FOREIGN KEY (operator_id) REFERENCES users(id),
  CONSTRAINT operator_actions_action_known CHECK ((action = ANY (ARRAY['credits_granted'::text, 'account_suspended'::text, 'account_activated'::text, 'account_limited'::text, 'role_changed'::text, 'account_grouped'::text, 'mail_revived'::text, 'catalogue_applied'::text, 'catalogue_rolled_back'::text, 'key_limited'::text, 'key_rotated'::text, 'key_revoked'::text, 'account_created'::text, 'account_deleted'::text, 'account_exported'::text, 'password_reset_sent'::text, 'sessions_revoked'::text, 'payment_refunded'::text, 'payment_resolved'::text, 'code_created'::text, 'code_disabled'::text, 'debt_forgiven'::text, 'credits_deducted'::text, 'account_viewed'::text, 'mail_discarded'::text, 'actions_exported'::text, 'banner_set'::text, 'banner_removed'::text, 'webhook_created'::text, 'webhook_changed'::text, 'webhook_rotated'::text, 'webhook_removed'::text, 'upstream_key_disabled'::text, 'upstream_key_enabled'::text, 'upstream_key_tested'::text, 'totp_added'::text, 'totp_removed'::text, 'recovery_code_used'::text, 'second_factor_reset'::text, 'passkey_added'::text, 'passkey_removed'::text, 'passkey_refused'::text, 'identity_linked'::text, 'identity_removed'::text, 'login_link_made'::text, 'account_imported'::text, 'claim_link_made'::text])))
);
CREATE INDEX operator_actions_account ON operator_actions USING btree (account_id, id DESC) WHERE (account_id IS NOT NULL);
CREATE INDEX operator_actions_action ON operator_actions USING btree (action, id DESC);
CREATE INDEX operator_actions_operator ON operator_actions USING btree (operator_id, id DESC);

-- Answers on their way to who waits for them (src/shared/replies/passing-answers.ts); swept after two minutes.
CREATE TABLE passing_answers (
  call_id uuid NOT NULL, -- Whose answer. Its call is settled after it.
  output bytea NOT NULL, -- The part of the answer that only the worker knew.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was put there.
  CONSTRAINT passing_answers_pkey PRIMARY KEY (call_id)
);
CREATE INDEX passing_answers_time ON passing_answers USING btree (created_at);

-- Challenges that wait for their signature. A used one is deleted.
CREATE TABLE passkey_challenges (
  challenge_hash bytea NOT NULL, -- SHA-256 of the challenge.
  user_id uuid, -- Who adds a passkey by it; null: it is for the use of one.
  expires_at timestamptz NOT NULL, -- From then on it is refused.
  CONSTRAINT passkey_challenges_pkey PRIMARY KEY (challenge_hash),
  CONSTRAINT passkey_challenges_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT passkey_challenges_hash_is_sha256 CHECK ((octet_length(challenge_hash) = 32))
);
CREATE INDEX passkey_challenges_expiry ON passkey_challenges USING btree (expires_at);

-- The passkeys of users.
CREATE TABLE passkeys (
  id uuid NOT NULL, -- UUIDv7.
  user_id uuid NOT NULL, -- Whose it is.
  credential_id bytea NOT NULL, -- What the authenticator calls it.
  public_key bytea NOT NULL, -- COSE.
  counter bigint NOT NULL, -- How often the authenticator has signed, as it last reported; 0: it does not count.
  transports text[] NOT NULL, -- How browsers reach the authenticator.
  name text NOT NULL, -- For its owner to recognise it by.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was added.
  last_used_at timestamptz, -- When it last signed in or proved its user; null: never.
  host text, -- The host that it belongs to; null: of one from before this was noted.
  CONSTRAINT passkeys_pkey PRIMARY KEY (id),
  CONSTRAINT passkeys_credential_key UNIQUE (credential_id),
  CONSTRAINT passkeys_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT passkeys_counter_not_negative CHECK ((counter >= 0))
);
CREATE INDEX passkeys_user ON passkeys USING btree (user_id);

-- Signed events of providers, once each. They are hints: nothing is credited by them.
CREATE TABLE payment_events (
  provider text NOT NULL, -- Who sent it.
  id text NOT NULL, -- The provider's id of the event.
  type text NOT NULL, -- What it says happened.
  live_mode boolean NOT NULL, -- Whether it is about real money.
  hint jsonb NOT NULL, -- Which object it is about, and which order that names.
  outcome text, -- checked, ignored, unknown, given up; null until a worker handled it.
  tries integer NOT NULL DEFAULT 0, -- Times that a worker took it.
  next_try_at timestamptz DEFAULT now(), -- When a worker takes it (again); null once decided.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it came in.
  CONSTRAINT payment_events_pkey PRIMARY KEY (provider, id),
  CONSTRAINT payment_events_decided_or_due CHECK (((outcome IS NULL) = (next_try_at IS NOT NULL))),
  CONSTRAINT payment_events_id_length CHECK (((char_length(id) >= 1) AND (char_length(id) <= 255))),
  CONSTRAINT payment_events_tries_not_negative CHECK ((tries >= 0))
);
CREATE INDEX payment_events_age ON payment_events USING btree (created_at);
CREATE INDEX payment_events_due ON payment_events USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);

-- Refunds that operators asked for. Written, and their credits taken, before the provider is asked.
CREATE TABLE payment_refunds (
  id uuid NOT NULL, -- UUIDv7; the idempotency key at the provider.
  payment_id uuid NOT NULL, -- Of which payment.
  amount_minor bigint NOT NULL, -- How much, in the minor unit of the payment's currency.
  status text NOT NULL DEFAULT 'asked'::text, -- asked, taken (the provider has it) or refused (for good).
  reference text, -- The provider's id of the refund.
  failure text, -- Why it was refused, in a word of the provider.
  operator_id uuid, -- Who asked for it; null for the command line.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was asked for.
  CONSTRAINT payment_refunds_pkey PRIMARY KEY (id),
  CONSTRAINT payment_refunds_reference_key UNIQUE (reference),
  CONSTRAINT payment_refunds_operator_fkey FOREIGN KEY (operator_id) REFERENCES users(id),
  CONSTRAINT payment_refunds_payment_fkey FOREIGN KEY (payment_id) REFERENCES payments(id),
  CONSTRAINT payment_refunds_amount_positive CHECK ((amount_minor > 0)),
  CONSTRAINT payment_refunds_failure_length CHECK ((char_length(failure) <= 200)),
  CONSTRAINT payment_refunds_status_known CHECK ((status = ANY (ARRAY['asked'::text, 'taken'::text, 'refused'::text]))),
  CONSTRAINT payment_refunds_taken_is_known_there CHECK (((status <> 'taken'::text) OR (reference IS NOT NULL)))
);
CREATE INDEX payment_refunds_payment ON payment_refunds USING btree (payment_id);

-- What refunds and disputes took back, and what was reinstated; append-only.
CREATE TABLE payment_reversals (
  payment_id uuid NOT NULL, -- Of which payment.
  nth integer NOT NULL, -- 1, 2, 3… of its payment.
  account_id uuid NOT NULL, -- Whose credits.
  credits bigint NOT NULL, -- Taken back (positive) or reinstated (negative).
  moved bigint NOT NULL, -- Of these, by ledger entries of kind reversal or reinstatement.
  owed bigint NOT NULL, -- Of these, by debt: what was spent already.
  elsewhere bigint NOT NULL, -- Of these, by a new grant, or not at all where its debt was forgiven.
  refunded_minor bigint NOT NULL, -- What of the payment was refunded then.
  disputed_minor bigint NOT NULL, -- What disputes had withdrawn then.
  created_at timestamptz NOT NULL DEFAULT now(), -- When.
  CONSTRAINT payment_reversals_pkey PRIMARY KEY (payment_id, nth),
  CONSTRAINT payment_reversals_payment_fkey FOREIGN KEY (payment_id, account_id) REFERENCES payments(id, account_id),
  CONSTRAINT payment_reversals_nth_positive CHECK ((nth > 0)),
  CONSTRAINT payment_reversals_of_something CHECK ((credits <> 0)),
  CONSTRAINT payment_reversals_one_direction CHECK (
CASE
    WHEN (credits > 0) THEN ((moved >= 0) AND (owed >= 0) AND (elsewhere = 0))
    ELSE ((moved <= 0) AND (owed <= 0) AND (elsewhere <= 0))
END),
  CONSTRAINT payment_reversals_parts CHECK ((credits = ((moved + owed) + elsewhere)))
);
CREATE INDEX payment_reversals_account ON payment_reversals USING btree (account_id);
CREATE INDEX payment_reversals_time ON payment_reversals USING btree (created_at);
CREATE TRIGGER payment_reversals_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON payment_reversals FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE CONSTRAINT TRIGGER payment_reversals_match_payments AFTER INSERT ON payment_reversals DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_payment();

-- Orders of credits. A row is committed before its provider is asked for anything.
CREATE TABLE payments (
  id uuid NOT NULL, -- UUIDv7; pay_… in text. The idempotency key at the provider.
  account_id uuid NOT NULL, -- Who buys.
  provider text NOT NULL, -- Who takes the money: stripe.
  kind text NOT NULL, -- checkout (a page of the provider) or auto (automatic top-up).
  status text NOT NULL DEFAULT 'created'::text, -- created, open, paid, expired, failed or review (an operator must look).
  live_mode boolean NOT NULL, -- Whether it moves real money; what the provider says must agree.
  pack text, -- The pack that was bought; null for a free amount.
  currency text NOT NULL, -- ISO 4217, lower case.
  amount_minor bigint NOT NULL, -- The price, in the minor unit of the currency.
  credits credits NOT NULL, -- Credits bought.
  bonus credits NOT NULL DEFAULT 0, -- Credits given on top.
  customer text, -- The provider's id of the customer.
  method text, -- The provider's id of the card that an automatic payment asks.
  session text, -- The provider's id of the checkout; null until it is known.
  intent text, -- The provider's id of the payment itself; null until it is known.
  receipt_url text, -- The provider's receipt.
  review_reason text, -- Why an operator must look: what differs from the order.
  failure text, -- Why it failed, in a word of the provider.
  refunded_minor bigint NOT NULL DEFAULT 0, -- Refunded so far, or being refunded.
  disputed_minor bigint NOT NULL DEFAULT 0, -- Withdrawn by disputes, less what came back.
  reversed credits NOT NULL DEFAULT 0, -- Credits taken back or turned into debt, less what was reinstated.
  version integer NOT NULL DEFAULT 0, -- Changes so far: what was read from the provider before a change is stale.
  checks integer NOT NULL DEFAULT 0, -- Times that the sweep has looked since the last change.
  next_check_at timestamptz, -- When the sweep looks again; null: no more.
  expires_at timestamptz, -- When its checkout closes.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was ordered.
  paid_at timestamptz, -- When it was found paid, and its credits were granted.
  page text, -- The provider's page, for as long as nobody has paid there; not to be shown unless the payment is open.
  CONSTRAINT payments_pkey PRIMARY KEY (id),
  CONSTRAINT payments_intent_key UNIQUE (provider, intent),
  CONSTRAINT payments_of_account_key UNIQUE (id, account_id),
  CONSTRAINT payments_session_key UNIQUE (provider, session),
  CONSTRAINT payments_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT payments_amount_positive CHECK (((amount_minor >= 1) AND (amount_minor <= '1000000000000'::bigint))),
  CONSTRAINT payments_auto_has_card CHECK (((kind <> 'auto'::text) OR ((method IS NOT NULL) AND (session IS NULL)))),
  CONSTRAINT payments_bonus_not_negative CHECK ((((bonus)::bigint >= 0) AND ((bonus)::bigint <= '1000000000000'::bigint))),
  CONSTRAINT payments_checks_not_negative CHECK ((checks >= 0)),
  CONSTRAINT payments_credits_positive CHECK ((((credits)::bigint >= 1) AND ((credits)::bigint <= '1000000000000'::bigint))),
  CONSTRAINT payments_currency_is_lowercase CHECK ((currency ~ '^[a-z]{3}$'::text)),
  CONSTRAINT payments_disputed_within CHECK (((disputed_minor >= 0) AND (disputed_minor <= amount_minor))),
  CONSTRAINT payments_failure_length CHECK ((char_length(failure) <= 200)),
  CONSTRAINT payments_kind_known CHECK ((kind = ANY (ARRAY['checkout'::text, 'auto'::text]))),
  CONSTRAINT payments_open_is_known_there CHECK (((status <> 'open'::text) OR (session IS NOT NULL) OR (intent IS NOT NULL))),
  CONSTRAINT payments_pack_length CHECK ((char_length(pack) <= 200)),
  CONSTRAINT payments_paid_has_time CHECK (((status = 'paid'::text) = (paid_at IS NOT NULL))),
  CONSTRAINT payments_provider_known CHECK ((provider = 'stripe'::text)),
  CONSTRAINT payments_refunded_within CHECK (((refunded_minor >= 0) AND (refunded_minor <= amount_minor))),
  CONSTRAINT payments_reversed_was_paid CHECK ((((reversed)::bigint = 0) OR (status = 'paid'::text))),
  CONSTRAINT payments_reversed_within CHECK ((((reversed)::bigint >= 0) AND ((reversed)::bigint <= ((credits)::bigint + (bonus)::bigint)))),
  CONSTRAINT payments_review_has_reason CHECK (((status = 'review'::text) = (review_reason IS NOT NULL))),
  CONSTRAINT payments_status_known CHECK ((status = ANY (ARRAY['created'::text, 'open'::text, 'paid'::text, 'expired'::text, 'failed'::text, 'review'::text])))
);
CREATE INDEX payments_account ON payments USING btree (account_id, id DESC);
CREATE INDEX payments_due ON payments USING btree (next_check_at) WHERE (next_check_at IS NOT NULL);
CREATE UNIQUE INDEX payments_one_auto ON payments USING btree (account_id) WHERE ((kind = 'auto'::text) AND (status = ANY (ARRAY['created'::text, 'open'::text, 'review'::text])));
CREATE INDEX payments_review ON payments USING btree (id) WHERE (status = 'review'::text);
CREATE CONSTRAINT TRIGGER payments_match_grants AFTER INSERT OR UPDATE OF id, status, credits, bonus, reversed ON payments DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_payment();
CREATE TRIGGER payments_tell AFTER UPDATE OF status, refunded_minor, disputed_minor ON payments FOR EACH ROW EXECUTE FUNCTION tell_of_payment();
CREATE TRIGGER payments_terms_stand BEFORE UPDATE ON payments FOR EACH ROW EXECUTE FUNCTION keep_payment_terms();

-- Browsers that have come back from a provider: who they are there, the latest of a browser. It signs nobody in.
CREATE TABLE pending_identities (
  id uuid NOT NULL, -- UUIDv7.
  browser_hash bytea NOT NULL, -- SHA-256 of the cookie of the browser that it belongs to.
  provider text NOT NULL, -- Its id in SIGNIN_PROVIDERS.
  issuer text NOT NULL, -- Who vouches for them.
  subject text NOT NULL, -- What the issuer calls them.
  email text, -- The address that they have there.
  email_verified boolean NOT NULL, -- Whether the issuer has verified it.
  has_passed_factor boolean NOT NULL, -- Whether the issuer has asked for a second factor.
  purpose text NOT NULL, -- What for: sign_in, link or proof.
  session_id uuid, -- Which session links or proves; null: it signs in.
  invitation_hash bytea, -- SHA-256 of the invitation that the sign-in is to accept.
  finished_at timestamptz, -- When the browser asked what follows, which it can once.
  mail_id uuid, -- The mail that is to prove an address; null: none.
  mail_hash bytea, -- SHA-256 of the token of that mail; null: none, or it was used.
  mailed_to text, -- The address that is to be proved.
  created_at timestamptz NOT NULL DEFAULT now(), -- When the browser came back.
  expires_at timestamptz NOT NULL, -- From then on it is refused.
  CONSTRAINT pending_identities_pkey PRIMARY KEY (id),
  CONSTRAINT pending_identities_browser_key UNIQUE (browser_hash),
  CONSTRAINT pending_identities_browser_is_sha256 CHECK ((octet_length(browser_hash) = 32)),
  CONSTRAINT pending_identities_mail_whole CHECK (((mail_id IS NULL) = (mailed_to IS NULL))),
  CONSTRAINT pending_identities_verified_address CHECK (((email IS NOT NULL) OR (NOT email_verified)))
);
CREATE INDEX pending_identities_expiry ON pending_identities USING btree (expires_at);
CREATE UNIQUE INDEX pending_identities_mail ON pending_identities USING btree (mail_id);

-- Every price that a call was opened at, for good.
CREATE TABLE price_versions (
  id uuid NOT NULL, -- Derived from the model and the hash; price_… in text.
  model text NOT NULL, -- The gateway's model id.
  hash text NOT NULL, -- SHA-256 of the price as JSON with sorted keys, in hex.
  price jsonb NOT NULL, -- The price, as calls carry it.
  created_at timestamptz NOT NULL DEFAULT now(), -- When the first call was opened at it.
  CONSTRAINT price_versions_pkey PRIMARY KEY (id),
  CONSTRAINT price_versions_once UNIQUE (model, hash),
  CONSTRAINT price_versions_hash_whole CHECK ((hash ~ '^[0-9a-f]{64}$'::text))
);

-- Browsers that are at a provider. One that comes back is deleted.
CREATE TABLE provider_attempts (
  state_hash bytea NOT NULL, -- SHA-256 of the state.
  browser_hash bytea NOT NULL, -- SHA-256 of the cookie of the browser that must come back.
  provider text NOT NULL, -- Its id in SIGNIN_PROVIDERS.
  purpose text NOT NULL, -- What for: sign_in, link or proof.
  session_id uuid, -- Which session links or proves; null: it signs in.
  invitation_hash bytea, -- SHA-256 of the invitation that the sign-in is to accept.
  expires_at timestamptz NOT NULL, -- From then on it is refused.
  CONSTRAINT provider_attempts_pkey PRIMARY KEY (state_hash),
  CONSTRAINT provider_attempts_browser_is_sha256 CHECK ((octet_length(browser_hash) = 32)),
  CONSTRAINT provider_attempts_purpose_known CHECK ((purpose = ANY (ARRAY['sign_in'::text, 'link'::text, 'proof'::text]))),
  CONSTRAINT provider_attempts_session_of_purpose CHECK (((session_id IS NULL) = (purpose = 'sign_in'::text))),
  CONSTRAINT provider_attempts_state_is_sha256 CHECK ((octet_length(state_hash) = 32))
);
CREATE INDEX provider_attempts_expiry ON provider_attempts USING btree (expires_at);

-- Recovery codes that were not used. A used one is deleted.
CREATE TABLE recovery_codes (
  user_id uuid NOT NULL, -- Whose it is.
  code_hash bytea NOT NULL, -- SHA-256 of the code: 80 random bits.
  CONSTRAINT recovery_codes_pkey PRIMARY KEY (user_id, code_hash),
  CONSTRAINT recovery_codes_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT recovery_codes_hash_is_sha256 CHECK ((octet_length(code_hash) = 32))
);

-- Codes that give credits. The code itself is never stored.
CREATE TABLE redemption_codes (
  id uuid NOT NULL, -- UUIDv7; code_… in text.
  code_hash bytea NOT NULL, -- SHA-256 of the code without its dashes.
  hint text NOT NULL, -- Its last four characters, to recognise it by.
  credits credits NOT NULL, -- Credits for each who redeems it.
  uses integer NOT NULL DEFAULT 0, -- Times that it was redeemed.
  max_uses integer NOT NULL, -- The most times that it can be.
  expires_at timestamptz, -- From then on it is refused; null: never.
  grants_expire_at timestamptz, -- When the credits that it gave expire; null: never.
  disabled_at timestamptz, -- Since when an operator has it refused; null while it is not.
  note text, -- The operator's remark.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was made.
  CONSTRAINT redemption_codes_pkey PRIMARY KEY (id),
  CONSTRAINT redemption_codes_hash_key UNIQUE (code_hash),
  CONSTRAINT redemption_codes_credits_positive CHECK ((((credits)::bigint >= 1) AND ((credits)::bigint <= '1000000000000'::bigint))),
  CONSTRAINT redemption_codes_hash_is_sha256 CHECK ((octet_length(code_hash) = 32)),
  CONSTRAINT redemption_codes_max_uses_positive CHECK ((max_uses > 0)),
  CONSTRAINT redemption_codes_note_length CHECK ((char_length(note) <= 200)),
  CONSTRAINT redemption_codes_uses_at_most_max CHECK (((uses >= 0) AND (uses <= max_uses)))
);

-- Who has redeemed which code: an account each code once.
CREATE TABLE redemptions (
  code_id uuid NOT NULL, -- Which code.
  account_id uuid NOT NULL, -- Whose account.
  grant_id uuid NOT NULL, -- The grant that it gave.
  created_at timestamptz NOT NULL DEFAULT now(), -- When.
  CONSTRAINT redemptions_pkey PRIMARY KEY (code_id, account_id),
  CONSTRAINT redemptions_grant_key UNIQUE (grant_id),
  CONSTRAINT redemptions_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT redemptions_code_fkey FOREIGN KEY (code_id) REFERENCES redemption_codes(id),
  CONSTRAINT redemptions_grant_fkey FOREIGN KEY (grant_id) REFERENCES grants(id)
);
CREATE INDEX redemptions_account ON redemptions USING btree (account_id);

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
  proved_at timestamptz, -- The last password or passkey since the login; null: none was asked for.
  code_at timestamptz, -- The last code of an authenticator app since the login.
  factor_at_provider boolean NOT NULL DEFAULT false, -- Whether it was opened by a provider that has asked for a second factor.
  CONSTRAINT sessions_pkey PRIMARY KEY (id),
  CONSTRAINT sessions_token_hash_key UNIQUE (token_hash),
  CONSTRAINT sessions_member_fkey FOREIGN KEY (user_id, account_id) REFERENCES members(user_id, account_id) ON DELETE CASCADE,
  CONSTRAINT sessions_hash_is_sha256 CHECK ((octet_length(token_hash) = 32)),
  CONSTRAINT sessions_ip_length CHECK ((char_length(ip) <= 45)),
  CONSTRAINT sessions_live_a_week_at_most CHECK ((expires_at <= (created_at + '7 days'::interval))),
  CONSTRAINT sessions_user_agent_length CHECK ((char_length(user_agent) <= 200))
);
CREATE INDEX sessions_account ON sessions USING btree (account_id);
CREATE INDEX sessions_expiry ON sessions USING btree (expires_at);
CREATE INDEX sessions_user ON sessions USING btree (user_id, id);

-- Logins that wait for the second factor. A used one is deleted.
CREATE TABLE sign_in_tickets (
  token_hash bytea NOT NULL, -- SHA-256 of the ticket.
  user_id uuid NOT NULL, -- Whose password was right.
  browser_hash bytea NOT NULL, -- SHA-256 of the cookie of the browser that it belongs to.
  failures integer NOT NULL DEFAULT 0, -- Wrong codes so far.
  expires_at timestamptz NOT NULL, -- From then on it is refused.
  pending_id uuid, -- The pending identity that it links; null: none.
  CONSTRAINT sign_in_tickets_pkey PRIMARY KEY (token_hash),
  CONSTRAINT sign_in_tickets_user_fkey FOREIGN KEY (user_id) REFERENCES users(id),
  CONSTRAINT sign_in_tickets_browser_is_sha256 CHECK ((octet_length(browser_hash) = 32)),
  CONSTRAINT sign_in_tickets_failures_few CHECK (((failures >= 0) AND (failures <= 4))),
  CONSTRAINT sign_in_tickets_hash_is_sha256 CHECK ((octet_length(token_hash) = 32))
);
CREATE INDEX sign_in_tickets_expiry ON sign_in_tickets USING btree (expires_at);
CREATE INDEX sign_in_tickets_user ON sign_in_tickets USING btree (user_id);

-- The authenticator app of a user.
CREATE TABLE totp_secrets (
  user_id uuid NOT NULL, -- Whose it is.
  secret bytea NOT NULL, -- Encrypted under APP_SECRET, for this user.
  confirmed_at timestamptz, -- When a first code was right; null: it counts for nothing yet.
  last_step bigint NOT NULL DEFAULT 0, -- The time step of the last accepted code: no earlier one is accepted.
  created_at timestamptz NOT NULL DEFAULT now(), -- When it was made.
  CONSTRAINT totp_secrets_pkey PRIMARY KEY (user_id),
  CONSTRAINT totp_secrets_user_fkey FOREIGN KEY (user_id) REFERENCES users(id)
);

-- Files of forms while their call is open (src/shared/requests/uploads.ts); swept when it has ended.
CREATE TABLE uploads (
  call_id uuid NOT NULL, -- Whose file.
  place integer NOT NULL, -- Which of the files of its form, from 0.
  chunk integer NOT NULL, -- Which part of the file, from 0.
  bytes bytea NOT NULL, -- At most 1 MB.
  CONSTRAINT uploads_pkey PRIMARY KEY (call_id, place, chunk),
  CONSTRAINT uploads_chunk_small CHECK ((octet_length(bytes) <= 1048576))
);

-- Calls that have ended, added up. Written by sql/fold_usage.sql alone; it outlives the records of its calls.
CREATE TABLE usage_hours (
  account_id uuid NOT NULL, -- Who paid.
  hour timestamptz NOT NULL, -- The hour (UTC) in which the calls were accepted.
  user_id uuid NOT NULL, -- The member whose calls they are.
  key_id uuid NOT NULL, -- The API key that they came with.
  model text NOT NULL, -- Empty for refused calls: theirs is any text that a client sent.
  modality modality NOT NULL, -- Of the model.
  upstream text NOT NULL, -- The upstream that served or failed them; empty: none.
  group_name text NOT NULL, -- The group of the account then; empty: none.
  calls bigint NOT NULL, -- Accepted ones.
  succeeded bigint NOT NULL, -- Those that succeeded.
  failed bigint NOT NULL, -- Those that failed.
  refused bigint NOT NULL, -- Those that were refused before a charge; they are not in calls.
  input_tokens bigint NOT NULL, -- Input tokens, those of caches too.
  cached_input_tokens bigint NOT NULL, -- Input tokens that were read from a cache.
  cache_write_tokens bigint NOT NULL, -- Input tokens that were written to a cache.
  output_tokens bigint NOT NULL, -- Output tokens.
  pictures bigint NOT NULL, -- Pictures that were delivered.
  seconds numeric NOT NULL, -- Seconds of videos and recordings.
  credits bigint NOT NULL, -- Credits collected.
  credits_uncollected bigint NOT NULL, -- What became debt of the account.
  cost_micro_usd bigint NOT NULL, -- What is known of the cost at upstreams, in micro-dollars.
  calls_of_unknown_cost bigint NOT NULL, -- Calls whose cost is not known.
  succeeded_ms bigint NOT NULL, -- How long those that succeeded took together, in milliseconds.
  CONSTRAINT usage_hours_pkey PRIMARY KEY (account_id, hour, user_id, key_id, model, modality, upstream, group_name),
  CONSTRAINT usage_hours_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT usage_hours_add_up CHECK (((calls = (succeeded + failed)) AND (refused >= 0) AND (calls >= 0)))
);
CREATE INDEX usage_hours_hour ON usage_hours USING btree (hour);

-- How far calls are folded into usage_hours: one row.
CREATE TABLE usage_watermark (
  id boolean NOT NULL DEFAULT true, -- Always true.
  folded_until timestamptz NOT NULL, -- Calls that ended before this are folded, and no others.
  records_from timestamptz NOT NULL, -- Of calls accepted before this, records may have been deleted.
  ledger_from timestamptz NOT NULL, -- Of calls accepted before this, records were deleted before they were folded.
  kept_from uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000'::uuid, -- Calls with lower ids are in months that are dropped, or about to be: budget_windows.swept has what they used.
  CONSTRAINT usage_watermark_pkey PRIMARY KEY (id),
  CONSTRAINT usage_watermark_one CHECK (id)
);

-- People who sign in. Nothing of the money hangs on them: that is the account's.
CREATE TABLE users (
  id uuid NOT NULL, -- UUIDv7, made by the caller; usr_… in text.
  email text NOT NULL, -- ASCII, lowercased.
  password_hash text NOT NULL, -- argon2id, PHC string; of an imported user bcrypt until their first login; none: no password.
  display_name text NOT NULL DEFAULT ''::text, -- At most 60 code points; empty when none.
  avatar_url text NOT NULL DEFAULT ''::text, -- https address, or empty.
  role text NOT NULL DEFAULT 'user'::text, -- user, or admin: may use /api/operator.
  email_verified_at timestamptz, -- When the address was proved; null while unverified.
  password_changed_at timestamptz NOT NULL DEFAULT now(), -- Reset links that were asked for before it are dead.
  created_at timestamptz NOT NULL DEFAULT now(), -- Registration.
  has_second_factor boolean NOT NULL DEFAULT false, -- Whether a session needs one. Changed with the factors.
  language text NOT NULL DEFAULT 'en'::text, -- Of mails to them: a tag such as zh-CN.
  unclaimed boolean NOT NULL DEFAULT false, -- Whether nobody has claimed them: they have no login, and nobody's address.
  claim_hash bytea, -- SHA-256 of the token of the link that claims them; null: there is none.
  claim_until timestamptz, -- From then on that link is refused.
  CONSTRAINT users_pkey PRIMARY KEY (id),
  CONSTRAINT users_email_key UNIQUE (email),
  CONSTRAINT users_avatar_url_length CHECK ((char_length(avatar_url) <= 2048)),
  CONSTRAINT users_claim_is_sha256 CHECK ((octet_length(claim_hash) = 32)),
  CONSTRAINT users_claim_whole CHECK (((claim_hash IS NULL) = (claim_until IS NULL))),
  CONSTRAINT users_claimed_once CHECK ((unclaimed OR (claim_hash IS NULL))),
  CONSTRAINT users_display_name_length CHECK ((char_length(display_name) <= 60)),
  CONSTRAINT users_email_is_lowercase CHECK (((email = lower(email)) AND (length(email) <= 254))),
  CONSTRAINT users_language_known CHECK ((language = ANY (ARRAY['en'::text, 'zh-CN'::text]))),
  CONSTRAINT users_role_known CHECK ((role = ANY (ARRAY['user'::text, 'admin'::text]))),
  CONSTRAINT users_unclaimed_have_no_login CHECK (((NOT unclaimed) OR ((password_hash = 'none'::text) AND (email_verified_at IS NULL) AND (role = 'user'::text))))
);
CREATE UNIQUE INDEX users_claim ON users USING btree (claim_hash) WHERE (claim_hash IS NOT NULL);
CREATE INDEX users_with_bcrypt ON users USING btree (id) WHERE (password_hash ~~ '$2%'::text);

-- The outbox: an event for one receiver, written in the transaction of its cause, delivered by the webhook workers.
CREATE TABLE webhook_deliveries (
  id uuid NOT NULL, -- UUIDv7; whd_… in text.
  webhook_id uuid NOT NULL, -- For whom, and whose secret signs it.
  event_id uuid NOT NULL, -- The event, the same for all its receivers: webhook-id; evt_… in text.
  type text NOT NULL, -- The type of the event.
  url text, -- Where a call wants its own event; null: the address of the webhook.
  body text NOT NULL, -- The bytes that are sent, the same in all tries.
  status text NOT NULL DEFAULT 'queued'::text, -- queued, sending, delivered, failed (given up), or held while its webhook is disabled.
  tries integer NOT NULL DEFAULT 0, -- Times that a worker took it.
  next_try_at timestamptz NOT NULL DEFAULT now(), -- When it may be taken; while sending, when its worker counts as dead.
  answer_status integer, -- The HTTP status that the last try was answered with; null where it was not.
  answer_ms integer, -- How long the last try took, in ms.
  note text, -- Why the last try was no success.
  created_at timestamptz NOT NULL DEFAULT now(), -- When the event happened.
  finished_at timestamptz, -- When it was delivered or given up.
  CONSTRAINT webhook_deliveries_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_deliveries_webhook_fkey FOREIGN KEY (webhook_id) REFERENCES webhooks(id) ON DELETE CASCADE,
  CONSTRAINT webhook_deliveries_body_length CHECK ((octet_length(body) <= 20000)),
  CONSTRAINT webhook_deliveries_finished_or_not CHECK (((status = ANY (ARRAY['delivered'::text, 'failed'::text])) = (finished_at IS NOT NULL))),
  CONSTRAINT webhook_deliveries_status_known CHECK ((status = ANY (ARRAY['queued'::text, 'sending'::text, 'delivered'::text, 'failed'::text, 'held'::text]))),
  CONSTRAINT webhook_deliveries_tries_not_negative CHECK ((tries >= 0)),
  CONSTRAINT webhook_deliveries_url_length CHECK (((char_length(url) >= 1) AND (char_length(url) <= 2048)))
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries USING btree (next_try_at) WHERE (status = ANY (ARRAY['queued'::text, 'sending'::text]));
CREATE INDEX webhook_deliveries_lost ON webhook_deliveries USING btree (status) WHERE (status = ANY (ARRAY['failed'::text, 'held'::text]));
CREATE INDEX webhook_deliveries_old ON webhook_deliveries USING btree (created_at);
CREATE INDEX webhook_deliveries_open ON webhook_deliveries USING btree (webhook_id, next_try_at) WHERE (status = ANY (ARRAY['queued'::text, 'sending'::text]));
CREATE INDEX webhook_deliveries_webhook ON webhook_deliveries USING btree (webhook_id, id);

-- Each try of a delivery, deleted with it.
CREATE TABLE webhook_tries (
  id bigint NOT NULL, -- The order of the tries.
  delivery_id uuid NOT NULL, -- Of which delivery.
  ended_at timestamptz NOT NULL DEFAULT now(), -- When it succeeded or failed.
  answer_status integer, -- The HTTP status of the answer; null: none.
  answer_ms integer, -- How long it took, in ms.
  note text, -- Why it was no success; null for a success.
  answer text, -- How the answer began, where it was no success.
  CONSTRAINT webhook_tries_pkey PRIMARY KEY (id),
  CONSTRAINT webhook_tries_delivery_fkey FOREIGN KEY (delivery_id) REFERENCES webhook_deliveries(id) ON DELETE CASCADE,
  CONSTRAINT webhook_tries_answer_length CHECK ((char_length(answer) <= 512))
);
CREATE INDEX webhook_tries_delivery ON webhook_tries USING btree (delivery_id, id);

-- Where events go, and what they are signed with.
CREATE TABLE webhooks (
  id uuid NOT NULL, -- UUIDv7; wh_… in text.
  account_id uuid, -- Whose it is; null: the operators'.
  url text, -- The receiver's address. Null: the row has the secret of the addresses that calls name themselves.
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
  CONSTRAINT webhooks_account_fkey FOREIGN KEY (account_id) REFERENCES accounts(id),
  CONSTRAINT webhooks_callbacks_are_never_disabled CHECK (((url IS NOT NULL) OR (disabled_at IS NULL))),
  CONSTRAINT webhooks_callbacks_have_an_account CHECK (((url IS NOT NULL) OR (account_id IS NOT NULL))),
  CONSTRAINT webhooks_disabled_reason_known CHECK ((disabled_reason = ANY (ARRAY['owner'::text, 'gone'::text, 'failing'::text]))),
  CONSTRAINT webhooks_disabled_whole CHECK (((disabled_at IS NULL) = (disabled_reason IS NULL))),
  CONSTRAINT webhooks_previous_whole CHECK (((previous_secret IS NULL) = (previous_until IS NULL))),
  CONSTRAINT webhooks_types_count CHECK ((cardinality(types) <= 20)),
  CONSTRAINT webhooks_url_length CHECK (((char_length(url) >= 1) AND (char_length(url) <= 2048)))
);
CREATE INDEX webhooks_account ON webhooks USING btree (account_id);
CREATE UNIQUE INDEX webhooks_callback_secret ON webhooks USING btree (account_id) WHERE (url IS NULL);

-- When the call of this id was accepted.
CREATE FUNCTION accepted_at(id uuid) RETURNS timestamptz;

-- CONSTRAINT accounts_deleted_are_suspended CHECK (((deleted_at IS NULL) OR (status = 'suspended'::text))),
-- CONSTRAINT accounts_demand_only_a_due_top_up CHECK (((top_up_for IS NULL) OR (top_up_state = 'due'::text))),
-- CONSTRAINT accounts_emptied_were_deleted CHECK (((emptied_at IS NULL) OR (deleted_at IS NOT NULL))),
-- CONSTRAINT accounts_group_name_length CHECK (((char_length(group_name) >= 1) AND (char_length(group_name) <= 50))),
-- CONSTRAINT accounts_kind_known CHECK ((kind = ANY (ARRAY['personal'::text, 'organisation'::text]))),
-- CONSTRAINT accounts_low_balance_positive CHECK (((low_balance_below)::bigint > 0)),
-- CONSTRAINT accounts_low_balance_state_known CHECK ((low_balance_state = ANY (ARRAY['armed'::text, 'due'::text, 'done'::text]))),
-- CONSTRAINT accounts_max_outstanding_positive CHECK ((max_outstanding > 0)),
-- CONSTRAINT accounts_name_length CHECK ((char_length(name) <= 60)),
-- CONSTRAINT accounts_organisations_are_named CHECK ((((kind = 'organisation'::text) AND (deleted_at IS NULL)) = (name <> ''::text))),
-- CONSTRAINT accounts_outstanding_not_negative CHECK ((outstanding_calls >= 0)),
-- CONSTRAINT accounts_rate_limit_positive CHECK ((rate_limit > 0)),
-- CONSTRAINT accounts_status_known CHECK ((status = ANY (ARRAY['active'::text, 'suspended'::text]))),
-- CONSTRAINT accounts_tokens_counted_where_limited CHECK ((((tokens_per_minute IS NOT NULL) OR (token_window_at IS NULL)) AND ((token_window_at IS NOT NULL) OR ((token_window_used)::bigint = 0)))),
-- CONSTRAINT accounts_tokens_per_minute_positive CHECK (((tokens_per_minute)::bigint > 0)),
-- CONSTRAINT accounts_top_up_positive CHECK (((top_up_below)::bigint > 0)),
-- CONSTRAINT accounts_top_up_state_known CHECK ((top_up_state = ANY (ARRAY['armed'::text, 'due'::text, 'done'::text]))),
-- CONSTRAINT accounts_watch_only_what_is_set CHECK ((((low_balance_below IS NOT NULL) OR (low_balance_state = 'armed'::text)) AND ((top_up_below IS NOT NULL) OR (top_up_state = 'armed'::text))))
CREATE FUNCTION accounts_rules(kind text, name text, status text, outstanding_calls integer, deleted_at timestamptz, emptied_at timestamptz, low_balance_below bigint, low_balance_state text, top_up_below bigint, top_up_state text, top_up_for bigint, group_name text, rate_limit integer, max_outstanding integer, tokens_per_minute bigint, token_window_at timestamptz, token_window_used bigint) RETURNS boolean;

-- Begins calls for runs; the rows of those that are theirs.
CREATE FUNCTION begin_calls(ids uuid[], runs uuid[], lease_seconds integer, flushed boolean, lowest uuid, greatest_id uuid) RETURNS SETOF calls SET plan_cache_mode=force_generic_plan;

-- Whether a charge is within a budget, of which so much is used.
CREATE FUNCTION budget_allows(budget bigint, used bigint, charge bigint) RETURNS boolean;

-- When the window of a budget begins that this moment lies in.
CREATE FUNCTION budget_window(period text, moment timestamptz) RETURNS timestamptz;

-- The budgets that the calls of a key use: its own, and that of the member whose it is.
CREATE FUNCTION budgets_of(of_account uuid, of_key uuid, of_member uuid) RETURNS SETOF budgets;

-- CONSTRAINT calls_cached_tokens_are_input CHECK ((((cached_input_tokens)::bigint + (cache_write_tokens)::bigint) <= (input_tokens)::bigint)),
-- CONSTRAINT calls_callback_url_length CHECK ((char_length(callback_url) <= 2048)) NOT VALID,
-- CONSTRAINT calls_cost_within_twice_the_charge CHECK ((((credits)::bigint + (credits_uncollected)::bigint) <= (2 * (credits_precharged)::bigint))),
-- CONSTRAINT calls_count_positive CHECK ((count >= 1)),
-- CONSTRAINT calls_deleted_are_videos CHECK (((deleted_at IS NULL) OR (((modality)::text = 'video'::text) AND (status <> 'rejected'::text)))),
-- CONSTRAINT calls_dialect_known CHECK (((dialect IS NULL) OR (((modality)::text = 'chat'::text) AND (dialect = ANY (ARRAY['messages'::text, 'responses'::text, 'gemini'::text]))))),
-- CONSTRAINT calls_ended_are_complete CHECK ((((status = ANY (ARRAY['queued'::text, 'running'::text])) = (finished_at IS NULL)) AND ((finished_at IS NULL) = (http_status IS NULL)))),
-- CONSTRAINT calls_error_where_refused CHECK (((status = ANY (ARRAY['failed'::text, 'rejected'::text])) = (error_type IS NOT NULL))),
-- CONSTRAINT calls_failed_cost_nothing CHECK (((status <> ALL (ARRAY['failed'::text, 'rejected'::text])) OR ((credits)::bigint = 0))),
-- CONSTRAINT calls_idempotency_whole CHECK ((((idempotency_key IS NULL) = (idempotency_expires_at IS NULL)) AND ((idempotency_key IS NULL) OR (request_hash IS NOT NULL)))),
-- CONSTRAINT calls_more_results_of_pictures CHECK (((more_result_urls IS NULL) OR (cardinality(more_result_urls) < COALESCE((pictures)::bigint, (0)::bigint)))),
-- CONSTRAINT calls_open_hold_their_charge CHECK (((status <> ALL (ARRAY['queued'::text, 'running'::text])) OR (((credits)::bigint = (credits_precharged)::bigint) AND (price IS NOT NULL) AND (lease_until IS NOT NULL) AND (deadline_at IS NOT NULL)))),
-- CONSTRAINT calls_pictures_were_delivered CHECK (((pictures IS NULL) OR (((modality)::text = 'image'::text) AND (status = 'succeeded'::text) AND ((pictures)::bigint >= 1) AND (((credits)::bigint + (credits_uncollected)::bigint) <= (credits_precharged)::bigint)))),
-- CONSTRAINT calls_progress_in_percent CHECK (((progress >= 0) AND (progress <= 100))),
-- CONSTRAINT calls_rejected_were_not_charged CHECK (((status <> 'rejected'::text) OR ((credits_precharged)::bigint = 0))),
-- CONSTRAINT calls_repeated_tokens_were_written CHECK (((repeated_input_tokens)::bigint <= (cache_write_tokens)::bigint)),
-- CONSTRAINT calls_status_known CHECK ((status = ANY (ARRAY['queued'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'rejected'::text])))
CREATE FUNCTION calls_rules(modality text, dialect text, status text, price jsonb, credits_precharged bigint, credits bigint, credits_uncollected bigint, input_tokens bigint, http_status integer, error_type text, more_result_urls text[], pictures bigint, progress smallint, deleted_at timestamptz, idempotency_key text, idempotency_expires_at timestamptz, request_hash bytea, lease_until timestamptz, deadline_at timestamptz, finished_at timestamptz, count integer, cached_input_tokens bigint, cache_write_tokens bigint, repeated_input_tokens bigint, callback_url text) RETURNS boolean;

-- The usage of the calls that ended in a time.
CREATE FUNCTION calls_usage(since timestamptz, upto timestamptz) RETURNS SETOF usage_hours;

-- Refuses ledger entries that do not match their call, or name a grant of another account.
CREATE FUNCTION check_ledger() RETURNS trigger;

-- Refuses a payment whose grants or reversals are not what it states.
CREATE FUNCTION check_payment() RETURNS trigger;

-- Takes over the call that a request is a retry of, for the web process that will answer it; null without one.
CREATE FUNCTION claim_call(of_account uuid, of_key uuid, of_request bytea, new_reply_to text, is_numbered boolean, dead jsonb DEFAULT '[]'::jsonb) RETURNS uuid;

-- Repays the debt of these accounts from what they can spend, by entries of kind collection; returns the balances after it.
CREATE FUNCTION collect_debts(account_ids uuid[]) RETURNS TABLE(account_id uuid, balance bigint);

-- Corrects what ended calls reserved of the tokens of a minute.
CREATE FUNCTION correct_tokens(ended uuid[]) RETURNS void;

-- Counts the open calls of a key, and marks its account, after its limits were changed.
CREATE FUNCTION count_key_use(counted_key uuid) RETURNS void;

-- Takes credits back from an account, once for a request; what it cannot spend becomes debt or refuses it all.
CREATE FUNCTION deduct_credits(the_deduction uuid, the_account uuid, wanted bigint, may_owe boolean, why text, request_key text) RETURNS TABLE(outcome text, deduction uuid, taken bigint, left_owing bigint, balance bigint, spendable bigint);

-- Settles or refunds calls and keeps their results; a row for each call that this very statement ended, with the place of the outcome that did, none for the others.
CREATE FUNCTION end_calls(outcomes jsonb, outputs text[]) RETURNS TABLE(place bigint, id uuid, account_id uuid, status text, credits bigint, uncollected bigint, balance bigint, latency_ms bigint, created_at timestamptz, reply_to text, model text, modality text, upstream text, precharged bigint, running_ms bigint, dialect text) SET plan_cache_mode=force_generic_plan;

-- Removes what is left in expired grants of these accounts, by entries of kind expiry; returns how many grants.
CREATE FUNCTION expire_grants(account_ids uuid[], moment timestamptz) RETURNS integer;

-- The lowest UUIDv7 of a moment.
CREATE FUNCTION first_id(moment timestamptz) RETURNS uuid;

-- Adds at most some thousand ended calls to usage_hours; whether there are more.
CREATE FUNCTION fold_usage(most integer) RETURNS boolean;

-- The id of the record that equal refusals of a minute share.
CREATE FUNCTION folded_id(of_key uuid, of_modality text, of_model text, error text, moment timestamptz) RETURNS uuid;

-- When a grant pays for nothing any more; null: never.
CREATE FUNCTION grant_ends_at(expires_at timestamptz, revived_until timestamptz) RETURNS timestamptz;

-- CONSTRAINT grants_amount_positive CHECK ((((amount)::bigint >= 1) AND ((amount)::bigint <= '1000000000000'::bigint))),
-- CONSTRAINT grants_open_means_remaining CHECK ((open = ((remaining)::bigint > 0))),
-- CONSTRAINT grants_origin_known CHECK ((origin = ANY (ARRAY['signup'::text, 'purchase'::text, 'bonus'::text, 'adjustment'::text, 'import'::text]))),
-- CONSTRAINT grants_payment_gives_purchases CHECK (((payment_id IS NULL) OR ((origin = ANY (ARRAY['purchase'::text, 'bonus'::text])) AND (expires_at IS NULL)))),
-- CONSTRAINT grants_remaining_within_amount CHECK (((remaining)::bigint <= (amount)::bigint)),
-- CONSTRAINT grants_revived_once_expired CHECK (((revived_until IS NULL) OR COALESCE((revived_until > expires_at), false)))
CREATE FUNCTION grants_rules(origin text, amount bigint, remaining bigint, open boolean, expires_at timestamptz, payment_id uuid, revived_until timestamptz) RETURNS boolean;

-- Whether a table has a partition for a month.
CREATE FUNCTION has_month(parent text, month timestamp without time zone) RETURNS boolean;

-- A moment in ISO 8601, UTC, with milliseconds.
CREATE FUNCTION iso_time(moment timestamptz) RETURNS text;

-- Refuses that an account which was not deleted has no owner.
CREATE FUNCTION keep_an_owner() RETURNS trigger;

-- Refuses changes of what was ordered, and of what was paid.
CREATE FUNCTION keep_payment_terms() RETURNS trigger;

-- Keeps what the calls of swept records used of budgets.
CREATE FUNCTION keep_swept_use() RETURNS trigger;

-- Whether a key may be used from this address; empty or null: not known.
CREATE FUNCTION key_allows_address(key api_keys, address text) RETURNS boolean;

-- Whether a key may be used at a moment with this one of its secrets.
CREATE FUNCTION key_is_valid(key api_keys, secret integer, moment timestamptz) RETURNS boolean;

-- Gives up the records of the calls of a month and of those before it.
CREATE FUNCTION leave_month(upto timestamptz, ended_before timestamptz) RETURNS boolean;

-- CONSTRAINT ledger_entries_call_where_needed CHECK (((kind = ANY (ARRAY['charge'::text, 'settlement'::text, 'refund'::text])) = (call_id IS NOT NULL))),
-- CONSTRAINT ledger_entries_deduction_where_needed CHECK (((kind = 'adjustment'::text) = (deduction_id IS NOT NULL))),
-- CONSTRAINT ledger_entries_payment_where_needed CHECK (((kind = ANY (ARRAY['reversal'::text, 'reinstatement'::text])) = (payment_id IS NOT NULL))),
-- CONSTRAINT ledger_entries_seq_positive CHECK ((seq > 0)),
-- CONSTRAINT ledger_entries_sign_of_kind CHECK (
-- CASE
--     WHEN (kind = ANY (ARRAY['grant'::text, 'refund'::text, 'reinstatement'::text])) THEN (amount > 0)
--     WHEN (kind = ANY (ARRAY['charge'::text, 'expiry'::text, 'adjustment'::text, 'collection'::text, 'reversal'::text])) THEN (amount < 0)
--     WHEN (kind = 'settlement'::text) THEN (amount <> 0)
--     ELSE false
-- END)
CREATE FUNCTION ledger_entries_rules(seq bigint, call_id uuid, kind text, amount bigint, deduction_id uuid, payment_id uuid) RETURNS boolean;

-- 
CREATE FUNCTION mail_language(about uuid, recipient text, sender uuid) RETURNS text;

-- Makes the partitions of a month, and of the next ones.
CREATE FUNCTION make_months(since timestamptz, more integer) RETURNS integer;

-- Notes whether keys of an account are limited, after their limits were changed.
CREATE FUNCTION mark_limited(marked uuid) RETURNS void;

-- Moves credits: entries, grants and balances.
CREATE FUNCTION move_credits(moment timestamptz, accounts_of uuid[], grants_of uuid[], amounts bigint[], kinds text[], payment uuid DEFAULT NULL::uuid, deduction uuid DEFAULT NULL::uuid, remark text DEFAULT NULL::text) RETURNS void;

-- A new UUIDv7.
CREATE FUNCTION new_id() RETURNS uuid;

-- Tells of a budget of which 80 or 100 percent is spent.
CREATE FUNCTION notify_of_budget() RETURNS trigger;

-- Charges and opens calls: for each an outcome of opened, exists, claimed (the call that it is a retry of), or why it is refused.
CREATE FUNCTION open_calls(requests jsonb, max_outstanding integer, max_request_bytes bigint) RETURNS TABLE(id uuid, outcome text, existing_id uuid, balance bigint, outstanding integer, account_tokens jsonb, key_tokens jsonb) SET plan_cache_mode=force_generic_plan;

-- The usage of calls that have not ended.
CREATE FUNCTION open_usage() RETURNS SETOF usage_hours;

-- The text form of an id that clients see.
CREATE FUNCTION public_id(prefix text, id uuid) RETURNS text;

-- Refuses updates and deletions.
CREATE FUNCTION refuse_change() RETURNS trigger;

-- The calls that a request may be a retry of, and whose answer can still be given.
CREATE FUNCTION retried_calls(of_account uuid, of_key uuid, of_request bytea, is_numbered boolean) RETURNS SETOF calls;

-- Brings what is reversed of a payment to a number of credits: takes back or reinstates them; returns the balance.
CREATE FUNCTION reverse_payment(the_payment uuid, target bigint) RETURNS TABLE(moved bigint, owed bigint, balance bigint);

-- Takes credits from what accounts can spend, in burn order, by entries of one kind.
CREATE FUNCTION spend_credits(moment timestamptz, accounts_of uuid[], amounts bigint[], kind text, deduction uuid DEFAULT NULL::uuid, remark text DEFAULT NULL::text) RETURNS void;

-- Grants of these accounts that can pay now, in burn order, with running sums.
CREATE FUNCTION spendable_grants(account_ids uuid[]) RETURNS TABLE(grant_id uuid, account_id uuid, remaining bigint, upto bigint);

-- Writes the events of calls that have ended.
CREATE FUNCTION tell_of_calls(ended uuid[]) RETURNS void;

-- Tells of grants that end within seven days, each once.
CREATE FUNCTION tell_of_grants(batch integer) RETURNS integer;

-- Writes the events of keys that are made and revoked.
CREATE FUNCTION tell_of_key() RETURNS trigger;

-- Tells the operators of calls that the reconciler has refunded.
CREATE FUNCTION tell_of_lost_calls(lost uuid[]) RETURNS void;

-- Tells the operators of a mail that was given up.
CREATE FUNCTION tell_of_mail() RETURNS trigger;

-- Tells the operators that a circuit of an upstream has opened.
CREATE FUNCTION tell_of_opening() RETURNS trigger;

-- Writes the events of payments.
CREATE FUNCTION tell_of_payment() RETURNS trigger;

-- Tells the operators that an upstream works again.
CREATE FUNCTION tell_of_recovery(recovered text) RETURNS void;

-- Writes an event for the webhooks of an account, or of the operators.
CREATE FUNCTION tell_webhooks(told uuid, event_type text, data jsonb) RETURNS void;

-- What is left of the tokens of a minute; null where there is no limit.
CREATE FUNCTION token_allowance(per_minute bigint, newest timestamptz, used bigint, more bigint, moment timestamptz) RETURNS jsonb;

-- How many tokens are used of the window that a moment lies in.
CREATE FUNCTION token_use(newest timestamptz, used bigint, moment timestamptz) RETURNS bigint;

-- When the window begins in which the tokens of a moment count.
CREATE FUNCTION token_window(newest timestamptz, moment timestamptz) RETURNS timestamptz;

-- The usage of an account, or of all, by hour, to the moment.
CREATE FUNCTION usage_rows(account uuid, since timestamptz, upto timestamptz) RETURNS SETOF usage_hours;

-- Marks when funds cross the thresholds of low balance and automatic top-up.
CREATE FUNCTION watch_balance() RETURNS trigger;
