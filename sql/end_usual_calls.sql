-- Ends calls as end_calls does, for the common case, which needs far less: every call may be ended, was charged to one
-- lot, and costs no more than that charge, and no account owes anything or limits a key. Where anything else is met,
-- end_calls does the whole batch. test/shared/calls/same-books.test.ts holds the two to the same books.
--
-- The lists are parallel, a place for each call. "ran_ms_of" says how long a worker has worked on a call whose begin it
-- did not write, and "price_versions_of" the price that it took its call to have (docs/architecture.md#begin).
-- What open_calls says of locks, of snapshots and of plans is true here too.
CREATE OR REPLACE FUNCTION end_usual_calls(
  outputs text[], ids uuid[], statuses text[], costs bigint[], attempts_of integer[],
  from_statuses text[], overdues boolean[], http_statuses integer[], error_types text[], inputs bigint[],
  cached_inputs bigint[], cache_writes bigint[], repeated_inputs bigint[], output_counts bigint[],
  costs_micro_usd bigint[], upstreams text[], result_urls text[], result_seconds integer,
  ran_ms_of bigint[], price_versions_of uuid[]
)
RETURNS TABLE (id uuid, account_id uuid, status text, credits bigint, uncollected bigint, balance bigint,
  latency_ms bigint, created_at timestamptz, reply_to text, model text, modality text, upstream text, precharged bigint,
  running_ms bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  -- Of each account, in the order of their ids.
  account_ids uuid[];
  balances bigint[];
  entries_before bigint[];
  is_plain boolean;
  -- Of each call, by place: the account's place, what comes back and to which lot, and what the account then has.
  holders integer[];
  backs bigint[];
  lots uuid[];
  byte_sums bigint[];
  balances_after bigint[];
  seqs bigint[];
BEGIN
  SELECT array_agg(held.id), array_agg(held.credits), array_agg(held.ledger_seq),
    bool_and(held.debt = 0 AND NOT held.keys_limited)
  INTO account_ids, balances, entries_before, is_plain
  FROM (
    SELECT acc.id, acc.credits, acc.ledger_seq, acc.debt, acc.keys_limited
    FROM accounts acc WHERE acc.id = ANY (ARRAY(SELECT c.account_id FROM calls c WHERE c.id = ANY (ids)))
    ORDER BY acc.id FOR NO KEY UPDATE
  ) held;

  IF is_plain THEN
    SELECT count(*) = cardinality(ids) AND count(*) FILTER (WHERE f.is_plain) = cardinality(ids), array_agg(f.holder),
      array_agg(f.back), array_agg(f.grant_id), array_agg(f.bytes), array_agg(f.balance), array_agg(f.seq)
    INTO is_plain, holders, backs, lots, byte_sums, balances_after, seqs
    FROM (
      SELECT e.*, balances[e.holder] + sum(e.back) OVER in_order AS balance,
        entries_before[e.holder] + count(*) FILTER (WHERE e.back > 0) OVER in_order AS seq
      FROM (
        SELECT u.place, array_position(account_ids, c.account_id) AS holder, charge.grant_id, c.request_bytes AS bytes,
          c.credits_precharged - CASE WHEN u.status = 'succeeded' THEN u.cost ELSE 0 END AS back,
          -- Not the same call twice.
          array_position(ids, u.id) = u.place AND c.status IN ('queued', 'running')
            AND (u.attempt IS NULL OR u.attempt = c.attempts)
            AND (u.from_status IS NULL OR u.from_status = c.status)
            AND (u.overdue IS NOT TRUE OR c.deadline_at < now())
            AND (u.price_version IS NULL OR u.price_version = c.price_version)
            AND coalesce(-charge.amount, 0) = c.credits_precharged
            AND array_position(account_ids, c.account_id) IS NOT NULL
            AND CASE WHEN u.status = 'succeeded' THEN u.cost ELSE 0 END <= c.credits_precharged AS is_plain
        FROM unnest(ids, statuses, costs, attempts_of, from_statuses, overdues, price_versions_of) WITH ORDINALITY
          AS u (id, status, cost, attempt, from_status, overdue, price_version, place)
        JOIN calls c ON c.id = u.id AND c.id = ANY (ids)
        LEFT JOIN ledger_entries charge ON charge.call_id = u.id AND charge.kind = 'charge'
          AND charge.call_id = ANY (ids)
        ORDER BY c.id FOR NO KEY UPDATE OF c
      ) e
      WINDOW in_order AS (PARTITION BY e.holder ORDER BY e.place)
      ORDER BY e.place
    ) f;
  END IF;

  IF is_plain IS NOT TRUE THEN
    RETURN QUERY SELECT * FROM end_calls((
      SELECT jsonb_agg(to_jsonb(o) - 'place' || jsonb_build_object('result_seconds', result_seconds) ORDER BY o.place)
      FROM unnest(ids, statuses, costs, attempts_of, from_statuses, overdues, http_statuses, error_types, inputs,
        cached_inputs, cache_writes, repeated_inputs, output_counts, costs_micro_usd, upstreams, result_urls,
        ran_ms_of, price_versions_of) WITH ORDINALITY AS o (id, status, cost, attempt, from_status, overdue,
        http_status, error_type, input_tokens, cached_input_tokens, cache_write_tokens, repeated_input_tokens,
        output_tokens, cost_micro_usd, upstream, result_url, ran_ms, price_version, place)
    ), outputs);
    RETURN;
  END IF;

  RETURN QUERY
  WITH ended AS (
    UPDATE calls c SET status = u.status, credits = c.credits_precharged - u.back,
      balance_after = u.balance, http_status = u.http_status, error_type = u.error_type,
      input_tokens = u.input, cached_input_tokens = u.cached, cache_write_tokens = u.written,
      repeated_input_tokens = u.repeated, output_tokens = u.output,
      -- Nothing was sent of a call that no worker began.
      cost_micro_usd = CASE WHEN c.attempts = 0 AND u.ran_ms IS NULL THEN 0 ELSE u.micro_usd END,
      attempts = greatest(c.attempts, (u.ran_ms IS NOT NULL)::integer),
      started_at = coalesce(c.started_at, clock_timestamp() - u.ran_ms * interval '1 millisecond'),
      upstream = coalesce(u.upstream, c.upstream), result_url = u.result_url, finished_at = clock_timestamp(),
      -- A call that we ourselves could not place counts as refused: its key is free for the client's next try.
      idempotency_key = CASE WHEN u.error_type = 'service_unavailable' THEN NULL ELSE c.idempotency_key END,
      idempotency_expires_at = CASE WHEN u.error_type = 'service_unavailable' THEN NULL
        ELSE c.idempotency_expires_at END,
      latency_ms = greatest(0, round(extract(epoch FROM clock_timestamp() - c.created_at) * 1000))::bigint
    FROM unnest(ids, statuses, http_statuses, error_types, inputs, cached_inputs, cache_writes, repeated_inputs,
      output_counts, costs_micro_usd, upstreams, result_urls, backs, balances_after, ran_ms_of) AS u (
      id, status, http_status, error_type, input, cached, written, repeated, output, micro_usd, upstream, result_url,
      back, balance, ran_ms)
    WHERE c.id = u.id AND c.id = ANY (ids)
    RETURNING c.id, c.account_id, c.status, c.credits, c.credits_uncollected, c.balance_after, c.latency_ms,
      c.created_at, c.reply_to, c.model, c.modality, c.upstream, c.credits_precharged,
      greatest(0, round(extract(epoch FROM c.finished_at - c.started_at) * 1000))::bigint
  ), new_result AS (
    INSERT INTO call_results (call_id, output, expires_at)
    SELECT u.id, u.output, now() + make_interval(secs => result_seconds) FROM unnest(ids, outputs) AS u (id, output)
  ), new_entry AS (
    INSERT INTO ledger_entries (account_id, seq, call_id, grant_id, kind, amount, balance_after)
    SELECT account_ids[u.holder], u.seq, u.id, u.lot, CASE u.status WHEN 'failed' THEN 'refund' ELSE 'settlement' END,
      u.back, u.balance
    FROM unnest(ids, statuses, holders, seqs, lots, backs, balances_after) AS u (
      id, status, holder, seq, lot, back, balance)
    WHERE u.back > 0
  ), moved AS (
    -- Credits that come back to a lot past its time can be spent for a day more (docs/guarantees.md).
    UPDATE grants g SET remaining = g.remaining + s.amount, open = g.remaining + s.amount > 0,
      expires_at = CASE WHEN s.amount > 0 AND g.expires_at <= now() THEN now() + interval '24 hours'
        ELSE g.expires_at END
    FROM (
      SELECT u.lot, sum(u.back)::bigint AS amount FROM unnest(lots, backs) AS u (lot, back) WHERE u.back > 0 GROUP BY 1
    ) s
    WHERE g.id = s.lot AND g.id = ANY (lots)
  ), account AS (
    UPDATE accounts acc SET outstanding_calls = acc.outstanding_calls - s.calls,
      request_bytes = acc.request_bytes - s.bytes, credits = acc.credits + s.amount,
      ledger_seq = acc.ledger_seq + s.entries
    FROM (
      SELECT account_ids[u.holder] AS account_id, count(*)::integer AS calls, sum(u.bytes)::bigint AS bytes,
        sum(u.back)::bigint AS amount, count(*) FILTER (WHERE u.back > 0) AS entries
      FROM unnest(holders, byte_sums, backs) AS u (holder, bytes, back) GROUP BY u.holder
    ) s
    WHERE acc.id = s.account_id AND acc.id = ANY (account_ids)
  )
  SELECT * FROM ended;
END $$;
COMMENT ON FUNCTION end_usual_calls IS
  'Settles or refunds calls as end_calls does: a row for each call that this very statement ended.';
