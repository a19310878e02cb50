-- The text form of an id that clients see (src/shared/platform/ids.ts).
CREATE OR REPLACE FUNCTION public_id(prefix text, id uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT prefix || '_' || replace(id::text, '-', '')
$$;
COMMENT ON FUNCTION public_id IS 'The text form of an id that clients see.';
