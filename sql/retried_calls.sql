-- The calls that a request may be a retry of, by claim_call.sql, and whose answer can still be given. The key and its
-- account are checked once, whatever the number of calls.
CREATE OR REPLACE FUNCTION retried_calls(of_account uuid, of_key uuid, of_request bytea, is_numbered boolean)
RETURNS SETOF calls
LANGUAGE sql STABLE AS $$
  SELECT c.* FROM calls c
  WHERE c.account_id = of_account AND c.request_hash = of_request
    AND c.id BETWEEN first_id(now() - interval '1 day') AND first_id(now() + interval '1 day')
    AND c.created_at > now() - CASE WHEN is_numbered THEN interval '10 minutes' ELSE interval '2 minutes' END
    AND (c.finished_at IS NULL AND c.deleted_at IS NULL OR c.status = 'succeeded'
      AND EXISTS (SELECT FROM call_results r WHERE r.call_id = c.id AND r.expires_at > now()))
    AND CASE WHEN is_numbered THEN c.user_id = (SELECT k.user_id FROM api_keys k WHERE k.id = of_key)
      ELSE c.key_id = of_key END
    AND EXISTS (SELECT FROM api_keys k JOIN accounts acc ON acc.id = of_account
      WHERE k.id = of_key AND k.account_id = of_account AND key_is_valid(k, NULL, now()) AND acc.status = 'active')
$$;
COMMENT ON FUNCTION retried_calls IS 'The calls that a request may be a retry of, and whose answer can still be given.';
