-- Whether a secret of a key is valid at a moment: the key exists, is neither revoked nor past its end, and the secret
-- is its newest, or the one before that within the grace of its rotation. Secrets are numbered; where the secret is
-- NULL, only the key is checked.
CREATE OR REPLACE FUNCTION key_is_valid(key api_keys, secret integer, moment timestamptz) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT key.id IS NOT NULL AND key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > moment)
    AND (secret IS NULL OR secret = key.secret_version
      OR secret = key.secret_version - 1 AND coalesce(key.previous_until > moment, false))
$$;
COMMENT ON FUNCTION key_is_valid IS 'Whether a key may be used at a moment with this one of its secrets.';
