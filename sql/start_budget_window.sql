-- Starts the current window of a budget with what past_key_use counted, and adds what happened since: the calls that
-- were open then, and those that were charged later. Whoever calls this holds the account's row. If a window passed in
-- the meantime it does nothing, and count_key_use counts the few calls of the new one.
CREATE OR REPLACE FUNCTION start_budget_window(
  counted_key uuid, started_at timestamptz, counted_until timestamptz, used bigint, open_calls uuid[]
) RETURNS void
LANGUAGE sql AS $$
  INSERT INTO budget_windows (budget_id, starts_at, used)
  SELECT b.id, $2, $4 + coalesce((
    SELECT sum(c.credits + c.credits_uncollected) FROM calls c
    WHERE c.account_id = b.account_id AND c.key_id = b.key_id AND c.created_at > $3), 0) + coalesce((
    SELECT sum(c.credits + c.credits_uncollected) FROM calls c
    WHERE c.id = ANY ($5) AND c.created_at >= $2), 0)
  FROM budgets b
  WHERE b.key_id = $1 AND budget_window(b.period, clock_timestamp()) = $2
  ON CONFLICT (budget_id, starts_at) DO NOTHING
$$;
COMMENT ON FUNCTION start_budget_window
  IS 'Starts the current window of a budget with what its key used before, and since that was counted.';
