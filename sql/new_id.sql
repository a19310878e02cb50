-- A new UUIDv7 (src/shared/platform/ids.ts), for rows that a function writes.
CREATE OR REPLACE FUNCTION new_id() RETURNS uuid LANGUAGE sql VOLATILE AS $$
  -- The first 48 bits are the milliseconds, the version comes after them.
  SELECT (lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0')
    || '7' || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid
$$;
COMMENT ON FUNCTION new_id IS 'A new UUIDv7.';
