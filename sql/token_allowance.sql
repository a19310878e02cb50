-- What is left of the tokens of a minute at a moment, after "more" of them: limit, remaining, and in how many seconds
-- the window ends, 0 where none has begun. Null where there is no limit.
CREATE OR REPLACE FUNCTION token_allowance(
  per_minute bigint, newest timestamptz, used bigint, more bigint, moment timestamptz
) RETURNS jsonb
LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN per_minute IS NOT NULL THEN jsonb_build_object(
    'limit', per_minute,
    'remaining', greatest(0, per_minute - token_use(newest, used, moment) - more),
    'resetSeconds', CASE WHEN more > 0 OR newest = token_window(newest, moment)
      THEN ceil(extract(epoch FROM token_window(newest, moment) - moment) + 60)::integer ELSE 0 END
  ) END
$$;
COMMENT ON FUNCTION token_allowance IS 'What is left of the tokens of a minute; null where there is no limit.';
