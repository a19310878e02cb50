-- By how many tokens a call that has ended came to more than it reserved; negative where it gives some back. Null for
-- one that reserved none: what is not estimated by tokens does not count.
CREATE OR REPLACE FUNCTION token_correction(call calls) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN call.status = 'failed' THEN 0
    ELSE coalesce(call.input_tokens + coalesce(call.output_tokens, 0), call.reserved_tokens) END - call.reserved_tokens
$$;
COMMENT ON FUNCTION token_correction IS 'By how many tokens a call that has ended came to more than it reserved.';
