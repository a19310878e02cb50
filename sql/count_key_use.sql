-- Counts what a key used, after its limits were changed: its open calls, and the credits of its calls in the window of
-- its budget that has begun. From then on open_calls and end_calls keep both. Whoever calls this holds the account's
-- row, so it must not read much: a new budget of an old key has its window already (start_budget_window), and in a
-- window that is younger than its budget every call was counted as it came.
--
-- The moment is read after the wait for that row, and so is that of every call (open_calls.sql): a call that is opened
-- later belongs to this window or to a later one, never to an earlier one that nobody counted.
CREATE OR REPLACE FUNCTION count_key_use(counted_key uuid) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  moment timestamptz := clock_timestamp();
BEGIN
  UPDATE api_keys k SET outstanding_calls = CASE WHEN k.max_outstanding IS NULL THEN 0 ELSE (
    SELECT count(*) FROM calls c WHERE c.finished_at IS NULL AND c.account_id = k.account_id AND c.key_id = k.id) END
  WHERE k.id = counted_key;

  INSERT INTO budget_windows (budget_id, starts_at, used)
  SELECT b.id, current.starts_at, (
    SELECT coalesce(sum(c.credits + c.credits_uncollected), 0) FROM calls c
    -- A new key has none to read the account's calls for.
    WHERE c.account_id = b.account_id AND c.key_id = b.key_id AND b.created_at >= current.starts_at
      AND c.created_at >= greatest(current.starts_at, k.created_at))
  FROM budgets b JOIN api_keys k ON k.id = b.key_id
  CROSS JOIN LATERAL (SELECT budget_window(b.period, moment) AS starts_at) current
  WHERE b.key_id = counted_key
    AND NOT EXISTS (SELECT FROM budget_windows w WHERE w.budget_id = b.id AND w.starts_at = current.starts_at);

  UPDATE accounts acc SET keys_limited = EXISTS (
    SELECT FROM api_keys k LEFT JOIN budgets b ON b.key_id = k.id
    WHERE k.account_id = acc.id AND (b.id IS NOT NULL OR k.models IS NOT NULL OR k.modalities IS NOT NULL
      OR k.allowed_ips IS NOT NULL OR k.expires_at IS NOT NULL OR k.max_outstanding IS NOT NULL
      OR k.secret_version > 1))
  WHERE acc.id = (SELECT k.account_id FROM api_keys k WHERE k.id = counted_key);
END $$;
COMMENT ON FUNCTION count_key_use
  IS 'Counts the open calls of a key and what it used of its budget, after its limits were changed.';
