-- Takes over the call that a request without a number is a retry of: the oldest of the same key and request, at most
-- two minutes old, whose requester went away unanswered a moment ago, and whose answer can still be given. A request
-- that comes within that moment is another one: its sender cannot know yet that the first was lost.
-- Only for whoever holds the account's row: so requests that come together each take another call.
-- Null where there is none.
CREATE OR REPLACE FUNCTION claim_left_call(of_account uuid, of_key uuid, of_request bytea, new_reply_to text)
RETURNS uuid
LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  claimed uuid;
BEGIN
  UPDATE calls SET abandoned_at = NULL, reply_to = new_reply_to WHERE id = (
    SELECT c.id FROM calls c
    WHERE c.account_id = of_account AND c.request_hash = of_request AND c.key_id = of_key
      AND c.abandoned_at < now() - interval '100 milliseconds' AND c.created_at > now() - interval '2 minutes'
      AND (c.finished_at IS NULL AND c.deleted_at IS NULL
        OR c.status = 'succeeded' AND result_is_kept(c.id))
    ORDER BY c.id LIMIT 1 FOR NO KEY UPDATE OF c)
  RETURNING id INTO claimed;
  RETURN claimed;
END $$;
COMMENT ON FUNCTION claim_left_call IS
  'Takes over the call that a request is a retry of, for the web process that will answer it; null without one.';
