-- Whether the result of a call is kept. Volatile, and so it sees what has been committed until it runs: a statement
-- that waited for the lock of a call that was just being ended finds its result, which its own snapshot does not have.
CREATE OR REPLACE FUNCTION result_is_kept(ended_call uuid)
RETURNS boolean
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN EXISTS (SELECT FROM call_results r WHERE r.call_id = ended_call AND r.expires_at > now());
END $$;
COMMENT ON FUNCTION result_is_kept IS 'Whether the result of a call is kept, as committed now, whatever the snapshot.';
