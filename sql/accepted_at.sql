-- When a call was accepted: the time in its id (UUIDv7, src/shared/platform/ids.ts), whose hour and day it belongs to.
CREATE OR REPLACE FUNCTION accepted_at(id uuid) RETURNS timestamptz LANGUAGE sql IMMUTABLE AS $$
  SELECT to_timestamp(('x' || left(replace(id::text, '-', ''), 12))::bit(48)::bigint / 1000.0)
$$;
COMMENT ON FUNCTION accepted_at IS 'When the call of this id was accepted.';
