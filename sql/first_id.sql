-- The lowest id (UUIDv7) of a moment: ids from it on were made then or later, as accepted_at.sql reads them. It is not
-- declared immutable, although it is, so that Postgres puts its text into the statements that call it.
CREATE OR REPLACE FUNCTION first_id(moment timestamptz) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT (lpad(to_hex(greatest(floor(extract(epoch FROM moment) * 1000)::bigint, 0)), 12, '0')
    || '70008000000000000000')::uuid
$$;
COMMENT ON FUNCTION first_id IS 'The lowest UUIDv7 of a moment.';
