/** What accounts used, added up by hour, so that no report reads millions of calls (docs/scaling.md#usage). */
import type { Knex } from 'knex'
import { createTables } from './tables.ts'

const INDEX = 'calls_ended ON calls (finished_at) WHERE finished_at IS NOT NULL'

export const concurrently = { calls_ended: `CREATE INDEX CONCURRENTLY ${INDEX}` }

export async function up(db: Knex): Promise<void> {
  await createTables(
    db,
    `
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
      CONSTRAINT usage_hours_pkey
        PRIMARY KEY (account_id, hour, user_id, key_id, model, modality, upstream, group_name),
      CONSTRAINT usage_hours_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id),
      CONSTRAINT usage_hours_add_up CHECK (calls = succeeded + failed AND refused >= 0 AND calls >= 0)
    );
    CREATE INDEX usage_hours_hour ON usage_hours (hour);

    -- How far calls are folded into usage_hours: one row.
    CREATE TABLE usage_watermark (
      id boolean NOT NULL DEFAULT true, -- Always true.
      folded_until timestamptz NOT NULL, -- Calls that ended before this are folded, and no others.
      records_from timestamptz NOT NULL, -- Of calls accepted before this, records may have been deleted.
      ledger_from timestamptz NOT NULL, -- Of calls accepted before this, records were deleted before they were folded.
      CONSTRAINT usage_watermark_pkey PRIMARY KEY (id),
      CONSTRAINT usage_watermark_one CHECK (id)
    );
  `,
  )
  await db.raw(`
    CREATE INDEX IF NOT EXISTS ${INDEX};
    ALTER TABLE calls ADD counted integer NOT NULL DEFAULT 0;
    COMMENT ON COLUMN calls.counted IS 'How many of its refusals usage_hours has.';
    INSERT INTO usage_watermark (folded_until, records_from, ledger_from)
    SELECT '-infinity', oldest, oldest FROM (
      SELECT coalesce((SELECT date_trunc('day', created_at, 'UTC') + interval '1 day' FROM calls ORDER BY id LIMIT 1),
        '-infinity') AS oldest
    ) known`)
}

export async function down(db: Knex): Promise<void> {
  await db.raw('DROP TABLE usage_watermark, usage_hours; ALTER TABLE calls DROP counted; DROP INDEX calls_ended')
}
