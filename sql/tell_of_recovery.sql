-- Notifies the operators that an upstream whose circuits had opened works again: once, however many workers report it.
CREATE OR REPLACE FUNCTION tell_of_recovery(recovered text) RETURNS void LANGUAGE sql AS $$
  WITH over AS (
    UPDATE circuit_openings SET recovered_at = now() WHERE upstream = recovered AND recovered_at IS NULL
    RETURNING minute
  )
  SELECT tell_webhooks(NULL, 'upstream.recovered', jsonb_build_object('upstream', recovered,
    'since', iso_time(min(over.minute)))) FROM over HAVING count(*) > 0
$$;
COMMENT ON FUNCTION tell_of_recovery IS 'Tells the operators that an upstream works again.';
