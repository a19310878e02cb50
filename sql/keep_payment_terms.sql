-- The terms of an order are fixed: nobody changes whose order it is, what it costs and gives, the card that it asks, or
-- which object of the provider is its own once that is known; and what was paid stays paid.
CREATE OR REPLACE FUNCTION keep_payment_terms() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (OLD.id, OLD.account_id, OLD.provider, OLD.kind, OLD.live_mode, OLD.pack, OLD.currency, OLD.amount_minor,
      OLD.credits, OLD.bonus, OLD.method)
    IS DISTINCT FROM (NEW.id, NEW.account_id, NEW.provider, NEW.kind, NEW.live_mode, NEW.pack, NEW.currency,
      NEW.amount_minor, NEW.credits, NEW.bonus, NEW.method)
    OR (OLD.customer IS NOT NULL AND OLD.customer IS DISTINCT FROM NEW.customer)
    OR (OLD.session IS NOT NULL AND OLD.session IS DISTINCT FROM NEW.session)
    OR (OLD.intent IS NOT NULL AND OLD.intent IS DISTINCT FROM NEW.intent)
    OR (OLD.status = 'paid' AND NEW.status <> 'paid') THEN
    RAISE EXCEPTION 'the terms of payment % stand', OLD.id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'payments_terms_stand';
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER payments_terms_stand BEFORE UPDATE ON payments
  FOR EACH ROW EXECUTE FUNCTION keep_payment_terms();
COMMENT ON FUNCTION keep_payment_terms IS 'Refuses changes of what was ordered, and of what was paid.';
