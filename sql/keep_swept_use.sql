-- Processes of the release before delete records row by row; this one drops months (leave_month.sql).
-- Keeps what calls used of a budget after their records are deleted: the use of a window stays what it was, and is
-- still the sum of the records that are left and of those that are gone. The accounts' rows are held first, as by
-- everything that uses a budget.
CREATE OR REPLACE FUNCTION keep_swept_use() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  account_ids uuid[] := ARRAY(SELECT DISTINCT s.account_id FROM swept s JOIN accounts acc ON acc.id = s.account_id
    WHERE acc.keys_limited ORDER BY 1);
BEGIN
  IF account_ids = '{}' THEN RETURN NULL; END IF;
  PERFORM 1 FROM accounts acc WHERE acc.id = ANY (account_ids) ORDER BY acc.id FOR NO KEY UPDATE;
  UPDATE budget_windows w SET swept = w.swept + part.credits
  FROM (
    SELECT b.id, budget_window(b.period, s.created_at) AS starts_at, sum(s.credits + s.credits_uncollected) AS credits
    FROM swept s CROSS JOIN LATERAL budgets_of(s.account_id, s.key_id, s.user_id) b
    WHERE s.account_id = ANY (account_ids) AND s.created_at >= b.created_at
    GROUP BY 1, 2
  ) part
  WHERE w.budget_id = part.id AND w.starts_at = part.starts_at;
  RETURN NULL;
END $$;

CREATE TRIGGER calls_swept_stay_used AFTER DELETE ON calls
  REFERENCING OLD TABLE AS swept
  FOR EACH STATEMENT EXECUTE FUNCTION keep_swept_use();
COMMENT ON FUNCTION keep_swept_use IS 'Keeps what the calls of swept records used of budgets.';
