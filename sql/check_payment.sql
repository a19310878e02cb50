-- The tie between a payment and its grants, checked at the end of each transaction that touches either: a paid payment
-- has exactly the grants that were ordered, no other payment has any, and what is reversed is the sum of its reversals.
CREATE OR REPLACE FUNCTION check_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  touched uuid := to_jsonb(NEW) ->> CASE TG_TABLE_NAME WHEN 'payments' THEN 'id' ELSE 'payment_id' END;
  broken text;
BEGIN
  SELECT CASE
    WHEN coalesce((SELECT sum(g.amount) FROM grants g WHERE g.payment_id = p.id AND g.origin = 'purchase'), 0)
      <> CASE p.status WHEN 'paid' THEN p.credits ELSE 0 END THEN 'credits'
    WHEN coalesce((SELECT sum(g.amount) FROM grants g WHERE g.payment_id = p.id AND g.origin = 'bonus'), 0)
      <> CASE p.status WHEN 'paid' THEN p.bonus ELSE 0 END THEN 'bonus'
    WHEN p.reversed <> coalesce((SELECT sum(r.credits) FROM payment_reversals r WHERE r.payment_id = p.id), 0)
      THEN 'reversals' END INTO broken
  FROM payments p WHERE p.id = touched;
  IF broken IS NOT NULL THEN
    RAISE EXCEPTION 'the % of payment % are not what it says', broken, touched
      USING ERRCODE = 'check_violation', CONSTRAINT = 'payments_match_grants';
  END IF;
  RETURN NULL;
END $$;

DROP TRIGGER IF EXISTS payments_match_grants ON payments;
CREATE CONSTRAINT TRIGGER payments_match_grants AFTER INSERT OR UPDATE ON payments
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_payment();
DROP TRIGGER IF EXISTS grants_match_payments ON grants;
CREATE CONSTRAINT TRIGGER grants_match_payments AFTER INSERT ON grants
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.payment_id IS NOT NULL) EXECUTE FUNCTION check_payment();
DROP TRIGGER IF EXISTS payment_reversals_match_payments ON payment_reversals;
CREATE CONSTRAINT TRIGGER payment_reversals_match_payments AFTER INSERT ON payment_reversals
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION check_payment();
COMMENT ON FUNCTION check_payment
  IS 'Refuses a payment whose grants or reversals are not what it says.';
