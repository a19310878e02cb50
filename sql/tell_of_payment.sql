-- Writes the events of payments: paid, refunded, disputed, and for the operators disputed and to be reviewed.
CREATE OR REPLACE FUNCTION tell_of_payment() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  told boolean := (SELECT acc.has_webhooks FROM accounts acc WHERE acc.id = NEW.account_id);
  data jsonb := jsonb_build_object('payment', public_id('pay', NEW.id), 'status', NEW.status, 'credits', NEW.credits,
    'amountMinor', NEW.amount_minor, 'refundedMinor', NEW.refunded_minor, 'disputedMinor', NEW.disputed_minor,
    'currency', NEW.currency);
  of_house jsonb := data || jsonb_build_object('account', public_id('acc', NEW.account_id));
BEGIN
  IF NEW.status = 'paid' AND OLD.status <> 'paid' AND told THEN
    PERFORM tell_webhooks(NEW.account_id, 'payment.succeeded', data);
  END IF;
  IF NEW.refunded_minor > OLD.refunded_minor AND told THEN
    PERFORM tell_webhooks(NEW.account_id, 'payment.refunded', data);
  END IF;
  IF NEW.disputed_minor > OLD.disputed_minor THEN
    IF told THEN PERFORM tell_webhooks(NEW.account_id, 'payment.disputed', data); END IF;
    PERFORM tell_webhooks(NULL, 'payment.disputed', of_house);
  END IF;
  IF NEW.status = 'review' AND OLD.status <> 'review' THEN
    PERFORM tell_webhooks(NULL, 'payment.review', of_house);
  END IF;
  RETURN NULL;
END $$;

CREATE TRIGGER payments_tell AFTER UPDATE OF status, refunded_minor, disputed_minor ON payments
  FOR EACH ROW EXECUTE FUNCTION tell_of_payment();
COMMENT ON FUNCTION tell_of_payment IS 'Writes the events of payments.';
