-- The tie between a payment and its grants, checked at the end of each transaction that touches either: a paid payment
-- has exactly the grants that were ordered, no other payment has any, and what is reversed is the sum of its reversals.
CREATE OR REPLACE FUNCTION check_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  field text := CASE TG_TABLE_NAME WHEN 'payments' THEN 'id' ELSE 'payment_id' END;
  touched uuid[] := ARRAY[to_jsonb(OLD) ->> field, to_jsonb(NEW) ->> field]::uuid[];
  found record;
BEGIN
  SELECT p.id, CASE
    WHEN coalesce((SELECT sum(g.amount) FROM grants g WHERE g.payment_id = p.id AND g.origin = 'purchase'), 0)
      <> CASE p.status WHEN 'paid' THEN p.credits ELSE 0 END THEN 'credits'
    WHEN coalesce((SELECT sum(g.amount) FROM grants g WHERE g.payment_id = p.id AND g.origin = 'bonus'), 0)
      <> CASE p.status WHEN 'paid' THEN p.bonus ELSE 0 END THEN 'bonus'
    WHEN p.reversed <> coalesce((SELECT sum(r.credits) FROM payment_reversals r WHERE r.payment_id = p.id), 0)
      THEN 'reversals' END AS broken INTO found
  FROM payments p WHERE p.id = ANY (touched) ORDER BY broken NULLS LAST LIMIT 1;
  IF found.broken IS NOT NULL THEN
    RAISE EXCEPTION 'the % of payment % are not what it states', found.broken, found.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'payments_match_grants';
  END IF;
  RETURN NULL;
END $$;

-- The columns that are compared: a check that changed nothing touches none of them.
CREATE CONSTRAINT TRIGGER payments_match_grants
  AFTER INSERT OR UPDATE OF id, status, credits, bonus, reversed ON payments
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_payment();
CREATE CONSTRAINT TRIGGER grants_match_payments AFTER INSERT ON grants
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (new.payment_id IS NOT NULL) EXECUTE FUNCTION check_payment();
-- What a call burns of a grant is none of these columns, and does not come here.
CREATE CONSTRAINT TRIGGER grants_keep_matching_payments AFTER UPDATE OF amount, origin, payment_id ON grants
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.payment_id IS NOT NULL OR new.payment_id IS NOT NULL)
  EXECUTE FUNCTION check_payment();
CREATE CONSTRAINT TRIGGER grants_are_missed_by_payments AFTER DELETE ON grants
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (old.payment_id IS NOT NULL) EXECUTE FUNCTION check_payment();
CREATE CONSTRAINT TRIGGER payment_reversals_match_payments AFTER INSERT ON payment_reversals
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_payment();
COMMENT ON FUNCTION check_payment
  IS 'Refuses a payment whose grants or reversals are not what it states.';
