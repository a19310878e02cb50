-- Marks when the funds of an account fall below its threshold for a low balance or for the automatic top-up: once per
-- crossing. Funds are the balance and what running calls hold of it, so a hold that is given back lowers nothing. Funds
-- at or above the threshold arm the watch again; where a refused call demanded a top-up, the threshold is the charge of
-- that call, if it is higher. Everything that moves credits updates the account's row, so nothing bypasses the trigger;
-- for accounts that watch nothing, its condition is the only cost.
CREATE OR REPLACE FUNCTION watch_balance() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  funds bigint := NEW.credits + NEW.held;
  is_lower boolean := funds < OLD.credits + OLD.held;
BEGIN
  IF NEW.low_balance_below IS NOT NULL THEN
    IF funds >= NEW.low_balance_below THEN NEW.low_balance_state := 'armed';
    ELSIF is_lower AND NEW.low_balance_state = 'armed' THEN
      NEW.low_balance_state := 'due';
      IF NEW.has_webhooks THEN
        PERFORM tell_webhooks(NEW.id, 'balance.low',
          jsonb_build_object('balance', NEW.credits, 'below', NEW.low_balance_below));
      END IF;
    END IF;
  END IF;
  IF NEW.top_up_below IS NOT NULL THEN
    IF funds >= greatest(NEW.top_up_below, NEW.top_up_for) THEN
      NEW.top_up_state := 'armed';
      NEW.top_up_for := NULL;
    ELSIF is_lower AND funds < NEW.top_up_below AND NEW.top_up_state = 'armed' THEN NEW.top_up_state := 'due';
    END IF;
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER accounts_watch_balance BEFORE UPDATE ON accounts FOR EACH ROW
  WHEN ((new.low_balance_below IS NOT NULL OR new.top_up_below IS NOT NULL)
  AND (new.credits::bigint + new.held::bigint) <> (old.credits::bigint + old.held::bigint))
  EXECUTE FUNCTION watch_balance();
COMMENT ON FUNCTION watch_balance IS 'Marks when funds cross the thresholds of low balance and automatic top-up.';
