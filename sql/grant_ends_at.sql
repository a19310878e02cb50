-- When a grant pays for nothing any more: when it expires, or later where something came back to it past its time
-- (move_credits.sql). Null: never.
CREATE OR REPLACE FUNCTION grant_ends_at(expires_at timestamptz, revived_until timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(revived_until, expires_at)
$$;
COMMENT ON FUNCTION grant_ends_at IS 'When a grant pays for nothing any more; null: never.';
