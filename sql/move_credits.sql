-- Moves credits, in the order of the lists: the ledger entries, what is left of the grants, and the balances. The
-- caller holds the accounts' rows, and has called expire_grants. What calls take and give back is moved by
-- open_calls.sql and end_calls.sql themselves.
--
-- A grant that gets credits back past its time can be spent again: until a day after it first expired, and a day from
-- now where a payment is reinstated. What comes back even later expires at once.
-- Tables are held to arrays: see open_calls.sql.
CREATE OR REPLACE FUNCTION move_credits(
  moment timestamptz, accounts_of uuid[], grants_of uuid[], amounts bigint[], kinds text[],
  payment uuid DEFAULT NULL, deduction uuid DEFAULT NULL, remark text DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  late uuid[];
BEGIN
  IF cardinality(grants_of) > 0 IS NOT TRUE THEN RETURN; END IF;
  INSERT INTO ledger_entries (account_id, seq, grant_id, payment_id, deduction_id, kind, amount, balance_after,
    note)
  SELECT m.account_id, acc.ledger_seq + row_number() OVER in_order, m.grant_id, payment, deduction, m.kind,
    m.amount, acc.credits + sum(m.amount) OVER in_order, remark
  FROM unnest(accounts_of, grants_of, amounts, kinds) WITH ORDINALITY AS m (account_id, grant_id, amount, kind, place)
  JOIN accounts acc ON acc.id = m.account_id AND acc.id = ANY (accounts_of)
  WINDOW in_order AS (PARTITION BY m.account_id ORDER BY m.place);

  UPDATE accounts acc SET credits = acc.credits + s.amount, ledger_seq = acc.ledger_seq + s.entries
  FROM (
    SELECT m.account_id, sum(m.amount)::bigint AS amount, count(*) AS entries
    FROM unnest(accounts_of, amounts) AS m (account_id, amount) GROUP BY m.account_id
  ) s
  WHERE acc.id = s.account_id AND acc.id = ANY (accounts_of);

  WITH moved AS (
    UPDATE grants g SET remaining = g.remaining + s.amount, open = g.remaining + s.amount > 0,
      revived_until = CASE WHEN s.comes_back AND g.expires_at <= moment THEN greatest(g.revived_until,
        CASE WHEN s.is_reinstated THEN now() ELSE g.expires_at END + interval '24 hours')
        ELSE g.revived_until END
    FROM (
      SELECT m.grant_id, sum(m.amount)::bigint AS amount, max(m.amount) > 0 AS comes_back,
        bool_or(m.kind = 'reinstatement') AS is_reinstated
      FROM unnest(grants_of, amounts, kinds) AS m (grant_id, amount, kind) GROUP BY m.grant_id
    ) s
    WHERE g.id = s.grant_id AND g.id = ANY (grants_of)
    RETURNING g.account_id, g.open AND grant_ends_at(g.expires_at, g.revived_until) <= moment AS is_late
  )
  SELECT array_agg(DISTINCT m.account_id) INTO late FROM moved m WHERE m.is_late;
  IF late IS NOT NULL THEN PERFORM expire_grants(late, moment); END IF;
END $$;
COMMENT ON FUNCTION move_credits IS
  'Moves credits: entries, grants and balances.';
