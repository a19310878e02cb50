/** Calls, their results, and the prices that they were opened at. */
import type { Knex } from 'knex'
import { FEW_EARLY_STATISTICS } from './storage.ts'
import { createTables } from './tables.ts'

export const up = (db: Knex): Promise<void> =>
  createTables(
    db,
    `
    -- Every price that a call was opened at, for good.
    CREATE TABLE price_versions (
      id uuid NOT NULL, -- Derived from the model and the hash; price_… in text.
      model text NOT NULL, -- The gateway's model id.
      hash text NOT NULL, -- SHA-256 of the price as JSON with sorted keys, in hex.
      price jsonb NOT NULL, -- The price, as calls carry it.
      created_at timestamptz NOT NULL DEFAULT now(), -- When the first call was opened at it.
      CONSTRAINT price_versions_pkey PRIMARY KEY (id),
      CONSTRAINT price_versions_once UNIQUE (model, hash),
      CONSTRAINT price_versions_hash_whole CHECK (hash ~ '^[0-9a-f]{64}$')
    );

    -- One row a gateway call, refused ones too. Written by src/shared/calls alone. Prompts never rest here.
    CREATE TABLE calls (
      id uuid NOT NULL, -- UUIDv7, made by the web process before the charge; call_… in text.
      account_id uuid NOT NULL, -- Who pays.
      key_id uuid NOT NULL, -- The API key it came with.
      user_id uuid NOT NULL, -- Whose key that is: the member whose call it is.
      -- chat, image, video, embedding, moderation, rerank, speech or transcription: its queue.
      modality modality NOT NULL,
      dialect text, -- In which a chat was asked, and is answered, where that is not chat completions.
      model text NOT NULL, -- The gateway's model id as asked for.
      status text NOT NULL, -- queued, running, succeeded, failed or rejected; see src/shared/terms/lifecycle.ts.
      price jsonb, -- The price when the call was opened: later changes of the catalogue do not touch it.
      estimated_input_tokens quantity, -- Input tokens of the pre-charge (chat).
      estimated_output_tokens quantity, -- Output tokens of the pre-charge (chat).
      -- The tokens of a minute that it reserves; null where it is not estimated by tokens.
      reserved_tokens quantity
        GENERATED ALWAYS AS (estimated_input_tokens + coalesce(estimated_output_tokens, 0)) STORED,
      credits_precharged credits NOT NULL DEFAULT 0, -- Credits charged at the beginning.
      credits credits NOT NULL DEFAULT 0, -- Credits collected so far = minus the sum of the call's ledger entries.
      -- What the price asked for beyond the balance: became debt of the account.
      credits_uncollected credits NOT NULL DEFAULT 0,
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
      seconds numeric, -- The length that was asked for (video).
      resolution text, -- The resolution that was asked for (video).
      progress smallint, -- In percent, as far as its upstream has told (video); never falls.
      -- When its owner deleted it (video). From then on it has no result, and no client can see it.
      deleted_at timestamptz,
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
      -- Of those written, what its upstream bills once more: written for an hour (chat).
      repeated_input_tokens quantity,
      -- What it cost at its upstreams, in micro-dollars, failed tries too; null where that is unknown.
      cost_micro_usd quantity,
      -- The version of the catalogue that it was opened at: it is charged and served by that one.
      catalogue_version integer,
      group_name text, -- The group of its account when it was opened, whose share its price has; null: none.
      is_async boolean NOT NULL DEFAULT false, -- Whether its client asked not to wait for the answer.
      callback_url text, -- Where its client wants to be told of its end; null: nowhere.
      CONSTRAINT calls_pkey PRIMARY KEY (id),
      CONSTRAINT calls_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT calls_dialect_known
        CHECK (dialect IS NULL OR (modality = 'chat' AND dialect IN ('messages', 'responses'))),
      CONSTRAINT calls_status_known CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'rejected')),
      CONSTRAINT calls_progress_in_percent CHECK (progress BETWEEN 0 AND 100),
      CONSTRAINT calls_deleted_are_videos CHECK (deleted_at IS NULL OR (modality = 'video' AND status <> 'rejected')),
      CONSTRAINT calls_callback_url_length CHECK (char_length(callback_url) <= 2048),
      CONSTRAINT calls_cached_tokens_are_input CHECK (cached_input_tokens + cache_write_tokens <= input_tokens),
      CONSTRAINT calls_repeated_tokens_were_written CHECK (repeated_input_tokens <= cache_write_tokens),
      CONSTRAINT calls_failed_cost_nothing CHECK (status NOT IN ('failed', 'rejected') OR credits = 0),
      CONSTRAINT calls_rejected_were_not_charged CHECK (status <> 'rejected' OR credits_precharged = 0),
      CONSTRAINT calls_open_hold_their_charge
        CHECK (status NOT IN ('queued', 'running') OR (credits = credits_precharged AND price IS NOT NULL
          AND lease_until IS NOT NULL AND deadline_at IS NOT NULL)),
      CONSTRAINT calls_ended_are_complete
        CHECK ((status IN ('queued', 'running')) = (finished_at IS NULL)
          AND (finished_at IS NULL) = (http_status IS NULL)),
      CONSTRAINT calls_error_where_refused CHECK ((status IN ('failed', 'rejected')) = (error_type IS NOT NULL)),
      CONSTRAINT calls_idempotency_whole
        CHECK ((idempotency_key IS NULL) = (idempotency_expires_at IS NULL)
          AND (idempotency_key IS NULL OR request_hash IS NOT NULL)),
      CONSTRAINT calls_count_positive CHECK (count >= 1),
      -- Whatever an upstream reports: nothing is settled above twice what was charged before.
      CONSTRAINT calls_cost_within_twice_the_charge CHECK (credits + credits_uncollected <= 2 * credits_precharged),
      -- Only what was delivered has a number, and pictures are never settled above their charge.
      CONSTRAINT calls_pictures_were_delivered
        CHECK (pictures IS NULL OR (modality = 'image' AND status = 'succeeded' AND pictures >= 1
          AND credits + credits_uncollected <= credits_precharged)),
      CONSTRAINT calls_more_results_of_pictures
        CHECK (more_result_urls IS NULL OR cardinality(more_result_urls) < coalesce(pictures, 0))
    ) WITH (fillfactor = 80, ${FEW_EARLY_STATISTICS});
    -- Behind the console's lists of calls and its usage: pages are intervals of (created_at, id), and a day is one too.
    CREATE INDEX calls_account_time ON calls (account_id, created_at DESC, id DESC);
    CREATE UNIQUE INDEX calls_folded_refusals ON calls (key_id, modality, model, error_type, fold_minute)
      WHERE fold_minute IS NOT NULL;
    CREATE UNIQUE INDEX calls_idempotency ON calls (account_id, idempotency_key, user_id)
      WHERE idempotency_key IS NOT NULL;
    CREATE INDEX calls_idempotency_expiry ON calls (idempotency_expires_at) WHERE idempotency_key IS NOT NULL;
    -- Without the status, for the same reason as "calls_open" below: each begin would write into every index.
    CREATE INDEX calls_videos ON calls (account_id, created_at DESC, id DESC)
      WHERE modality = 'video' AND deleted_at IS NULL;
    CREATE INDEX calls_deleted_results ON calls (id) WHERE deleted_at IS NOT NULL AND result_url IS NOT NULL;
    CREATE INDEX calls_of_errors ON calls (id) WHERE error_type IS NOT NULL;
    -- What is open, oldest first. Not by lease_until: a call's begin and every renewal of its lease change that, and an
    -- update of an indexed column writes into every index of the table. By finished_at, which says the same as status
    -- (calls_ended_are_complete): calls leave dead entries here until the next vacuum, so no statement that has a
    -- call's id may be planned over it.
    CREATE INDEX calls_open ON calls (created_at) WHERE finished_at IS NULL;
    CREATE INDEX calls_left ON calls (request_hash) WHERE abandoned_at IS NOT NULL;
    CREATE INDEX calls_to_join ON calls (account_id, request_hash, id DESC) WHERE finished_at IS NULL
      OR abandoned_at IS NOT NULL;

    -- What a call produced, so that its answer can be fetched again; swept after its time.
    CREATE TABLE call_results (
      call_id uuid NOT NULL, -- Whose result.
      -- JSON: the part of the answer that only the worker knew (src/shared/calls/stored-answers.ts).
      output text NOT NULL,
      -- Of a response that later ones may refer to: the items that it was asked with, compressed JSON
      -- (src/shared/calls/stored-responses.ts).
      input bytea,
      expires_at timestamptz NOT NULL, -- From then on 410 result_expired.
      CONSTRAINT call_results_pkey PRIMARY KEY (call_id),
      CONSTRAINT call_results_call_fkey FOREIGN KEY (call_id) REFERENCES calls (id) ON DELETE CASCADE
    ) WITH (${FEW_EARLY_STATISTICS});
    -- It is compressed already, and its slices are read without the whole.
    ALTER TABLE call_results ALTER COLUMN input SET STORAGE EXTERNAL;
    CREATE INDEX call_results_expiry ON call_results (expires_at);

    -- Answers on their way to who waits for them (src/shared/replies/passing-answers.ts); swept after two minutes.
    CREATE TABLE passing_answers (
      call_id uuid NOT NULL, -- Whose answer. Its call is settled after it.
      output bytea NOT NULL, -- The part of the answer that only the worker knew.
      created_at timestamptz NOT NULL DEFAULT now(), -- When it was put there.
      CONSTRAINT passing_answers_pkey PRIMARY KEY (call_id)
    );
    ALTER TABLE passing_answers SET UNLOGGED;
    -- As it is: its slices are read without unpacking the whole.
    ALTER TABLE passing_answers ALTER COLUMN output SET STORAGE EXTERNAL;
    CREATE INDEX passing_answers_time ON passing_answers (created_at);

    -- A call to open, as open_calls.sql gets it; see OpenRequest (src/shared/calls/types.ts).
    CREATE TYPE opening AS (
      id uuid, account_id uuid, key_id uuid, secret_version integer, address text, request_id text, reply_to text,
      modality text, dialect text, model text, catalogue_version integer, group_name text, price jsonb,
      price_version uuid, price_hash text, amount bigint, leaves bigint, guarded text, estimated_input bigint,
      estimated_output bigint, reserved_tokens bigint, most_open integer, lease_seconds integer,
      deadline_seconds integer, idempotency_key text, idempotency_seconds integer, request_hash bytea,
      request_bytes bigint, joins_left boolean, is_async boolean, callback_url text, seconds numeric, resolution text
    );
    -- How a call ends, as end_calls.sql gets it; see OutcomeRow (src/shared/calls/statements.ts).
    CREATE TYPE outcome AS (
      id uuid, status text, cost bigint, attempt integer, overdue boolean, reconciled boolean, http_status integer,
      error_type text, input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint,
      repeated_input_tokens bigint, output_tokens bigint, cost_micro_usd bigint, upstream text, result_url text,
      more_result_urls text[], pictures bigint, result_seconds integer
    );
    -- What end_calls.sql decides of the outcome at a place: what the call was charged before ("held") and in the end
    -- ("kept"), what could not be collected ("lost"), and the balance and the newest ledger entry after it.
    CREATE TYPE decided AS (
      place bigint, account_id uuid, request_bytes bigint, held bigint, kept bigint, lost bigint,
      balance bigint, newest bigint
    );
    -- A ledger entry of a call, before it is written.
    CREATE TYPE movement AS (
      account_id uuid, seq bigint, call_id uuid, grant_id uuid, kind text, amount bigint, balance_after bigint
    );
  `,
  )

export async function down(db: Knex): Promise<void> {
  await db.raw(
    'DROP TYPE movement, decided, outcome, opening; DROP TABLE passing_answers, call_results, calls, price_versions',
  )
}
