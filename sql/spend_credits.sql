-- Takes credits from accounts, in the order of the lists, from what pays first: each amount is an interval of its
-- account's grants in burn order, and its parts are the overlaps with theirs. The caller holds the accounts' rows and
-- knows that they can spend as much.
CREATE OR REPLACE FUNCTION spend_credits(
  moment timestamptz, accounts_of uuid[], amounts bigint[], kind text, deduction uuid DEFAULT NULL,
  remark text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  payers uuid[];
  grants_of uuid[];
  parts bigint[];
BEGIN
  IF 0 >= ALL (amounts) THEN RETURN; END IF;
  SELECT array_agg(p.account_id), array_agg(p.grant_id), array_agg(-p.amount)
  INTO payers, grants_of, parts
  FROM (
    SELECT w.account_id, source.grant_id,
      (least(w.upto, source.upto) - greatest(w.upto - w.amount, source.upto - source.remaining))::bigint AS amount
    FROM (
      SELECT u.*, sum(u.amount) OVER (PARTITION BY u.account_id ORDER BY u.place) AS upto
      FROM unnest(accounts_of, amounts) WITH ORDINALITY AS u (account_id, amount, place)
    ) w
    JOIN spendable_grants(accounts_of) source ON source.account_id = w.account_id
      AND source.upto > w.upto - w.amount AND source.upto - source.remaining < w.upto
    WHERE w.amount > 0
    ORDER BY w.place, source.upto
  ) p;
  PERFORM move_credits(moment, payers, grants_of, parts, array_fill(kind, ARRAY[cardinality(grants_of)]),
    deduction => deduction, remark => remark);
END $$;
COMMENT ON FUNCTION spend_credits IS
  'Takes credits from what accounts can spend, in burn order, by entries of one kind.';
