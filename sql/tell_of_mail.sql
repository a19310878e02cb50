-- Notifies the operators of a mail that was given up. The event never names its recipient.
CREATE OR REPLACE FUNCTION tell_of_mail() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_webhooks(NULL, 'mail.dead',
    jsonb_build_object('mail', public_id('mail', NEW.id), 'kind', NEW.kind, 'tries', NEW.tries));
  RETURN NULL;
END $$;

CREATE TRIGGER mails_tell AFTER UPDATE OF status ON mails FOR EACH ROW
  WHEN (new.status = 'dead'::text AND old.status <> 'dead'::text)
  EXECUTE FUNCTION tell_of_mail();
COMMENT ON FUNCTION tell_of_mail IS 'Tells the operators of a mail that was given up.';
