-- A call that a request without a number is taken for a retry of: of the same key and request, at most two
-- minutes old, whose requester went away unanswered a moment ago, and whose answer can still be given. A request that
-- comes within that moment is another one: its sender cannot know yet that the first was lost.
-- Null where there is none. Any of them: requests that come together and all found the oldest would take it one after
-- the other, each asking again for every one that another has taken.
CREATE OR REPLACE FUNCTION left_call(of_account uuid, of_key uuid, of_request bytea)
RETURNS uuid
LANGUAGE plpgsql VOLATILE AS $$
BEGIN
  RETURN (
    SELECT c.id FROM calls c
    WHERE c.account_id = of_account AND c.request_hash = of_request AND c.key_id = of_key
      AND c.abandoned_at < now() - interval '100 milliseconds' AND c.created_at > now() - interval '2 minutes'
      AND (c.finished_at IS NULL OR c.status = 'succeeded' AND result_is_kept(c.id))
    ORDER BY random() LIMIT 1);
END $$;
COMMENT ON FUNCTION left_call IS 'The call that a request is taken for a retry of; null where there is none.';
