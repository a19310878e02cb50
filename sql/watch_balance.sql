-- Notices that a balance falls below what its account wants to be told of, or topped up at: once a crossing. A balance
-- at or above it arms the watch again. Whatever moves credits updates the account's row, so nothing bypasses it; for
-- accounts that watch nothing the trigger's condition is all there is.
CREATE OR REPLACE FUNCTION watch_balance() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.low_balance_below IS NOT NULL THEN
    IF NEW.credits >= NEW.low_balance_below THEN NEW.low_balance_state := 'armed';
    ELSIF NEW.credits < OLD.credits AND NEW.low_balance_state = 'armed' THEN
      NEW.low_balance_state := 'due';
      IF NEW.has_webhooks THEN
        PERFORM tell_webhooks(NEW.id, 'balance.low',
          jsonb_build_object('balance', NEW.credits, 'below', NEW.low_balance_below));
      END IF;
    END IF;
  END IF;
  IF NEW.top_up_below IS NOT NULL THEN
    IF NEW.credits >= NEW.top_up_below THEN NEW.top_up_state := 'armed';
    ELSIF NEW.credits < OLD.credits AND NEW.top_up_state = 'armed' THEN NEW.top_up_state := 'due';
    END IF;
  END IF;
  RETURN NEW;
END $$;

CREATE TRIGGER accounts_watch_balance BEFORE UPDATE ON accounts FOR EACH ROW
  WHEN ((new.low_balance_below IS NOT NULL OR new.top_up_below IS NOT NULL)
  AND new.credits::bigint <> old.credits::bigint)
  EXECUTE FUNCTION watch_balance();
COMMENT ON FUNCTION watch_balance IS 'Marks a crossing of the low balance and of the automatic top-up, once each.';
