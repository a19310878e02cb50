-- When the window of a minute begins in which the tokens of a moment count: the newest one of their account or key
-- while it lasts, else one that begins now.
CREATE OR REPLACE FUNCTION token_window(newest timestamptz, moment timestamptz) RETURNS timestamptz
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN newest > moment - interval '60 seconds' THEN newest ELSE moment END
$$;
COMMENT ON FUNCTION token_window IS 'When the window begins in which the tokens of a moment count.';
