-- The usage of an account (null: of all) in the hours from "since" on and before "upto": what is folded, what has ended
-- since, and the open calls with the credits that they hold. One snapshot sees all three, so that nothing is missing or
-- counted twice.
CREATE OR REPLACE FUNCTION usage_rows(account uuid, since timestamptz, upto timestamptz) RETURNS SETOF usage_hours
LANGUAGE plpgsql STABLE AS $$
DECLARE
  folded timestamptz := (SELECT w.folded_until FROM usage_watermark w WHERE w.id);
BEGIN
  IF account IS NULL THEN
    RETURN QUERY SELECT * FROM usage_hours h WHERE h.hour >= since AND h.hour < upto;
  ELSE
    RETURN QUERY SELECT * FROM usage_hours h WHERE h.account_id = account AND h.hour >= since AND h.hour < upto;
  END IF;
  RETURN QUERY SELECT * FROM calls_usage(folded, 'infinity') u
    WHERE (account IS NULL OR u.account_id = account) AND u.hour >= since AND u.hour < upto;
  RETURN QUERY SELECT * FROM open_usage() u
    WHERE (account IS NULL OR u.account_id = account) AND u.hour >= since AND u.hour < upto;
END $$;
COMMENT ON FUNCTION usage_rows IS 'The usage of an account, or of all, by hour, to the moment.';
