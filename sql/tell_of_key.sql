-- Writes the events of keys that are made and revoked.
CREATE OR REPLACE FUNCTION tell_of_key() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  event_type text := CASE WHEN NEW.revoked_at IS NULL THEN 'key.created' ELSE 'key.revoked' END;
BEGIN
  IF TG_OP = 'UPDATE' AND (NEW.revoked_at IS NULL OR OLD.revoked_at IS NOT NULL) THEN RETURN NULL; END IF;
  PERFORM tell_webhooks(acc.id, event_type, jsonb_build_object('key', public_id('key', NEW.id), 'name', NEW.name))
  FROM accounts acc WHERE acc.id = NEW.account_id AND acc.has_webhooks;
  RETURN NULL;
END $$;

CREATE TRIGGER api_keys_tell AFTER INSERT OR UPDATE OF revoked_at ON api_keys
  FOR EACH ROW EXECUTE FUNCTION tell_of_key();
COMMENT ON FUNCTION tell_of_key IS 'Writes the events of keys that are made and revoked.';
