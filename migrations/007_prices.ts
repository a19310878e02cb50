/**
 * Versions of prices, what of a chat's input a cache had a part in, and what calls cost at their upstreams.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    CREATE TABLE price_versions (
      id uuid NOT NULL,
      model text NOT NULL,
      hash text NOT NULL,
      price jsonb NOT NULL,
      created_at timestamptz NOT NULL DEFAULT now(),
      CONSTRAINT price_versions_pkey PRIMARY KEY (id),
      CONSTRAINT price_versions_once UNIQUE (model, hash),
      CONSTRAINT price_versions_hash_whole CHECK (hash ~ '^[0-9a-f]{64}$')
    );
    COMMENT ON TABLE price_versions IS 'Every price that a call was opened at, for good.';
    COMMENT ON COLUMN price_versions.id IS 'Derived from the model and the hash; price_… in text.';
    COMMENT ON COLUMN price_versions.model IS 'The gateway''s model id.';
    COMMENT ON COLUMN price_versions.hash IS 'SHA-256 of the price as JSON with sorted keys, in hex.';
    COMMENT ON COLUMN price_versions.price IS 'The price, as calls carry it.';
    COMMENT ON COLUMN price_versions.created_at IS 'When the first call was opened at it.';

    -- No foreign key to price_versions: it would lock the one row of a model's price for every call of that model.
    -- open_calls writes the version in the statement that writes the call, and the audit compares the two.
    ALTER TABLE calls
      ADD COLUMN price_version uuid,
      ADD COLUMN cached_input_tokens bigint,
      ADD COLUMN cache_write_tokens bigint,
      ADD COLUMN repeated_input_tokens bigint,
      ADD COLUMN cost_micro_usd bigint,
      ADD CONSTRAINT calls_cached_tokens_are_input CHECK (cached_input_tokens >= 0 AND cache_write_tokens >= 0
        AND cached_input_tokens + cache_write_tokens <= input_tokens),
      ADD CONSTRAINT calls_repeated_tokens_were_written CHECK (repeated_input_tokens BETWEEN 0 AND cache_write_tokens),
      ADD CONSTRAINT calls_cost_not_negative CHECK (cost_micro_usd >= 0);
    COMMENT ON COLUMN calls.price_version IS 'The version of its price.';
    COMMENT ON COLUMN calls.cached_input_tokens IS 'Input tokens that were read from a cache (chat).';
    COMMENT ON COLUMN calls.cache_write_tokens IS 'Input tokens that were written to a cache (chat).';
    COMMENT ON COLUMN calls.repeated_input_tokens
      IS 'Of those written, what its upstream bills once more: written for an hour (chat).';
    COMMENT ON COLUMN calls.cost_micro_usd
      IS 'What it cost at its upstreams, in micro-dollars, failed tries too; null where that is unknown.';
    COMMENT ON COLUMN calls.input_tokens IS 'Real input tokens, those of caches too (chat).';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    ALTER TABLE calls
      DROP COLUMN price_version,
      DROP COLUMN cached_input_tokens,
      DROP COLUMN cache_write_tokens,
      DROP COLUMN repeated_input_tokens,
      DROP COLUMN cost_micro_usd;
    COMMENT ON COLUMN calls.input_tokens IS 'Real input tokens (chat).';
    DROP TABLE price_versions;
  `)
}
