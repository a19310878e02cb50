-- Charges and opens calls as open_calls does, for the common case, which needs far less: no call has an Idempotency-Key
-- or a guard of its price, each costs something, their accounts limit no key and owe nothing, and the first lot of each
-- account pays for all of its calls. Where anything else is met, open_calls does the whole batch.
-- test/shared/calls/same-books.test.ts holds the two to the same books.
--
-- The lists are parallel, a place for each call. What only open_calls reads comes last; "new_prices" has the id, the
-- hash and the content of each price of the batch.
-- What open_calls says of locks, of snapshots and of plans is true here too.
CREATE OR REPLACE FUNCTION open_plain_calls(
  ids uuid[], accounts_of uuid[], keys_of uuid[], modalities text[], models text[], prices_of uuid[],
  amounts bigint[], estimated_inputs bigint[], estimated_outputs bigint[], catalogue_versions integer[],
  lease_seconds integer, deadline_seconds integer[], request_ids text[], replies_to text[], request_hashes text[],
  bytes_of bigint[], max_outstanding integer, max_request_bytes bigint, secret_versions integer[], addresses text[],
  new_prices jsonb
)
RETURNS TABLE (id uuid, outcome text, existing_id uuid, balance bigint, outstanding integer)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  -- Of each account, in the order of their ids: what it has, how many entries and open calls, and their bytes.
  account_ids uuid[];
  balances bigint[];
  entries bigint[];
  open_calls_of integer[];
  open_bytes bigint[];
  -- The lot that pays, and what the batch adds to each account.
  lots uuid[];
  sums bigint[];
  counts integer[];
  byte_sums bigint[];
  is_plain boolean;
  moment timestamptz;
BEGIN
  SELECT array_agg(held.id), array_agg(held.credits), array_agg(held.ledger_seq), array_agg(held.outstanding_calls),
    array_agg(held.request_bytes), bool_and(held.status = 'active' AND held.debt = 0 AND NOT held.keys_limited)
  INTO account_ids, balances, entries, open_calls_of, open_bytes, is_plain
  FROM (
    SELECT acc.* FROM accounts acc WHERE acc.id = ANY (accounts_of) ORDER BY acc.id FOR NO KEY UPDATE
  ) held;
  -- Read after the wait for the accounts: see open_calls.
  moment := clock_timestamp();

  IF is_plain THEN
    SELECT array_agg(lot.grant_id), array_agg(part.amount), array_agg(part.calls), array_agg(part.bytes),
      cardinality(account_ids) = count(*) FILTER (WHERE part.plain = part.calls AND lot.remaining >= part.amount
        AND open_calls_of[part.holder] + part.calls <= max_outstanding
        AND open_bytes[part.holder] + part.bytes <= max_request_bytes)
        AND sum(part.calls) = cardinality(ids)
        AND NOT EXISTS (SELECT FROM calls c WHERE c.id = ANY (ids))
    INTO lots, sums, counts, byte_sums, is_plain
    FROM (
      SELECT array_position(account_ids, r.account_id) AS holder, sum(r.amount)::bigint AS amount,
        count(*)::integer AS calls, sum(r.bytes)::bigint AS bytes,
        count(*) FILTER (WHERE r.amount > 0 AND accounts_of[array_position(keys_of, r.key_id)] = r.account_id
          AND r.key_id = ANY (ARRAY(
            SELECT k.id FROM api_keys k WHERE k.id = ANY (keys_of) AND k.revoked_at IS NULL
              AND k.account_id = accounts_of[array_position(keys_of, k.id)]
              -- Otherwise it has to be written that the key was used.
              AND k.last_used_at > now() - interval '1 minute'
              -- A key that was remembered has none.
              AND (k.rate_limit IS NULL OR 0 <> ALL (secret_versions))))
          AND r.price = ANY (ARRAY(SELECT v.id FROM price_versions v WHERE v.id = ANY (prices_of)))) AS plain
      FROM unnest(accounts_of, amounts, bytes_of, keys_of, prices_of) AS r (account_id, amount, bytes, key_id, price)
      GROUP BY 1 ORDER BY 1
    ) part
    JOIN spendable_lots(account_ids) lot ON lot.account_id = account_ids[part.holder] AND lot.upto = lot.remaining;
  END IF;

  IF is_plain IS NOT TRUE THEN
    RETURN QUERY SELECT * FROM open_calls((
      SELECT jsonb_agg(to_jsonb(r) - 'place' || jsonb_build_object('lease_seconds', lease_seconds, 'price', p.price,
        'price_hash', p.hash) ORDER BY r.place)
      FROM unnest(ids, accounts_of, keys_of, modalities, models, prices_of, amounts, estimated_inputs,
        estimated_outputs, catalogue_versions, deadline_seconds, request_ids, replies_to, request_hashes, bytes_of,
        secret_versions, addresses) WITH ORDINALITY AS r (id, account_id, key_id, modality, model, price_version,
        amount, estimated_input, estimated_output, catalogue_version, deadline_seconds, request_id, reply_to,
        request_hash, request_bytes, secret_version, address, place)
      LEFT JOIN jsonb_to_recordset(new_prices) AS p (id uuid, hash text, price jsonb) ON p.id = r.price_version
    ), max_outstanding, max_request_bytes);
    RETURN;
  END IF;

  RETURN QUERY
  WITH part AS MATERIALIZED (
    SELECT r.*, row_number() OVER in_order AS nth, (balances[r.holder] - sum(r.amount) OVER in_order)::bigint AS balance
    FROM (
      SELECT u.*, array_position(account_ids, u.account_id) AS holder
      FROM unnest(ids, accounts_of, amounts) WITH ORDINALITY AS u (id, account_id, amount, place)
    ) r
    WINDOW in_order AS (PARTITION BY r.holder ORDER BY r.place)
  ), new_call AS (
    INSERT INTO calls (id, account_id, key_id, modality, model, catalogue_version, status, price, price_version,
      estimated_input_tokens, estimated_output_tokens, credits_precharged, credits, request_id, reply_to, request_hash,
      request_bytes, lease_until, deadline_at, created_at)
    SELECT r.id, r.account_id, r.key_id, r.modality, r.model, r.catalogue_version, 'queued', v.price, v.id,
      r.input, r.output, r.amount, r.amount, r.request_id, r.reply_to, decode(r.request_hash, 'hex'),
      r.bytes, now() + make_interval(secs => lease_seconds), now() + make_interval(secs => r.seconds), moment
    FROM unnest(ids, accounts_of, keys_of, modalities, models, catalogue_versions, prices_of, estimated_inputs,
      estimated_outputs, amounts, request_ids, replies_to, request_hashes, bytes_of, deadline_seconds) AS r (
      id, account_id, key_id, modality, model, catalogue_version, price, input, output, amount, request_id, reply_to,
      request_hash, bytes, seconds)
    JOIN price_versions v ON v.id = r.price AND v.id = ANY (prices_of)
  ), new_entry AS (
    INSERT INTO ledger_entries (account_id, seq, call_id, grant_id, kind, amount, balance_after)
    SELECT p.account_id, entries[p.holder] + p.nth, p.id, lots[p.holder], 'charge', -p.amount, p.balance FROM part p
  ), burnt AS (
    UPDATE grants g SET remaining = g.remaining - s.amount, open = g.remaining > s.amount
    FROM unnest(lots, sums) AS s (grant_id, amount) WHERE g.id = s.grant_id AND g.id = ANY (lots)
  ), account AS (
    UPDATE accounts acc SET credits = acc.credits - s.amount, outstanding_calls = acc.outstanding_calls + s.calls,
      request_bytes = acc.request_bytes + s.bytes, ledger_seq = acc.ledger_seq + s.calls
    FROM unnest(account_ids, sums, counts, byte_sums) AS s (account_id, amount, calls, bytes)
    WHERE acc.id = s.account_id AND acc.id = ANY (account_ids)
  )
  SELECT p.id, 'opened', NULL::uuid, p.balance, (open_calls_of[p.holder] + p.nth)::integer FROM part p;
END $$;
COMMENT ON FUNCTION open_plain_calls IS
  'Charges and opens calls that have no Idempotency-Key and no guard: the outcomes of open_calls.';
