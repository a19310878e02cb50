-- Settles or refunds calls and keeps their results, a whole batch in one round trip. Why it is a function, held to
-- arrays of ids, with kept plans: see open_calls.sql.
--
-- "ran_ms" is of a call whose begin was not written, "price_version" the price that its worker took it to have
-- (docs/architecture.md#begin).
--
-- What a settlement cannot collect becomes debt of the account. Credits that come back to an account with debt repay it
-- before anybody sees them: the balance that is answered is what is left after that. Few accounts ever owe anything, so
-- that this is a statement of its own (collect_debts), for them alone.
CREATE OR REPLACE FUNCTION end_calls(outcomes jsonb, outputs text[])
RETURNS TABLE (id uuid, account_id uuid, status text, credits bigint, uncollected bigint, balance bigint,
  latency_ms bigint, created_at timestamptz, reply_to text, model text, modality text, upstream text, precharged bigint,
  running_ms bigint)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  owes boolean;
  ids uuid[] := ARRAY(SELECT DISTINCT (o ->> 'id')::uuid FROM jsonb_array_elements(outcomes) o);
  account_ids uuid[] := ARRAY(SELECT DISTINCT c.account_id FROM calls c WHERE c.id = ANY (ids));
  keys_limited boolean;
  ended uuid[] := '{}';
BEGIN
  keys_limited := (SELECT bool_or(held.keys_limited) FROM (
    SELECT acc.keys_limited FROM accounts acc WHERE acc.id = ANY (account_ids) ORDER BY acc.id FOR NO KEY UPDATE
  ) held);
  -- A call that was opened since the first statement belongs to an account whose row is not held: it is not there yet.
  -- "<@", because "= ANY" could be looked up by account too: in all calls of a busy one.
  ids := ARRAY(SELECT c.id FROM calls c WHERE c.id = ANY (ids) AND ARRAY[c.account_id] <@ account_ids
    ORDER BY c.id FOR NO KEY UPDATE);

  FOR id, account_id, status, credits, uncollected, balance, latency_ms, created_at, reply_to, model, modality,
    upstream, precharged,
    running_ms, owes IN
  WITH outcome AS MATERIALIZED (
    SELECT o.*, row_number() OVER (PARTITION BY o.id ORDER BY o.place) AS nth
    FROM ROWS FROM (jsonb_to_recordset(outcomes) AS (
      id uuid, status text, cost bigint, attempt integer, from_status text, overdue boolean, http_status integer,
      error_type text, input_tokens bigint, cached_input_tokens bigint, cache_write_tokens bigint,
      repeated_input_tokens bigint, output_tokens bigint, cost_micro_usd bigint, upstream text, result_url text,
      result_seconds integer, ran_ms bigint, price_version uuid
    )) WITH ORDINALITY AS o (
      id, status, cost, attempt, from_status, overdue, http_status, error_type, input_tokens,
      cached_input_tokens, cache_write_tokens, repeated_input_tokens, output_tokens, cost_micro_usd, upstream,
      result_url, result_seconds, ran_ms, price_version, place)
  ), ending AS MATERIALIZED (
    -- The guard: a call that has ended is left alone, and so is one that another attempt has taken over.
    -- Within an account, calls that collect have their turn before calls that give back: so no call goes
    -- uncollected beside a balance that could have paid for it.
    SELECT o.*, c.account_id, c.credits_precharged AS held, c.request_bytes, owed.due,
      row_number() OVER (PARTITION BY c.account_id ORDER BY owed.due > c.credits_precharged DESC, o.place) AS turn
    FROM outcome o JOIN calls c ON c.id = o.id AND c.id = ANY (ids)
    CROSS JOIN LATERAL (SELECT CASE WHEN o.status = 'succeeded' THEN o.cost ELSE 0 END AS due) owed
    WHERE o.nth = 1 AND c.status IN ('queued', 'running')
      AND (o.attempt IS NULL OR o.attempt = c.attempts)
      AND (o.from_status IS NULL OR o.from_status = c.status)
      AND (o.overdue IS NOT TRUE OR c.deadline_at < now())
      AND (o.price_version IS NULL OR o.price_version = c.price_version)
  ), charged AS (
    -- Given back in reverse burn order: what stays charged is what a charge of the real cost would have taken.
    SELECT e.call_id, e.grant_id, -e.amount AS amount, sum(-e.amount) OVER (PARTITION BY e.call_id
      ORDER BY e.seq DESC) AS upto
    FROM ledger_entries e WHERE e.call_id = ANY (ids) AND e.kind = 'charge'
  ), given_back AS (
    SELECT x.id AS call_id, x.account_id, x.turn, x.status, charged.grant_id, charged.upto AS position,
      (least(charged.upto, x.held - x.due) - (charged.upto - charged.amount))::bigint AS amount
    FROM ending x JOIN charged ON charged.call_id = x.id AND charged.upto - charged.amount < x.held - x.due
  ), wanting AS (
    SELECT x.*, x.due - x.held AS amount, sum(x.due - x.held) OVER (PARTITION BY x.account_id ORDER BY x.turn) AS upto
    FROM ending x WHERE x.due > x.held
  ), collected AS (
    SELECT w.id AS call_id, w.account_id, w.turn, w.status, lot.grant_id, lot.upto AS position,
      -(least(w.upto, lot.upto) - greatest(w.upto - w.amount, lot.upto - lot.remaining))::bigint AS amount
    FROM wanting w
    JOIN spendable_lots(ARRAY(SELECT DISTINCT wanting.account_id FROM wanting)) lot
      ON lot.account_id = w.account_id AND lot.upto > w.upto - w.amount AND lot.upto - lot.remaining < w.upto
  ), movement AS MATERIALIZED (
    SELECT m.*, row_number() OVER movement_order AS nth, sum(m.amount) OVER movement_order AS upto
    FROM (SELECT * FROM given_back UNION ALL SELECT * FROM collected) m
    WINDOW movement_order AS (PARTITION BY m.account_id ORDER BY m.turn, m.position, m.grant_id)
  ), ended AS MATERIALIZED (
    SELECT x.*, acc.credits + coalesce((SELECT sum(m.amount) FROM movement m WHERE m.account_id = x.account_id
      AND m.turn <= x.turn), 0) AS balance,
      x.held - coalesce((SELECT sum(m.amount) FROM movement m WHERE m.call_id = x.id), 0) AS kept
    FROM ending x JOIN accounts acc ON acc.id = x.account_id AND acc.id = ANY (account_ids)
  ), closed AS (
    UPDATE calls c SET status = e.status, credits = e.kept, credits_uncollected = greatest(e.due - e.kept, 0),
      balance_after = e.balance, http_status = e.http_status, error_type = e.error_type,
      input_tokens = e.input_tokens, cached_input_tokens = e.cached_input_tokens,
      cache_write_tokens = e.cache_write_tokens, repeated_input_tokens = e.repeated_input_tokens,
      output_tokens = e.output_tokens,
      -- Nothing was sent of a call that no worker began.
      cost_micro_usd = CASE WHEN c.attempts = 0 AND e.ran_ms IS NULL THEN 0 ELSE e.cost_micro_usd END,
      attempts = greatest(c.attempts, (e.ran_ms IS NOT NULL)::integer),
      started_at = coalesce(c.started_at, clock_timestamp() - e.ran_ms * interval '1 millisecond'),
      upstream = coalesce(e.upstream, c.upstream),
      result_url = e.result_url, finished_at = clock_timestamp(),
      -- A call that we ourselves could not place counts as refused: its key is free for the client's next try.
      idempotency_key = CASE WHEN e.error_type = 'service_unavailable' THEN NULL ELSE c.idempotency_key END,
      idempotency_expires_at = CASE WHEN e.error_type = 'service_unavailable' THEN NULL
        ELSE c.idempotency_expires_at END,
      latency_ms = greatest(0, round(extract(epoch FROM clock_timestamp() - c.created_at) * 1000))::bigint
    FROM ended e WHERE c.id = e.id AND c.id = ANY (ids)
    RETURNING c.id, c.account_id, c.status, c.credits, c.credits_uncollected, c.balance_after, c.latency_ms,
      c.created_at, c.reply_to,
      c.model, c.modality, c.upstream, c.credits_precharged,
      greatest(0, round(extract(epoch FROM c.finished_at - c.started_at) * 1000))::bigint
  ), new_result AS (
    INSERT INTO call_results (call_id, output, expires_at)
    SELECT e.id, outputs[e.place], now() + make_interval(secs => e.result_seconds) FROM ended e
  ), new_entry AS (
    INSERT INTO ledger_entries (account_id, seq, call_id, grant_id, kind, amount, balance_after)
    SELECT m.account_id, acc.ledger_seq + m.nth, m.call_id, m.grant_id,
      CASE m.status WHEN 'failed' THEN 'refund' ELSE 'settlement' END, m.amount, acc.credits + m.upto
    FROM movement m JOIN accounts acc ON acc.id = m.account_id AND acc.id = ANY (account_ids)
  ), moved AS (
    -- Credits that come back to a lot past its time can be spent for a day more (docs/guarantees.md).
    UPDATE grants g SET remaining = g.remaining + s.amount, open = g.remaining + s.amount > 0,
      expires_at = CASE WHEN s.amount > 0 AND g.expires_at <= now() THEN now() + interval '24 hours'
        ELSE g.expires_at END
    FROM (SELECT m.grant_id, sum(m.amount)::bigint AS amount FROM movement m GROUP BY m.grant_id) s
    WHERE g.id = s.grant_id AND g.account_id = ANY (account_ids)
  ), account AS (
    UPDATE accounts acc SET outstanding_calls = acc.outstanding_calls - s.calls,
      request_bytes = acc.request_bytes - s.bytes,
      debt = acc.debt + s.uncollected,
      credits = acc.credits + coalesce((SELECT sum(m.amount) FROM movement m WHERE m.account_id = acc.id), 0)::bigint,
      ledger_seq = acc.ledger_seq + (SELECT count(*) FROM movement m WHERE m.account_id = acc.id)
    FROM (
      SELECT e.account_id, count(*)::integer AS calls, sum(e.request_bytes)::bigint AS bytes,
        sum(greatest(e.due - e.kept, 0))::bigint AS uncollected
      FROM ended e GROUP BY e.account_id
    ) s
    WHERE acc.id = s.account_id AND acc.id = ANY (account_ids)
    RETURNING acc.id, acc.debt
  )
  SELECT c.*, account.debt > 0 FROM closed c JOIN account ON account.id = c.account_id
  LOOP
    IF owes THEN
      balance := (SELECT d.balance FROM collect_debts(ARRAY[account_id]) d);
      UPDATE calls c SET balance_after = end_calls.balance WHERE c.id = end_calls.id;
    END IF;
    IF keys_limited THEN ended := ended || id; END IF;
    RETURN NEXT;
  END LOOP;

  IF keys_limited THEN
    UPDATE api_keys k SET outstanding_calls = k.outstanding_calls - s.calls
    FROM (SELECT c.key_id, count(*)::integer AS calls FROM calls c WHERE c.id = ANY (ended) GROUP BY 1) s
    WHERE k.id = s.key_id AND k.max_outstanding IS NOT NULL;

    -- The window that a call was opened in is lowered by what came back, and raised by what was charged beyond the
    -- pre-charge, whether that could be collected or not. A window that nobody counts has no row.
    UPDATE budget_windows w SET used = w.used + s.change
    FROM (
      SELECT b.id, budget_window(b.period, c.created_at) AS starts_at,
        sum(c.credits + c.credits_uncollected - c.credits_precharged)::bigint AS change
      FROM calls c JOIN budgets b ON b.key_id = c.key_id
      WHERE c.id = ANY (ended)
      GROUP BY 1, 2
    ) s
    WHERE w.budget_id = s.id AND w.starts_at = s.starts_at AND s.change <> 0;
  END IF;
END $$;
COMMENT ON FUNCTION end_calls IS
  'Settles or refunds calls and keeps their results; '
  'a row for each call that this very statement ended, none for the others.';
