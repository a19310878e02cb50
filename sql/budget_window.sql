-- The beginning of the window of a budget that a moment lies in. Windows are those of UTC, and weeks begin on Monday. A
-- total has one window, without a beginning.
CREATE OR REPLACE FUNCTION budget_window(period text, moment timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN period = 'total' THEN '-infinity'::timestamptz
    ELSE date_trunc(period, moment AT TIME ZONE 'UTC') AT TIME ZONE 'UTC' END
$$;
COMMENT ON FUNCTION budget_window IS 'When the window of a budget begins that this moment lies in.';
