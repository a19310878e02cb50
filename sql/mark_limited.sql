-- Records whether keys of an account are limited, after that may have changed: from then on open_calls and end_calls
-- look for budgets, and count the open calls and the tokens of keys. The caller holds the account's row.
CREATE OR REPLACE FUNCTION mark_limited(marked uuid) RETURNS void LANGUAGE sql AS $$
  UPDATE accounts acc SET keys_limited = EXISTS (SELECT FROM budgets b WHERE b.account_id = acc.id)
    OR EXISTS (SELECT FROM api_keys k WHERE k.account_id = acc.id AND (k.max_outstanding IS NOT NULL
      OR k.tokens_per_minute IS NOT NULL))
  WHERE acc.id = marked
$$;
COMMENT ON FUNCTION mark_limited IS 'Notes whether keys of an account are limited, after their limits were changed.';
