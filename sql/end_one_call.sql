-- Settles or refunds a call that is alone in its batch, as end_usual_calls does with many: a plan over lists costs a
-- quarter more than these few statements. The same is asked of it, and where anything else is met, end_calls does it.
-- test/shared/calls/same-books.test.ts holds the three to the same books.
--
-- "ran_ms" and "taken_price": see end_usual_calls. What open_calls says of locks, of snapshots and of plans is true
-- here too.
CREATE OR REPLACE FUNCTION end_one_call(
  end_output text, end_id uuid, end_status text, end_cost bigint, of_attempt integer, from_status text,
  only_overdue boolean, end_http_status integer, end_error_type text, end_input bigint, end_cached bigint,
  end_written bigint, end_repeated bigint, end_tokens bigint, end_micro_usd bigint, end_upstream text,
  end_result_url text, result_seconds integer, ran_ms bigint, taken_price uuid
)
RETURNS TABLE (id uuid, account_id uuid, status text, credits bigint, uncollected bigint, balance bigint,
  latency_ms bigint, created_at timestamptz, reply_to text, model text, modality text, upstream text, precharged bigint,
  running_ms bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  holder uuid;
  balance_before bigint;
  entries_before bigint;
  is_plain boolean;
  -- What comes back, to which lot, and how many bytes its request had.
  back bigint;
  lot uuid;
  bytes bigint;
BEGIN
  SELECT acc.id, acc.credits, acc.ledger_seq, acc.debt = 0 AND NOT acc.keys_limited
  INTO holder, balance_before, entries_before, is_plain
  FROM accounts acc WHERE acc.id = (SELECT c.account_id FROM calls c WHERE c.id = end_id) FOR NO KEY UPDATE;

  IF is_plain THEN
    SELECT c.credits_precharged - CASE WHEN end_status = 'succeeded' THEN end_cost ELSE 0 END, charge.grant_id,
      c.request_bytes,
      c.status IN ('queued', 'running')
        AND (of_attempt IS NULL OR of_attempt = c.attempts)
        AND (from_status IS NULL OR from_status = c.status)
        AND (only_overdue IS NOT TRUE OR c.deadline_at < now())
        AND (taken_price IS NULL OR taken_price = c.price_version)
        -- One lot paid for all of it.
        AND coalesce(-charge.amount, 0) = c.credits_precharged
        AND CASE WHEN end_status = 'succeeded' THEN end_cost ELSE 0 END <= c.credits_precharged
    INTO back, lot, bytes, is_plain
    FROM calls c LEFT JOIN ledger_entries charge ON charge.call_id = c.id AND charge.kind = 'charge'
    WHERE c.id = end_id FOR NO KEY UPDATE OF c;
  END IF;

  IF is_plain IS NOT TRUE THEN
    RETURN QUERY SELECT general.* FROM end_calls(jsonb_build_array(jsonb_build_object('id', end_id,
      'status', end_status, 'cost', end_cost, 'attempt', of_attempt, 'from_status', from_status,
      'overdue', only_overdue, 'http_status', end_http_status, 'error_type', end_error_type, 'input_tokens', end_input,
      'cached_input_tokens', end_cached, 'cache_write_tokens', end_written, 'repeated_input_tokens', end_repeated,
      'output_tokens', end_tokens, 'cost_micro_usd', end_micro_usd, 'upstream', end_upstream,
      'result_url', end_result_url, 'ran_ms', ran_ms, 'price_version', taken_price,
      'result_seconds', result_seconds)), ARRAY[end_output]) general;
    RETURN;
  END IF;

  UPDATE calls c SET status = end_status, credits = c.credits_precharged - back, balance_after = balance_before + back,
    http_status = end_http_status, error_type = end_error_type, input_tokens = end_input,
    cached_input_tokens = end_cached, cache_write_tokens = end_written, repeated_input_tokens = end_repeated,
    output_tokens = end_tokens,
    -- Nothing was sent of a call that no worker began.
    cost_micro_usd = CASE WHEN c.attempts = 0 AND ran_ms IS NULL THEN 0 ELSE end_micro_usd END,
    attempts = greatest(c.attempts, (ran_ms IS NOT NULL)::integer),
    started_at = coalesce(c.started_at, clock_timestamp() - ran_ms * interval '1 millisecond'),
    upstream = coalesce(end_upstream, c.upstream), result_url = end_result_url, finished_at = clock_timestamp(),
    -- A call that we ourselves could not place counts as refused: its key is free for the client's next try.
    idempotency_key = CASE WHEN end_error_type = 'service_unavailable' THEN NULL ELSE c.idempotency_key END,
    idempotency_expires_at = CASE WHEN end_error_type = 'service_unavailable' THEN NULL
      ELSE c.idempotency_expires_at END,
    latency_ms = greatest(0, round(extract(epoch FROM clock_timestamp() - c.created_at) * 1000))::bigint
  WHERE c.id = end_id
  RETURNING c.id, c.account_id, c.status, c.credits, c.credits_uncollected, c.balance_after, c.latency_ms,
    c.created_at, c.reply_to, c.model, c.modality, c.upstream, c.credits_precharged,
    greatest(0, round(extract(epoch FROM c.finished_at - c.started_at) * 1000))::bigint
  INTO id, account_id, status, credits, uncollected, balance, latency_ms, created_at, reply_to, model, modality,
    upstream, precharged, running_ms;
  INSERT INTO call_results (call_id, output, expires_at)
  VALUES (end_id, end_output, now() + make_interval(secs => result_seconds));
  IF back > 0 THEN
    INSERT INTO ledger_entries (account_id, seq, call_id, grant_id, kind, amount, balance_after)
    VALUES (holder, entries_before + 1, end_id, lot, CASE end_status WHEN 'failed' THEN 'refund' ELSE 'settlement' END,
      back, balance_before + back);
    -- Credits that come back to a lot past its time can be spent for a day more (docs/guarantees.md).
    UPDATE grants g SET remaining = g.remaining + back, open = true,
      expires_at = CASE WHEN g.expires_at <= now() THEN now() + interval '24 hours' ELSE g.expires_at END
    WHERE g.id = lot;
  END IF;
  UPDATE accounts acc SET outstanding_calls = acc.outstanding_calls - 1, request_bytes = acc.request_bytes - bytes,
    credits = acc.credits + back, ledger_seq = acc.ledger_seq + (back > 0)::integer
  WHERE acc.id = holder;
  RETURN NEXT;
END $$;
COMMENT ON FUNCTION end_one_call IS
  'Settles or refunds one call as end_calls does: a row if this very statement ended it.';
