-- Takes credits from accounts, in the order of the lists, from what pays first: each amount is an interval of its
-- account's lots in burn order, and its parts are the overlaps with theirs. Whoever calls this holds the accounts' rows
-- and knows that they can spend as much.
CREATE OR REPLACE FUNCTION spend_credits(
  moment timestamptz, accounts_of uuid[], amounts bigint[], kind text, calls_of uuid[] DEFAULT NULL,
  deduction uuid DEFAULT NULL, remark text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  payers uuid[];
  lots uuid[];
  parts bigint[];
  causes uuid[];
BEGIN
  IF 0 >= ALL (amounts) THEN RETURN; END IF;
  SELECT array_agg(p.account_id), array_agg(p.grant_id), array_agg(-p.amount), array_agg(p.call_id)
  INTO payers, lots, parts, causes
  FROM (
    SELECT w.account_id, w.call_id, lot.grant_id,
      (least(w.upto, lot.upto) - greatest(w.upto - w.amount, lot.upto - lot.remaining))::bigint AS amount
    FROM (
      SELECT u.*, sum(u.amount) OVER (PARTITION BY u.account_id ORDER BY u.place) AS upto
      FROM unnest(accounts_of, amounts, calls_of) WITH ORDINALITY AS u (account_id, amount, call_id, place)
    ) w
    JOIN spendable_lots(accounts_of) lot ON lot.account_id = w.account_id
      AND lot.upto > w.upto - w.amount AND lot.upto - lot.remaining < w.upto
    WHERE w.amount > 0
    ORDER BY w.place, lot.upto
  ) p;
  PERFORM move_credits(moment, payers, lots, parts, array_fill(kind, ARRAY[cardinality(lots)]), causes,
    deduction => deduction, remark => remark);
END $$;
COMMENT ON FUNCTION spend_credits IS
  'Takes credits from what accounts can spend, in burn order, by entries of one kind.';
