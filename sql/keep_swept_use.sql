-- Keeps what calls used of a budget after their records are deleted: the use of a window stays what it was, and is
-- still the sum of the records that are left and of those that are gone. The accounts' rows are held first, as by
-- everything that uses a budget.
CREATE OR REPLACE FUNCTION keep_swept_use() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  budget_ids uuid[] := ARRAY(SELECT b.id FROM budgets b WHERE b.key_id IN (SELECT s.key_id FROM swept s));
BEGIN
  IF budget_ids = '{}' THEN RETURN NULL; END IF;
  PERFORM 1 FROM accounts acc WHERE acc.id IN (SELECT b.account_id FROM budgets b WHERE b.id = ANY (budget_ids))
    ORDER BY acc.id FOR NO KEY UPDATE;
  UPDATE budget_windows w SET swept = w.swept + part.credits
  FROM (
    SELECT b.id, budget_window(b.period, s.created_at) AS starts_at, sum(s.credits + s.credits_uncollected) AS credits
    FROM swept s JOIN budgets b ON b.key_id = s.key_id AND b.id = ANY (budget_ids) AND s.created_at >= b.created_at
    GROUP BY 1, 2
  ) part
  WHERE w.budget_id = part.id AND w.starts_at = part.starts_at;
  RETURN NULL;
END $$;

CREATE TRIGGER calls_swept_stay_used AFTER DELETE ON calls
  REFERENCING OLD TABLE AS swept
  FOR EACH STATEMENT EXECUTE FUNCTION keep_swept_use();
COMMENT ON FUNCTION keep_swept_use IS 'Keeps what the calls of swept records used of a budget.';
