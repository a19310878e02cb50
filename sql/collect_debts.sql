-- Repays what accounts owe from what they can spend, in burn order: whoever gives credits to an account with debt calls this in the
-- same transaction, so that an account with debt never has anything to spend. Whoever calls it holds the accounts' rows.
CREATE OR REPLACE FUNCTION collect_debts(accounts uuid[])
RETURNS TABLE (user_id uuid, balance bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  RETURN QUERY
  WITH part AS MATERIALIZED (
    SELECT u.id AS user_id, lot.grant_id, overlap.amount,
      row_number() OVER movement_order AS nth,
      sum(overlap.amount) OVER movement_order AS upto
    FROM users u
    JOIN spendable_lots(accounts) lot ON lot.user_id = u.id AND lot.upto - lot.remaining < u.debt
    CROSS JOIN LATERAL (SELECT (least(lot.upto, u.debt) - (lot.upto - lot.remaining))::bigint AS amount) overlap
    WHERE u.id = ANY (accounts)
    WINDOW movement_order AS (PARTITION BY u.id ORDER BY lot.upto)
  ), new_entry AS (
    INSERT INTO ledger_entries (user_id, seq, grant_id, kind, amount, balance_after)
    SELECT p.user_id, u.ledger_seq + p.nth, p.grant_id, 'collection', -p.amount, u.credits - p.upto
    FROM part p JOIN users u ON u.id = p.user_id AND u.id = ANY (accounts)
  ), burnt AS (
    UPDATE grants g SET remaining = g.remaining - p.amount, open = g.remaining > p.amount
    FROM part p WHERE g.id = p.grant_id AND g.user_id = ANY (accounts)
  ), account AS (
    UPDATE users u SET credits = u.credits - s.amount, debt = u.debt - s.amount, ledger_seq = u.ledger_seq + s.entries
    FROM (SELECT p.user_id, sum(p.amount)::bigint AS amount, count(*) AS entries FROM part p GROUP BY p.user_id) s
    WHERE u.id = s.user_id AND u.id = ANY (accounts)
  )
  SELECT u.id, (u.credits - coalesce((SELECT max(p.upto) FROM part p WHERE p.user_id = u.id), 0))::bigint
  FROM users u WHERE u.id = ANY (accounts);
END $$;
COMMENT ON FUNCTION collect_debts IS
  'Repays the debt of these accounts from what they can spend, by entries of kind collection; answers the balances after it.';
