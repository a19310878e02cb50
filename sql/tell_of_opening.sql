-- Notifies the operators that a circuit of an upstream has opened: once a minute, however many workers report it.
CREATE OR REPLACE FUNCTION tell_of_opening() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_webhooks(NULL, 'upstream.unhealthy', jsonb_build_object('upstream', NEW.upstream));
  RETURN NULL;
END $$;

CREATE TRIGGER circuit_openings_tell AFTER INSERT ON circuit_openings
  FOR EACH ROW EXECUTE FUNCTION tell_of_opening();
COMMENT ON FUNCTION tell_of_opening IS 'Tells the operators that a circuit of an upstream has opened.';
