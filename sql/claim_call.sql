-- Takes over the call that a request is a retry of, the oldest of the same request whose answer can still be given: one
-- whose requester went away unanswered, or one that waited at a process which died, if it is open or ended when that
-- process could no longer answer it. "dead" lists those processes with their last heartbeats, in ms; two seconds are
-- allowed for, by which its clock and that of Postgres may differ. A failed call is not joined.
--
-- A retry with a number is known to be one: it joins a call of the last ten minutes of the same member. One without is
-- taken for a retry of a call of the last two minutes of the same key, unless it comes within 100 ms of the leaving:
-- then its sender cannot know yet that the first was lost.
--
-- The account's row is locked first, as by everything that opens or ends its calls: so requests that come together each
-- take another call, and none waits for a call while it has the lock of another. The result of a call that was just
-- being ended is visible after it. Null if there is no such call, and for a key that was revoked or expired meanwhile,
-- or one of a suspended account.
CREATE OR REPLACE FUNCTION claim_call(of_account uuid, of_key uuid, of_request bytea, new_reply_to text,
  is_numbered boolean, dead jsonb DEFAULT '[]')
RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
  claimed uuid;
BEGIN
  PERFORM FROM accounts acc WHERE acc.id = of_account FOR NO KEY UPDATE;
  UPDATE calls SET abandoned_at = NULL, reply_to = new_reply_to WHERE id = (
    SELECT c.id FROM retried_calls(of_account, of_key, of_request, is_numbered) c
    WHERE c.abandoned_at < CASE WHEN is_numbered THEN 'infinity' ELSE now() - interval '100 milliseconds' END
    ORDER BY c.created_at, c.id LIMIT 1) AND abandoned_at IS NOT NULL
  RETURNING id INTO claimed;
  -- Only where there are any: it reads all equal requests of the last minutes.
  IF claimed IS NULL AND dead <> '[]' THEN
    UPDATE calls SET reply_to = new_reply_to WHERE id = (
      SELECT c.id FROM retried_calls(of_account, of_key, of_request, is_numbered) c
      JOIN jsonb_to_recordset(dead) AS d (address text, "lastSeenMs" float) ON d.address = c.reply_to
      WHERE c.abandoned_at IS NULL AND (c.finished_at IS NULL
        OR c.finished_at > to_timestamp(d."lastSeenMs" / 1000) - interval '2 seconds')
      ORDER BY c.created_at, c.id LIMIT 1) AND abandoned_at IS NULL
    RETURNING id INTO claimed;
  END IF;
  RETURN claimed;
END $$;
COMMENT ON FUNCTION claim_call IS
  'Takes over the call that a request is a retry of, for the web process that will answer it; null without one.';
