-- Adds calls that have ended to usage_hours, in the order of their end, and moves the watermark in the same
-- transaction: each is counted exactly once, whatever dies on the way, and however many run this at once.
--
-- A call that ended before another may be committed after it. Its transaction holds the account's row before it reads
-- the clock, so it has a transaction id by then: nothing is folded that ended after the oldest transaction with an id
-- has begun. What writes its first row at the moment that it read has the margin of two seconds.
CREATE OR REPLACE FUNCTION fold_usage(most integer) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  since timestamptz;
  upto timestamptz;
  further timestamptz;
BEGIN
  SELECT w.folded_until INTO since FROM usage_watermark w WHERE w.id FOR UPDATE;
  SELECT least(clock_timestamp() - interval '2 seconds', min(a.xact_start)) INTO upto FROM pg_stat_activity a
  WHERE a.datname = current_database() AND a.pid <> pg_backend_pid() AND a.backend_xid IS NOT NULL;
  SELECT c.finished_at INTO further FROM calls c WHERE c.finished_at > since AND c.finished_at < upto
  ORDER BY c.finished_at OFFSET most LIMIT 1;
  upto := coalesce(further, upto);
  IF upto <= since THEN RETURN false; END IF;
  INSERT INTO usage_hours AS h SELECT * FROM calls_usage(since, upto) u
  ORDER BY u.account_id, u.hour, u.user_id, u.key_id, u.model, u.modality, u.upstream, u.group_name
  ON CONFLICT ON CONSTRAINT usage_hours_pkey DO UPDATE SET
    calls = h.calls + EXCLUDED.calls, succeeded = h.succeeded + EXCLUDED.succeeded, failed = h.failed + EXCLUDED.failed,
    refused = h.refused + EXCLUDED.refused, input_tokens = h.input_tokens + EXCLUDED.input_tokens,
    cached_input_tokens = h.cached_input_tokens + EXCLUDED.cached_input_tokens,
    cache_write_tokens = h.cache_write_tokens + EXCLUDED.cache_write_tokens,
    output_tokens = h.output_tokens + EXCLUDED.output_tokens, pictures = h.pictures + EXCLUDED.pictures,
    seconds = h.seconds + EXCLUDED.seconds, credits = h.credits + EXCLUDED.credits,
    credits_uncollected = h.credits_uncollected + EXCLUDED.credits_uncollected,
    cost_micro_usd = h.cost_micro_usd + EXCLUDED.cost_micro_usd,
    calls_of_unknown_cost = h.calls_of_unknown_cost + EXCLUDED.calls_of_unknown_cost,
    succeeded_ms = h.succeeded_ms + EXCLUDED.succeeded_ms;
  -- A record of refusals counts more of them until its minute is over, and then ends anew.
  UPDATE calls c SET counted = c.count
  WHERE c.finished_at >= since AND c.finished_at < upto AND c.status = 'rejected' AND c.counted < c.count;
  UPDATE usage_watermark SET folded_until = upto;
  RETURN further IS NOT NULL;
END $$;
COMMENT ON FUNCTION fold_usage IS
  'Adds at most some thousand ended calls to usage_hours; whether there are more.';
