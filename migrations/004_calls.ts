/**
 * Calls, their results, and the leases of work that one process does at a time.
 */
import type { Knex } from 'knex'
import { FEW_EARLY_STATISTICS } from './storage.ts'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE calls (
      id uuid NOT NULL,
      account_id uuid NOT NULL,
      key_id uuid NOT NULL,
      modality text NOT NULL,
      model text NOT NULL,
      status text NOT NULL,
      price jsonb,
      estimated_input_tokens bigint,
      estimated_output_tokens bigint,
      credits_precharged bigint NOT NULL DEFAULT 0,
      credits bigint NOT NULL DEFAULT 0,
      credits_uncollected bigint NOT NULL DEFAULT 0,
      balance_after bigint,
      input_tokens bigint,
      output_tokens bigint,
      http_status integer,
      error_type text,
      latency_ms bigint,
      upstream text,
      upstream_ref jsonb,
      attempts integer NOT NULL DEFAULT 0,
      result_url text,
      request_id text,
      reply_to text,
      idempotency_key text,
      idempotency_expires_at timestamptz,
      request_hash bytea,
      request_bytes bigint NOT NULL DEFAULT 0,
      abandoned_at timestamptz,
      lease_until timestamptz,
      deadline_at timestamptz,
      created_at timestamptz NOT NULL DEFAULT now(),
      started_at timestamptz,
      started_by uuid,
      finished_at timestamptz,
      fold_minute timestamptz,
      count integer NOT NULL DEFAULT 1,
      CONSTRAINT calls_pkey PRIMARY KEY (id),
      CONSTRAINT calls_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT calls_modality_known CHECK (modality IN ('chat', 'image', 'video')),
      CONSTRAINT calls_status_known CHECK (status IN ('queued', 'running', 'succeeded', 'failed', 'rejected')),
      CONSTRAINT calls_precharge_not_negative CHECK (credits_precharged >= 0),
      CONSTRAINT calls_credits_not_negative CHECK (credits >= 0),
      CONSTRAINT calls_uncollected_not_negative CHECK (credits_uncollected >= 0),
      CONSTRAINT calls_tokens_not_negative CHECK (input_tokens >= 0 AND output_tokens >= 0),
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
        CHECK ((idempotency_key IS NULL) = (idempotency_expires_at IS NULL) AND (idempotency_key IS NULL
          OR request_hash IS NOT NULL)),
      CONSTRAINT calls_request_bytes_not_negative CHECK (request_bytes >= 0),
      CONSTRAINT calls_count_positive CHECK (count >= 1)
    ) WITH (fillfactor = 80, ${FEW_EARLY_STATISTICS});
    -- Behind the console's lists of calls and its usage: pages are intervals of (created_at, id), and a day is one too.
    CREATE INDEX calls_account_time ON calls (account_id, created_at DESC, id DESC);
    -- What is open, oldest first. Not by lease_until: a call's begin and every renewal of its lease change that, and an
    -- update of an indexed column writes into every index of the table. By finished_at, which says the same as status
    -- (calls_ended_are_complete): calls leave dead entries here until the next vacuum, so no statement that has a
    -- call's id may be planned over it.
    CREATE INDEX calls_of_errors ON calls (id) WHERE error_type IS NOT NULL;
    CREATE INDEX calls_open ON calls (created_at) WHERE finished_at IS NULL;
    CREATE UNIQUE INDEX calls_idempotency ON calls (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
    CREATE INDEX calls_idempotency_expiry ON calls (idempotency_expires_at) WHERE idempotency_key IS NOT NULL;
    CREATE INDEX calls_to_join ON calls (account_id, request_hash, id DESC) WHERE finished_at IS NULL
      OR abandoned_at IS NOT NULL;
    CREATE UNIQUE INDEX calls_folded_refusals ON calls (key_id, modality, model, error_type, fold_minute)
      WHERE fold_minute IS NOT NULL;
    COMMENT ON TABLE calls
      IS 'One row a gateway call, refused ones too. Written by src/shared/calls alone. Prompts never rest here.';
    COMMENT ON COLUMN calls.id IS 'UUIDv7, made by the web process before the charge; call_… in text.';
    COMMENT ON COLUMN calls.account_id IS 'Who pays.';
    COMMENT ON COLUMN calls.key_id IS 'The API key it came with.';
    COMMENT ON COLUMN calls.modality IS 'chat, image or video: its queue.';
    COMMENT ON COLUMN calls.model IS 'The gateway''s model id as asked for.';
    COMMENT ON COLUMN calls.status
      IS 'queued, running, succeeded, failed or rejected; see src/shared/calls/lifecycle.ts.';
    COMMENT ON COLUMN calls.price
      IS 'The price when the call was opened: later changes of the catalogue do not touch it.';
    COMMENT ON COLUMN calls.estimated_input_tokens IS 'Input tokens of the pre-charge (chat).';
    COMMENT ON COLUMN calls.estimated_output_tokens IS 'Output tokens of the pre-charge (chat).';
    COMMENT ON COLUMN calls.credits_precharged IS 'Credits charged at the beginning.';
    COMMENT ON COLUMN calls.credits IS 'Credits collected so far = minus the sum of the call''s ledger entries.';
    COMMENT ON COLUMN calls.credits_uncollected
      IS 'What the price asked for beyond the balance: became debt of the account.';
    COMMENT ON COLUMN calls.balance_after IS 'The account''s balance when the call ended: usage.balance of its answer.';
    COMMENT ON COLUMN calls.input_tokens IS 'Real input tokens (chat).';
    COMMENT ON COLUMN calls.output_tokens IS 'Real output tokens (chat).';
    COMMENT ON COLUMN calls.http_status IS 'The status of its answer.';
    COMMENT ON COLUMN calls.error_type IS 'The error code of its answer, where it failed or was refused.';
    COMMENT ON COLUMN calls.latency_ms IS 'From its acceptance to its end, in milliseconds.';
    COMMENT ON COLUMN calls.upstream IS 'The upstream that served or failed it, by its name in the catalogue.';
    COMMENT ON COLUMN calls.upstream_ref IS 'The upstream''s own task, so that another worker can go on with it.';
    COMMENT ON COLUMN calls.attempts IS 'How often a worker began it.';
    COMMENT ON COLUMN calls.result_url IS 'Where the media result is.';
    COMMENT ON COLUMN calls.request_id IS 'X-Request-Id of the request that opened it.';
    COMMENT ON COLUMN calls.reply_to IS 'The web process that waits for it.';
    COMMENT ON COLUMN calls.idempotency_key IS 'The client''s Idempotency-Key; null after its time.';
    COMMENT ON COLUMN calls.idempotency_expires_at IS 'Until when the key is remembered.';
    COMMENT ON COLUMN calls.request_hash IS 'SHA-256 of the request, to recognise a retry of it.';
    COMMENT ON COLUMN calls.request_bytes IS 'Bytes of its request as Redis holds it while the call is open.';
    COMMENT ON COLUMN calls.abandoned_at IS 'When the waiting client went away unanswered.';
    COMMENT ON COLUMN calls.lease_until IS 'Until when nobody need look after it.';
    COMMENT ON COLUMN calls.deadline_at IS 'When it must have ended.';
    COMMENT ON COLUMN calls.created_at IS 'Acceptance.';
    COMMENT ON COLUMN calls.started_at IS 'When a worker began it; null again when handed back unsent.';
    COMMENT ON COLUMN calls.started_by
      IS 'The run of a job that began it first: any other run may be a second one to its upstream.';
    COMMENT ON COLUMN calls.finished_at IS 'When it ended.';
    COMMENT ON COLUMN calls.fold_minute IS 'The minute whose equal refusals this row stands for.';
    COMMENT ON COLUMN calls.count IS 'How many refusals were folded into this row; else 1.';

    CREATE TABLE call_results (
      call_id uuid NOT NULL,
      output text NOT NULL,
      expires_at timestamptz NOT NULL,
      CONSTRAINT call_results_pkey PRIMARY KEY (call_id),
      CONSTRAINT call_results_call_fkey FOREIGN KEY (call_id) REFERENCES calls (id) ON DELETE CASCADE
    ) WITH (${FEW_EARLY_STATISTICS});
    CREATE INDEX call_results_expiry ON call_results (expires_at);
    COMMENT ON TABLE call_results
      IS 'What a call produced, so that its answer can be fetched again; swept after its time.';
    COMMENT ON COLUMN call_results.call_id IS 'Whose result.';
    COMMENT ON COLUMN call_results.output
      IS 'JSON: the part of the answer that only the worker knew (see src/shared/calls/answers.ts).';
    COMMENT ON COLUMN call_results.expires_at IS 'From then on 410 result_expired.';

    CREATE TABLE leases (
      name text NOT NULL,
      held_until timestamptz NOT NULL,
      CONSTRAINT leases_pkey PRIMARY KEY (name)
    );
    COMMENT ON TABLE leases IS 'Work that one process does at a time, whatever happens to Redis.';
    COMMENT ON COLUMN leases.name IS 'The work.';
    COMMENT ON COLUMN leases.held_until IS 'Until when somebody does it.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DROP TABLE leases;
    DROP TABLE call_results;
    DROP TABLE calls;
  `)
}
