-- Repays what accounts owe from what they can spend, in burn order: whoever gives credits to an account with debt calls
-- this in the same transaction, so that an account with debt never has anything to spend. Whoever calls it holds the
-- accounts' rows.
CREATE OR REPLACE FUNCTION collect_debts(account_ids uuid[])
RETURNS TABLE (account_id uuid, balance bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH part AS MATERIALIZED (
    SELECT acc.id AS account_id, lot.grant_id, overlap.amount,
      row_number() OVER movement_order AS nth,
      sum(overlap.amount) OVER movement_order AS upto
    FROM accounts acc
    JOIN spendable_lots(account_ids) lot ON lot.account_id = acc.id AND lot.upto - lot.remaining < acc.debt
    CROSS JOIN LATERAL (SELECT (least(lot.upto, acc.debt) - (lot.upto - lot.remaining))::bigint AS amount) overlap
    WHERE acc.id = ANY (account_ids)
    WINDOW movement_order AS (PARTITION BY acc.id ORDER BY lot.upto)
  ), new_entry AS (
    INSERT INTO ledger_entries (account_id, seq, grant_id, kind, amount, balance_after)
    SELECT p.account_id, acc.ledger_seq + p.nth, p.grant_id, 'collection', -p.amount, acc.credits - p.upto
    FROM part p JOIN accounts acc ON acc.id = p.account_id AND acc.id = ANY (account_ids)
  ), burnt AS (
    UPDATE grants g SET remaining = g.remaining - p.amount, open = g.remaining > p.amount
    FROM part p WHERE g.id = p.grant_id AND g.account_id = ANY (account_ids)
  ), account AS (
    UPDATE accounts acc SET credits = acc.credits - s.amount, debt = acc.debt - s.amount,
      ledger_seq = acc.ledger_seq + s.entries
    FROM (SELECT p.account_id, sum(p.amount)::bigint AS amount, count(*) AS entries FROM part p GROUP BY p.account_id) s
    WHERE acc.id = s.account_id AND acc.id = ANY (account_ids)
  )
  SELECT acc.id, (acc.credits - coalesce((SELECT max(p.upto) FROM part p WHERE p.account_id = acc.id), 0))::bigint
  FROM accounts acc WHERE acc.id = ANY (account_ids);
END $$;
COMMENT ON FUNCTION collect_debts IS
  'Repays the debt of these accounts from what they can spend, by entries of kind collection; '
  'answers the balances after it.';
