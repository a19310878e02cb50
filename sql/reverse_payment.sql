-- Brings what is reversed of a paid payment to a number of credits, and returns how much that moved.
--
-- More than before: taken from the payment's own grants, then from other purchases, the newest first; what has been
-- spent becomes debt. Less than before (a dispute was won, a refund failed): given back is exactly what was taken, in
-- the opposite order: the debt that is still open, the grants that it was taken from, those that have repaid the debt
-- meanwhile, and a new grant for what no grant has room for. A grant's room is what is neither left in it nor can come
-- back to it from an open call. The remaining debt is then repaid from what can be spent.
CREATE OR REPLACE FUNCTION reverse_payment(the_payment uuid, target bigint)
RETURNS TABLE (moved bigint, owed bigint, balance bigint) LANGUAGE plpgsql AS $$
DECLARE
  pay payments%ROWTYPE;
  acc accounts%ROWTYPE;
  source record;
  part bigint;
  rest bigint;
  elsewhere bigint := 0;
  made uuid;
  grants_of uuid[] := '{}';
  parts bigint[] := '{}';
  moment timestamptz;
BEGIN
  SELECT a.* INTO acc FROM accounts a WHERE a.id = (SELECT p.account_id FROM payments p WHERE p.id = the_payment)
    FOR NO KEY UPDATE;
  moment := clock_timestamp();
  PERFORM expire_grants(ARRAY[acc.id], moment);
  SELECT a.* INTO acc FROM accounts a WHERE a.id = acc.id;
  SELECT p.* INTO pay FROM payments p WHERE p.id = the_payment FOR NO KEY UPDATE;
  moved := 0;
  owed := 0;
  balance := acc.credits;
  IF target = pay.reversed THEN
    RETURN NEXT;
    RETURN;
  END IF;
  IF target > pay.reversed THEN
    rest := target - pay.reversed;
    FOR source IN SELECT g.id, g.remaining FROM grants g
      WHERE g.account_id = acc.id AND g.open AND (g.payment_id = pay.id OR g.origin = 'purchase')
      ORDER BY g.payment_id IS DISTINCT FROM pay.id, g.origin = 'bonus', g.created_at DESC, g.id DESC
    LOOP
      EXIT WHEN rest = 0;
      part := least(rest, source.remaining);
      grants_of := grants_of || source.id;
      parts := parts || -part;
      rest := rest - part;
    END LOOP;
    owed := rest;
  ELSE
    rest := pay.reversed - target;
    part := least(rest, acc.debt, (SELECT greatest(sum(r.owed), 0) FROM payment_reversals r
      WHERE r.payment_id = pay.id));
    owed := -part;
    rest := rest - part;
    FOR source IN
      WITH candidate AS (
        SELECT e.grant_id, 1 AS turn, max(e.seq) AS seq, -sum(e.amount) AS amount FROM ledger_entries e
        WHERE e.payment_id = pay.id GROUP BY e.grant_id HAVING sum(e.amount) < 0
        UNION ALL
        SELECT e.grant_id, 2, max(e.seq), -sum(e.amount) FROM ledger_entries e
        WHERE e.account_id = acc.id AND e.kind = 'collection' GROUP BY e.grant_id
      )
      SELECT c.grant_id AS id, sum(c.amount)::bigint AS amount, g.amount - g.remaining - coalesce((
          SELECT -sum(e.amount) FROM calls k JOIN ledger_entries e ON e.call_id = k.id AND e.grant_id = g.id
          WHERE k.account_id = acc.id AND k.finished_at IS NULL), 0)::bigint AS room
      FROM candidate c JOIN grants g ON g.id = c.grant_id
      GROUP BY c.grant_id, g.id ORDER BY min(c.turn), max(c.seq) DESC
    LOOP
      part := least(rest, source.amount, source.room);
      CONTINUE WHEN part <= 0;
      grants_of := grants_of || source.id;
      parts := parts || part;
      rest := rest - part;
    END LOOP;
    elsewhere := -rest;
  END IF;

  PERFORM move_credits(moment, array_fill(acc.id, ARRAY[cardinality(grants_of)]), grants_of, parts,
    array_fill(CASE WHEN target > pay.reversed THEN 'reversal' ELSE 'reinstatement' END, ARRAY[cardinality(grants_of)]),
    payment => pay.id);
  SELECT a.* INTO acc FROM accounts a WHERE a.id = acc.id;
  acc.debt := acc.debt + owed;
  moved := -coalesce((SELECT sum(m) FROM unnest(parts) m), 0);

  -- What its forgiven debt once was is not given back a second time.
  rest := -elsewhere - coalesce((SELECT sum(f.credits) FROM forgiven_debts f WHERE f.account_id = acc.id
    AND f.created_at >= (SELECT min(r.created_at) FROM payment_reversals r WHERE r.payment_id = pay.id)), 0);
  IF rest > 0 THEN
    acc.credits := acc.credits + rest;
    acc.ledger_seq := acc.ledger_seq + 1;
    INSERT INTO grants (id, account_id, origin, amount, remaining, open, note)
    VALUES (gen_random_uuid(), acc.id, 'adjustment', rest, rest, true, 'reinstated')
    RETURNING id INTO made;
    INSERT INTO ledger_entries (account_id, seq, grant_id, kind, amount, balance_after, note)
    VALUES (acc.id, acc.ledger_seq, made, 'grant', rest, acc.credits, 'reinstated');
  END IF;

  INSERT INTO payment_reversals (payment_id, nth, account_id, credits, moved, owed, elsewhere, refunded_minor,
    disputed_minor)
  SELECT pay.id, 1 + (SELECT count(*) FROM payment_reversals r WHERE r.payment_id = pay.id), acc.id,
    target - pay.reversed, moved, owed, elsewhere, pay.refunded_minor, pay.disputed_minor;
  UPDATE payments p SET reversed = target WHERE p.id = pay.id;
  UPDATE accounts a SET credits = acc.credits, ledger_seq = acc.ledger_seq, debt = acc.debt WHERE a.id = acc.id;
  balance := acc.credits;
  IF acc.debt > 0 THEN balance := (SELECT d.balance FROM collect_debts(ARRAY[acc.id]) d); END IF;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION reverse_payment IS
  'Brings what is reversed of a payment to a number of credits: takes back or reinstates them; returns the balance.';
