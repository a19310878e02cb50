-- Repays what accounts owe from what they can spend, in burn order: everything that gives credits to an account with
-- debt calls this in the same transaction, so that an account with debt never has anything to spend. The caller holds
-- the accounts' rows.
CREATE OR REPLACE FUNCTION collect_debts(account_ids uuid[])
RETURNS TABLE (account_id uuid, balance bigint)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  moment timestamptz := clock_timestamp();
  debtors uuid[];
  amounts bigint[];
BEGIN
  PERFORM expire_grants(account_ids, moment);
  SELECT array_agg(acc.id), array_agg(least(acc.debt, acc.credits)) INTO debtors, amounts
  FROM accounts acc WHERE acc.id = ANY (account_ids) AND acc.debt > 0 AND acc.credits > 0;
  IF debtors IS NOT NULL THEN
    PERFORM spend_credits(moment, debtors, amounts, 'collection');
    UPDATE accounts acc SET debt = acc.debt - s.amount FROM unnest(debtors, amounts) AS s (account_id, amount)
    WHERE acc.id = s.account_id AND acc.id = ANY (account_ids);
  END IF;
  RETURN QUERY SELECT acc.id, acc.credits::bigint FROM accounts acc WHERE acc.id = ANY (account_ids);
END $$;
COMMENT ON FUNCTION collect_debts IS
  'Repays the debt of these accounts from what they can spend, by entries of kind collection; '
  'returns the balances after it.';
