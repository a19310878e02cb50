-- Writes the events of grants that end within seven days, each once: for a batch, and returns their number.
CREATE OR REPLACE FUNCTION tell_of_grants(batch integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  told integer := 0;
  r record;
BEGIN
  FOR r IN
    SELECT g.id, g.account_id, g.remaining, g.expires_at
    FROM grants g
    WHERE g.account_id IN (SELECT w.account_id FROM webhooks w
        WHERE w.disabled_at IS NULL AND 'credits.expiring' = ANY (w.types))
      AND g.open AND g.expires_at BETWEEN now() AND now() + interval '7 days'
      AND NOT EXISTS (SELECT FROM grant_notices n WHERE n.grant_id = g.id)
    LIMIT batch
  LOOP
    INSERT INTO grant_notices (grant_id) VALUES (r.id) ON CONFLICT (grant_id) DO NOTHING;
    CONTINUE WHEN NOT FOUND;
    PERFORM tell_webhooks(r.account_id, 'credits.expiring', jsonb_build_object('grant', public_id('grant', r.id),
      'credits', r.remaining, 'expiresAt', iso_time(r.expires_at)));
    told := told + 1;
  END LOOP;
  RETURN told;
END $$;
COMMENT ON FUNCTION tell_of_grants IS 'Tells of grants that end within seven days, each once.';
