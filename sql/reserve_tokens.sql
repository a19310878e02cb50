-- Reserves the tokens that calls are estimated at in the windows of their keys, as far as these have a limit of tokens;
-- open_calls.sql does so in those of their accounts. Calls without an estimate (images, videos) reserve none, and begin
-- no window. The caller holds the accounts' rows, and has found that the tokens fit; "moment" is when the calls were
-- opened.
CREATE OR REPLACE FUNCTION reserve_tokens(opened uuid[], moment timestamptz) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
  UPDATE api_keys k SET token_window_at = token_window(k.token_window_at, moment),
    token_window_used = token_use(k.token_window_at, k.token_window_used, moment) + s.tokens
  FROM (
    SELECT c.key_id, sum(c.estimated_input_tokens + coalesce(c.estimated_output_tokens, 0))::bigint AS tokens
    FROM calls c WHERE c.id = ANY (opened) GROUP BY 1
  ) s
  WHERE k.id = s.key_id AND s.tokens > 0 AND k.tokens_per_minute IS NOT NULL;
END $$;
COMMENT ON FUNCTION reserve_tokens
  IS 'Reserves the tokens that calls are estimated at, of keys whose tokens are limited.';
