-- Whether a key may be used from a client's address. A key with ranges is not used from an address that is not known.
CREATE OR REPLACE FUNCTION key_allows_address(key api_keys, address text) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT key.allowed_ips IS NULL OR coalesce(nullif(address, '')::inet <<= ANY (key.allowed_ips), false)
$$;
COMMENT ON FUNCTION key_allows_address IS 'Whether a key may be used from this address; empty or null: not known.';
