-- Settles or refunds calls and keeps their results, a whole batch in one round trip. Why it is a function, held to
-- arrays of ids, with reused plans: see open_calls.sql.
--
-- What calls collect and give back is decided first, and all of it is written by one statement: the row of an account
-- is updated once for a batch, unless it has debt, gets credits back too late, or has its tokens corrected.
--
-- No settlement is above twice the pre-charge, no matter what its outcome states (docs/money.md#debt).
--
-- What a settlement cannot collect becomes debt of the account. Credits that come back to an account with debt repay it
-- before anybody sees them, and those that come back too late expire at once: the balance that is returned is what is
-- left after that.
CREATE OR REPLACE FUNCTION end_calls(outcomes jsonb, outputs text[])
RETURNS TABLE (place bigint, id uuid, account_id uuid, status text, credits bigint, uncollected bigint, balance bigint,
  latency_ms bigint, created_at timestamptz, reply_to text, model text, modality text, upstream text, precharged bigint,
  running_ms bigint, dialect text)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  reported outcome[] := ARRAY(SELECT jsonb_populate_recordset(NULL::outcome, outcomes));
  ids uuid[] := ARRAY(SELECT DISTINCT o.id FROM unnest(reported) o ORDER BY 1);
  -- Every statement has them as its bounds: see open_calls.sql.
  lowest uuid := ids[1];
  greatest_id uuid := ids[cardinality(ids)];
  account_ids uuid[] := ARRAY(SELECT DISTINCT c.account_id FROM calls c WHERE c.id = ANY (ids)
    AND c.id BETWEEN lowest AND greatest_id);
  passing constant text[] := '{service_unavailable, upstream_unavailable, upstream_rate_limited, upstream_overloaded}';
  keys_limited boolean;
  tokens_limited boolean;
  has_webhooks boolean;
  moment timestamptz;
  -- The entries of the calls are between these.
  entries_from constant uuid := first_id(accepted_at(lowest) - interval '1 day');
  soon constant uuid := first_id(clock_timestamp() + interval '1 day');
  r record;
  -- The current account, its balance, and the number of its newest ledger entry.
  holder uuid;
  funds bigint;
  seq bigint;
  -- What the current call has been charged in the end; what it has still to collect, or to give back.
  kept bigint;
  taken bigint;
  rest bigint;
  part bigint;
  nth integer;
  -- The calls that end, in the order in which they were decided, and how.
  chosen outcome[] := '{}';
  decisions decided[] := '{}';
  ended uuid[] := '{}';
  reconciled uuid[] := '{}';
  -- The grants of the current account that can pay, in burn order, and what is left of each; "payer" is the current.
  paying uuid[];
  left_of bigint[];
  payer integer;
  -- The ledger entries: what calls collect beyond their charges, and what they give back, part by part; and the grants
  -- of each.
  entries movement[] := '{}';
  touched uuid[] := '{}';
  owing uuid[];
  late uuid[];
BEGIN
  SELECT bool_or(held.keys_limited), bool_or(held.keys_limited OR held.tokens_per_minute IS NOT NULL),
    bool_or(held.has_webhooks)
  INTO keys_limited, tokens_limited, has_webhooks
  FROM (
    SELECT acc.keys_limited, acc.tokens_per_minute, acc.has_webhooks FROM accounts acc WHERE acc.id = ANY (account_ids)
    ORDER BY acc.id FOR NO KEY UPDATE
  ) held;
  -- A call that was opened since the first statement belongs to an account whose row is not held: it is not there yet.
  -- "<@", because "= ANY" could be looked up by account too: in all calls of a busy one.
  ids := ARRAY(SELECT c.id FROM calls c WHERE c.id = ANY (ids) AND ARRAY[c.account_id] <@ account_ids
    AND c.id BETWEEN lowest AND greatest_id ORDER BY c.id FOR NO KEY UPDATE);
  moment := clock_timestamp();
  -- What is left in a grant when it expires is gone, whatever comes back; from here on a balance is what can be spent.
  PERFORM expire_grants(account_ids, moment);

  FOR r IN
    SELECT x.*, acc.credits AS credits_before, acc.ledger_seq, charge.grants_of, charge.amounts
    FROM (
      -- The guard: a call that has ended is left alone, and so is one that another attempt has taken over. Of several
      -- outcomes of one call the first that may end it does.
      SELECT DISTINCT ON (o.id) o.id, o.ordinality AS place, o.status, o.reconciled, c.account_id,
        c.credits_precharged::bigint AS held, c.request_bytes,
        CASE WHEN o.status = 'succeeded' THEN least(o.cost, 2 * c.credits_precharged) ELSE 0 END AS due
      FROM unnest(reported) WITH ORDINALITY AS o
      JOIN calls c ON c.id = o.id AND c.id = ANY (ids) AND c.id BETWEEN lowest AND greatest_id
      WHERE c.status IN ('queued', 'running')
        -- A crash of Postgres may have lost the begin of the attempt that ends the call (docs/architecture.md#begin).
        AND (o.attempt IS NULL OR o.attempt >= c.attempts)
        AND (o.overdue IS NOT TRUE OR c.deadline_at < now())
      ORDER BY o.id, o.ordinality
    ) x
    JOIN accounts acc ON acc.id = x.account_id AND acc.id = ANY (account_ids)
    CROSS JOIN LATERAL (
      -- In reverse burn order: what stays charged is what a charge of the real cost would have taken.
      SELECT array_agg(e.grant_id ORDER BY e.seq DESC) AS grants_of, array_agg(-e.amount ORDER BY e.seq DESC) AS amounts
      FROM ledger_entries e WHERE e.call_id = x.id AND e.kind = 'charge' AND e.id BETWEEN entries_from AND soon
    ) charge
    -- Calls that collect have their turn before calls that give back: so no call goes uncollected where the balance
    -- could have paid for it.
    ORDER BY x.account_id, x.due > x.held DESC, x.place
  LOOP
    IF r.account_id IS DISTINCT FROM holder THEN
      holder := r.account_id;
      funds := r.credits_before;
      seq := r.ledger_seq;
      paying := NULL;
    END IF;
    taken := least(greatest(r.due - r.held, 0), funds);
    rest := greatest(r.held - r.due, 0);
    kept := r.held + taken - rest;
    ended := ended || r.id;
    chosen := chosen || reported[r.place];
    IF r.reconciled THEN reconciled := reconciled || r.id; END IF;
    -- A call collects from what can pay, in burn order, or gives back to the grants of its charge. Never both.
    IF taken > 0 AND paying IS NULL THEN
      SELECT array_agg(g.grant_id ORDER BY g.upto), array_agg(g.remaining ORDER BY g.upto) INTO paying, left_of
      FROM spendable_grants(ARRAY[holder]) g;
      payer := 1;
    END IF;
    nth := 1;
    WHILE taken > 0 OR rest > 0 LOOP
      IF taken > 0 THEN
        WHILE left_of[payer] = 0 LOOP payer := payer + 1; END LOOP;
        part := least(taken, left_of[payer]);
        left_of[payer] := left_of[payer] - part;
        taken := taken - part;
        part := -part;
      ELSE
        part := least(rest, r.amounts[nth]);
        rest := rest - part;
      END IF;
      seq := seq + 1;
      funds := funds + part;
      touched := touched || CASE WHEN part < 0 THEN paying[payer] ELSE r.grants_of[nth] END;
      entries := entries || ROW(r.account_id, seq, r.id, touched[cardinality(touched)],
        CASE r.status WHEN 'failed' THEN 'refund' ELSE 'settlement' END, part, funds)::movement;
      nth := nth + 1;
    END LOOP;
    decisions := decisions
      || ROW(r.place, r.account_id, r.request_bytes, r.held, kept, r.due - kept, funds, seq)::decided;
  END LOOP;
  IF ended = '{}' THEN RETURN; END IF;

  WITH done AS (
    UPDATE calls c SET status = o.status, credits = o.kept, credits_uncollected = o.lost, balance_after = o.balance,
      http_status = o.http_status, error_type = o.error_type, input_tokens = o.input_tokens,
      cached_input_tokens = o.cached_input_tokens, cache_write_tokens = o.cache_write_tokens,
      repeated_input_tokens = o.repeated_input_tokens, output_tokens = o.output_tokens,
      -- Nothing was sent of a call that no worker began.
      cost_micro_usd = CASE WHEN o.status = 'failed' AND greatest(c.attempts, o.attempt) = 0 THEN 0
        ELSE o.cost_micro_usd END,
      upstream = coalesce(o.upstream, c.upstream), upstream_key = coalesce(o.upstream_key, c.upstream_key),
      tries = jsonb_array_length(o.tries), session = o.session, result_url = o.result_url,
      more_result_urls = o.more_result_urls, pictures = o.pictures, size = coalesce(o.size, c.size),
      quality = coalesce(o.quality, c.quality), finished_at = moment,
      -- A call that we ourselves could not place, or for which its upstream had no room, counts as refused: its key is
      -- free for the client's next try.
      idempotency_key = CASE WHEN o.error_type = ANY (passing) THEN NULL ELSE c.idempotency_key END,
      idempotency_expires_at = CASE WHEN o.error_type = ANY (passing) THEN NULL ELSE c.idempotency_expires_at END,
      latency_ms = greatest(0, round(extract(epoch FROM moment - c.created_at) * 1000))::bigint
    FROM unnest(chosen, decisions) AS o
    WHERE c.id = o.id AND c.id = ANY (ended) AND c.id BETWEEN lowest AND greatest_id
    RETURNING c.id, o.place, c.deleted_at, o.result_seconds
  ), results AS (
    INSERT INTO call_results (call_id, output, expires_at)
    SELECT d.id, outputs[d.place], now() + make_interval(secs => d.result_seconds) FROM done d
    -- What was deleted while it was made has no result any more.
    WHERE d.deleted_at IS NULL
    -- A response in the background has its input stored when it begins.
    ON CONFLICT (call_id) DO UPDATE SET output = EXCLUDED.output, expires_at = EXCLUDED.expires_at
  ), tried AS (
    INSERT INTO call_tries (call_id, tries, expires_at)
    SELECT o.id, o.tries, now() + interval '7 days' FROM unnest(chosen) o WHERE o.tries IS NOT NULL
  ), written AS (
    INSERT INTO ledger_entries (account_id, seq, call_id, grant_id, kind, amount, balance_after)
    SELECT e.* FROM unnest(entries) e
  ), moved AS (
    -- A grant that gets credits back past its time can be spent again for a day (move_credits.sql).
    UPDATE grants g SET remaining = g.remaining + s.amount, open = g.remaining + s.amount > 0,
      revived_until = CASE WHEN s.comes_back AND g.expires_at <= moment
        THEN greatest(g.revived_until, g.expires_at + interval '24 hours') ELSE g.revived_until END
    FROM (
      SELECT e.grant_id, sum(e.amount)::bigint AS amount, max(e.amount) > 0 AS comes_back
      FROM unnest(entries) e GROUP BY e.grant_id
    ) s
    WHERE g.id = s.grant_id AND g.id = ANY (touched)
    RETURNING g.account_id, g.open AND grant_ends_at(g.expires_at, g.revived_until) <= moment AS is_late
  ), freed AS (
    UPDATE accounts acc SET credits = s.balance, held = acc.held - s.held, ledger_seq = s.newest,
      outstanding_calls = acc.outstanding_calls - s.calls,
      request_bytes = acc.request_bytes - s.bytes, debt = acc.debt + s.lost
    FROM (
      SELECT e.account_id, count(*)::integer AS calls, sum(e.request_bytes)::bigint AS bytes,
        sum(e.lost)::bigint AS lost, sum(e.held)::bigint AS held,
        (array_agg(e.balance ORDER BY e.ordinality DESC))[1] AS balance, max(e.newest) AS newest
      FROM unnest(decisions) WITH ORDINALITY AS e GROUP BY e.account_id
    ) s
    WHERE acc.id = s.account_id AND acc.id = ANY (account_ids)
    RETURNING acc.id, acc.debt
  )
  SELECT (SELECT array_agg(f.id) FROM freed f WHERE f.debt > 0),
    (SELECT array_agg(DISTINCT m.account_id) FROM moved m WHERE m.is_late)
  INTO owing, late;
  IF late IS NOT NULL THEN PERFORM expire_grants(late, moment); END IF;
  IF owing IS NOT NULL THEN PERFORM collect_debts(owing); END IF;
  IF owing IS NOT NULL OR late IS NOT NULL THEN
    UPDATE calls c SET balance_after = acc.credits FROM accounts acc
    WHERE acc.id = c.account_id AND acc.id = ANY (owing || late) AND c.id = ANY (ended)
      AND c.id BETWEEN lowest AND greatest_id;
  END IF;

  IF keys_limited THEN
    UPDATE api_keys k SET outstanding_calls = k.outstanding_calls - s.calls
    FROM (
      SELECT c.key_id, count(*)::integer AS calls FROM calls c
      WHERE c.id = ANY (ended) AND c.id BETWEEN lowest AND greatest_id GROUP BY 1
    ) s
    WHERE k.id = s.key_id AND k.max_outstanding IS NOT NULL;

    -- The windows that a call was opened in, of its key and of its member, are lowered by what came back, and raised by
    -- what was charged beyond the pre-charge, whether that could be collected or not; the call no longer holds anything
    -- of them. A call from before a budget was set is not counted.
    UPDATE budget_windows w SET used = w.used + s.change, held = w.held - s.held
    FROM (
      SELECT b.id, budget_window(b.period, c.created_at) AS starts_at,
        sum(c.credits + c.credits_uncollected - c.credits_precharged)::bigint AS change,
        sum(c.credits_precharged)::bigint AS held
      FROM calls c CROSS JOIN LATERAL budgets_of(c.account_id, c.key_id, c.user_id) b
      WHERE c.id = ANY (ended) AND c.id BETWEEN lowest AND greatest_id AND c.created_at >= b.created_at
      GROUP BY 1, 2
    ) s
    WHERE w.budget_id = s.id AND w.starts_at = s.starts_at AND s.held > 0;
  END IF;

  IF tokens_limited THEN PERFORM correct_tokens(ended); END IF;

  IF has_webhooks THEN PERFORM tell_of_calls(ended); END IF;
  IF reconciled <> '{}' THEN PERFORM tell_of_lost_calls(reconciled); END IF;

  RETURN QUERY
  SELECT e.place, c.id, c.account_id, c.status, c.credits::bigint, c.credits_uncollected::bigint,
    c.balance_after::bigint, c.latency_ms, c.created_at, c.reply_to, c.model, c.modality::text, c.upstream,
    c.credits_precharged::bigint,
    greatest(0, round(extract(epoch FROM c.finished_at - c.started_at) * 1000))::bigint, c.dialect
  FROM unnest(ended, decisions) AS e (id) JOIN calls c ON c.id = e.id AND c.id = ANY (ended)
    AND c.id BETWEEN lowest AND greatest_id;
END $$;
COMMENT ON FUNCTION end_calls IS
  'Settles or refunds calls and keeps their results; '
  'a row for each call that this very statement ended, with the place of the outcome that did, none for the others.';
