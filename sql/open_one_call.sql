-- Charges and opens a call that is alone in its batch, as open_plain_calls does with many: a plan over lists costs a
-- third more than these few statements. The same is asked of it, and where anything else is met, open_calls does it.
-- test/shared/calls/same-books.test.ts holds the three to the same books.
--
-- What only open_calls reads comes last. What open_calls says of locks, of snapshots and of plans is true here too.
CREATE OR REPLACE FUNCTION open_one_call(
  new_id uuid, new_account uuid, new_key uuid, new_modality text, new_model text, new_price uuid, new_amount bigint,
  new_input bigint, new_output bigint, new_version integer, lease_seconds integer, deadline_seconds integer,
  new_request text, new_reply_to text, new_hash text, new_bytes bigint, most_outstanding integer,
  most_bytes bigint, new_secret_version integer, new_address text, new_prices text
)
RETURNS TABLE (id uuid, outcome text, existing_id uuid, balance bigint, outstanding integer)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  -- What the account has before: its balance, entries and open calls.
  balance_before bigint;
  entries_before bigint;
  open_before integer;
  lot uuid;
  -- The content of its price.
  price_content jsonb;
  is_plain boolean;
  moment timestamptz;
BEGIN
  SELECT acc.credits, acc.ledger_seq, acc.outstanding_calls,
    acc.status = 'active' AND acc.debt = 0 AND NOT acc.keys_limited AND new_amount > 0
      AND acc.outstanding_calls < most_outstanding AND acc.request_bytes + new_bytes <= most_bytes
  INTO balance_before, entries_before, open_before, is_plain
  FROM accounts acc WHERE acc.id = new_account FOR NO KEY UPDATE;
  -- Read after the wait for the account: see open_calls.
  moment := clock_timestamp();

  IF is_plain THEN
    SELECT first.grant_id, v.price INTO lot, price_content
    FROM spendable_lots(ARRAY[new_account]) first JOIN price_versions v ON v.id = new_price
    WHERE first.upto = first.remaining AND first.remaining >= new_amount
      AND EXISTS (SELECT FROM api_keys k WHERE k.id = new_key AND k.account_id = new_account AND k.revoked_at IS NULL
        -- Otherwise it has to be written that the key was used.
        AND k.last_used_at > now() - interval '1 minute'
        -- A key that was remembered has none.
        AND (k.rate_limit IS NULL OR new_secret_version <> 0))
      AND NOT EXISTS (SELECT FROM calls c WHERE c.id = new_id);
    is_plain := FOUND;
  END IF;

  IF is_plain IS NOT TRUE THEN
    RETURN QUERY SELECT general.* FROM open_calls((
      SELECT jsonb_build_array(jsonb_build_object('id', new_id, 'account_id', new_account, 'key_id', new_key,
        'modality', new_modality, 'model', new_model, 'price', p.price, 'price_version', new_price,
        'price_hash', p.hash, 'amount', new_amount, 'estimated_input', new_input, 'estimated_output', new_output,
        'lease_seconds', lease_seconds, 'deadline_seconds', deadline_seconds, 'request_id', new_request,
        'reply_to', new_reply_to, 'request_hash', new_hash, 'request_bytes', new_bytes,
        'catalogue_version', new_version, 'secret_version', new_secret_version, 'address', new_address))
      FROM jsonb_to_recordset(new_prices::jsonb) AS p (hash text, price jsonb)
    ), most_outstanding, most_bytes) general;
    RETURN;
  END IF;

  INSERT INTO calls (id, account_id, key_id, modality, model, catalogue_version, status, price, price_version,
    estimated_input_tokens, estimated_output_tokens, credits_precharged, credits, request_id, reply_to, request_hash,
    request_bytes, lease_until, deadline_at, created_at)
  VALUES (new_id, new_account, new_key, new_modality, new_model, new_version, 'queued', price_content, new_price,
    new_input, new_output, new_amount, new_amount, new_request, new_reply_to, decode(new_hash, 'hex'),
    new_bytes, now() + make_interval(secs => lease_seconds), now() + make_interval(secs => deadline_seconds), moment);
  INSERT INTO ledger_entries (account_id, seq, call_id, grant_id, kind, amount, balance_after)
  VALUES (new_account, entries_before + 1, new_id, lot, 'charge', -new_amount, balance_before - new_amount);
  UPDATE grants g SET remaining = g.remaining - new_amount, open = g.remaining > new_amount WHERE g.id = lot;
  UPDATE accounts acc SET credits = acc.credits - new_amount, outstanding_calls = acc.outstanding_calls + 1,
    request_bytes = acc.request_bytes + new_bytes, ledger_seq = acc.ledger_seq + 1
  WHERE acc.id = new_account;

  id := new_id;
  outcome := 'opened';
  balance := balance_before - new_amount;
  outstanding := open_before + 1;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION open_one_call IS
  'Charges and opens one call that has no Idempotency-Key and no guard: the outcome of open_calls.';
