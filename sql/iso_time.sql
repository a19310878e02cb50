-- A moment as JSON has it everywhere: ISO 8601, UTC, milliseconds.
CREATE OR REPLACE FUNCTION iso_time(moment timestamptz) RETURNS text LANGUAGE sql STABLE AS $$
  SELECT to_char(moment AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;
COMMENT ON FUNCTION iso_time IS 'A moment in ISO 8601, UTC, with milliseconds.';
