-- Counts the open calls of a key after its limits were changed, and marks its account as one with limits. From then on
-- open_calls and end_calls keep the count. The caller holds the account's row.
CREATE OR REPLACE FUNCTION count_key_use(counted_key uuid) RETURNS void
LANGUAGE sql AS $$
  UPDATE api_keys k SET outstanding_calls = CASE WHEN k.max_outstanding IS NULL THEN 0 ELSE (
    SELECT count(*) FROM calls c WHERE c.finished_at IS NULL AND c.account_id = k.account_id AND c.key_id = k.id) END
  WHERE k.id = counted_key;

  SELECT mark_limited(k.account_id) FROM api_keys k WHERE k.id = counted_key;
$$;
COMMENT ON FUNCTION count_key_use
  IS 'Counts the open calls of a key, and marks its account, after its limits were changed.';
