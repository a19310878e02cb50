-- Takes credits back from an account, as an operator decides: from what it can spend, in burn order, by entries of kind
-- adjustment. What it cannot spend any more is debt where that is allowed; else nothing is taken at all. A request that
-- was made before, by its id or its idempotency key, moves nothing. No row: there is no such account.
CREATE OR REPLACE FUNCTION deduct_credits(the_deduction uuid, the_account uuid, wanted bigint, may_owe boolean,
  why text, request_key text)
RETURNS TABLE (outcome text, deduction uuid, taken bigint, left_owing bigint, balance bigint, spendable bigint)
LANGUAGE plpgsql AS $$
DECLARE
  made deductions%ROWTYPE;
  moment timestamptz;
BEGIN
  PERFORM FROM accounts a WHERE a.id = the_account FOR NO KEY UPDATE;
  IF NOT FOUND THEN RETURN; END IF;
  moment := clock_timestamp();
  PERFORM expire_grants(ARRAY[the_account], moment);
  balance := (SELECT a.credits FROM accounts a WHERE a.id = the_account);
  SELECT d.* INTO made FROM deductions d
  WHERE d.account_id = the_account AND (d.id = the_deduction OR d.idempotency_key = request_key);
  IF FOUND THEN
    outcome := CASE WHEN made.credits = wanted AND made.reason = why THEN 'repeated' ELSE 'conflict' END;
    deduction := made.id;
    taken := made.moved;
    left_owing := made.owed;
    RETURN NEXT;
    RETURN;
  END IF;
  spendable := balance;
  taken := least(wanted, spendable);
  left_owing := wanted - taken;
  IF left_owing > 0 AND NOT may_owe THEN
    outcome := 'too_little';
    RETURN NEXT;
    RETURN;
  END IF;
  INSERT INTO deductions (id, account_id, credits, moved, owed, reason, idempotency_key)
  VALUES (the_deduction, the_account, wanted, taken, left_owing, why, request_key);
  PERFORM spend_credits(moment, ARRAY[the_account], ARRAY[taken], 'adjustment', deduction => the_deduction,
    remark => why);
  UPDATE accounts a SET debt = a.debt + left_owing WHERE a.id = the_account RETURNING a.credits INTO balance;
  outcome := 'deducted';
  deduction := the_deduction;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION deduct_credits IS
  'Takes credits back from an account, once for a request; what it cannot spend becomes debt or refuses it all.';
