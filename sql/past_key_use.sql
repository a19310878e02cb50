-- What a key used since the window began that a new budget of this period would have now: the long part of setting a
-- budget, done while the account's calls go on. start_budget_window adds what happened since, while it holds the
-- account's row.
--
-- The row is held for a moment, and given back by an inner block that fails: whatever was charged before has a
-- created_at up to counted_until, and whatever is charged later has a later one. A call that had ended by then does not
-- change any more; those that were open are named, and not counted.
--
-- Records that were counted must not be swept before the window is there to keep their use: until the end of the
-- transaction, sweeps wait (lock 7604115, as in sweepCalls).
CREATE OR REPLACE FUNCTION past_key_use(counted_key uuid, period text)
RETURNS TABLE (starts_at timestamptz, counted_until timestamptz, used bigint, open_calls uuid[])
LANGUAGE plpgsql AS $$
#variable_conflict use_variable
DECLARE
  key_of api_keys;
BEGIN
  SELECT k.* INTO key_of FROM api_keys k WHERE k.id = counted_key;
  PERFORM pg_advisory_xact_lock_shared(7604115);
  BEGIN
    PERFORM 1 FROM accounts acc WHERE acc.id = key_of.account_id FOR NO KEY UPDATE;
    counted_until := clock_timestamp();
    open_calls := ARRAY(SELECT c.id FROM calls c
      WHERE c.finished_at IS NULL AND c.account_id = key_of.account_id AND c.key_id = counted_key);
    RAISE EXCEPTION 'give the row of the account back' USING ERRCODE = 'TG001';
  EXCEPTION WHEN SQLSTATE 'TG001' THEN NULL;
  END;
  starts_at := budget_window(period, counted_until);
  used := (SELECT coalesce(sum(c.credits + c.credits_uncollected), 0) FROM calls c
    WHERE c.account_id = key_of.account_id AND c.key_id = counted_key
      AND c.created_at BETWEEN greatest(starts_at, key_of.created_at) AND counted_until
      AND NOT c.id = ANY (open_calls));
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION past_key_use
  IS 'What a key used in the window that a new budget of this period would have now, but for its open calls.';
