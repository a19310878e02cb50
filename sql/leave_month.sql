-- Gives up the records of the calls that were accepted before the end of a month, so that its partitions can be
-- dropped: whether that may be. It may not while one of them is open, ended at or after "ended_before", is not folded
-- into the hours of usage, or has a result or an idempotency key that is still stored: a retry of it must not be
-- charged again. What they used of budgets is added to their windows in the same transaction: from then on the audit
-- takes those calls for gone, whatever dies before they are dropped. None of them changes any more.
CREATE OR REPLACE FUNCTION leave_month(upto timestamptz, ended_before timestamptz) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
  bound constant uuid := first_id(upto);
  mark usage_watermark%ROWTYPE;
  budget_ids uuid[];
  starts timestamptz[];
  credits_of bigint[];
BEGIN
  SELECT w.* INTO mark FROM usage_watermark w WHERE w.id FOR UPDATE;
  IF mark.kept_from >= bound THEN RETURN true; END IF;
  IF EXISTS (SELECT FROM calls c WHERE c.id < bound AND c.finished_at IS NULL)
    OR EXISTS (SELECT FROM calls c WHERE c.id < bound AND c.finished_at >= least(ended_before, mark.folded_until))
    OR EXISTS (SELECT FROM calls c WHERE c.id < bound AND c.idempotency_key IS NOT NULL
      AND c.idempotency_expires_at > now())
    OR EXISTS (SELECT FROM call_results r WHERE r.call_id < bound AND r.expires_at > now())
  THEN RETURN false;
  END IF;
  SELECT array_agg(part.id), array_agg(part.starts_at), array_agg(part.credits)
  INTO budget_ids, starts, credits_of
  FROM (
    SELECT b.id, budget_window(b.period, c.created_at) AS starts_at,
      sum(c.credits + c.credits_uncollected)::bigint AS credits
    FROM budgets b JOIN calls c ON c.account_id = b.account_id AND (c.key_id = b.key_id OR c.user_id = b.user_id)
    WHERE c.id >= mark.kept_from AND c.id < bound AND c.created_at >= b.created_at
    GROUP BY 1, 2
  ) part;
  PERFORM FROM accounts acc WHERE acc.id IN (SELECT b.account_id FROM budgets b WHERE b.id = ANY (budget_ids))
  ORDER BY acc.id FOR NO KEY UPDATE;
  UPDATE budget_windows w SET swept = w.swept + part.credits
  FROM unnest(budget_ids, starts, credits_of) AS part (id, starts_at, credits)
  WHERE w.budget_id = part.id AND w.starts_at = part.starts_at;
  UPDATE usage_watermark SET kept_from = bound, records_from = greatest(records_from, upto);
  RETURN true;
END $$;
COMMENT ON FUNCTION leave_month IS 'Gives up the records of the calls of a month and of those before it.';
