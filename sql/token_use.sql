-- How many tokens are used of the window that a moment lies in: of the newest one, or of one that begins now.
CREATE OR REPLACE FUNCTION token_use(newest timestamptz, used bigint, moment timestamptz) RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN newest = token_window(newest, moment) THEN used ELSE 0 END
$$;
COMMENT ON FUNCTION token_use IS 'How many tokens are used of the window that a moment lies in.';
