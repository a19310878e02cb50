-- Corrects what calls that have ended reserved of the tokens of a minute: to what they came to, or to nothing where
-- they failed. A call reserved in the window that it was opened in: a window that began after it is left alone, and so
-- is a limit that was set after it. Tokens that nobody counted stay as they were estimated. The caller holds the
-- accounts' rows.
CREATE OR REPLACE FUNCTION correct_tokens(ended uuid[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  -- Of "ended", which may be in any order: see open_calls.sql.
  lowest constant uuid := (SELECT e.id FROM unnest(ended) AS e (id) ORDER BY 1 LIMIT 1);
  greatest_id constant uuid := (SELECT e.id FROM unnest(ended) AS e (id) ORDER BY 1 DESC LIMIT 1);
BEGIN
  WITH came AS (
    SELECT c.account_id, c.key_id, c.created_at, CASE WHEN c.status = 'failed' THEN 0
      ELSE coalesce(c.input_tokens + coalesce(c.output_tokens, 0), c.reserved_tokens) END - c.reserved_tokens AS more
    FROM calls c WHERE c.id = ANY (ended) AND c.id BETWEEN lowest AND greatest_id
  ), of_accounts AS (
    UPDATE accounts acc SET token_window_used = greatest(0, acc.token_window_used + s.change)
    FROM (
      SELECT w.id, sum(c.more)::bigint AS change
      FROM came c JOIN accounts w ON w.id = c.account_id AND w.token_window_at <= c.created_at GROUP BY 1
    ) s
    WHERE acc.id = s.id AND s.change <> 0
  )
  UPDATE api_keys k SET token_window_used = greatest(0, k.token_window_used + s.change)
  FROM (
    SELECT w.id, sum(c.more)::bigint AS change
    FROM came c JOIN api_keys w ON w.id = c.key_id AND w.token_window_at <= c.created_at GROUP BY 1
  ) s
  WHERE k.id = s.id AND s.change <> 0;
END $$;
COMMENT ON FUNCTION correct_tokens IS 'Corrects what ended calls reserved of the tokens of a minute.';
