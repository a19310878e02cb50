-- Charges and opens calls, a whole batch in one round trip. open_calls and end_calls are the only statements that move
-- credits for calls; src/shared/calls/statements.ts is their only caller, and the rules are those of
-- src/shared/terms/lifecycle.ts. The calls of an account are decided one after the other, in the order of the batch:
-- each finds what those before it have left, and the refusal of one does not affect another.
--
-- What there is to spend is read once, each call takes its credits from that, and all of it is written by one statement
-- at the end: the row of an account is updated once for a batch.
--
-- Why a function: under READ COMMITTED a statement reads with the snapshot of its beginning. A statement that waits for
-- an account's row and then reads its grants sees the grants as they were before the wait. Inside a function every
-- statement has a snapshot of its own: lock first, read in the following statement, and everything read is current,
-- because every change of an account's grants, ledger or outstanding calls holds that account's row.
--
-- Why every table is also held to an array of the batch's own ids: Postgres plans these statements once, perhaps while
-- the tables are almost empty, and would then read all of one for a join (measured: 3,600 pages a statement after
-- 15,000 calls, instead of 60). An array is only ever searched by an index, in any plan.
--
-- Why ids are also between two others: calls and ledger entries are partitioned by month, and such a plan finds the
-- months that it needs by a range, never by an array (docs/scaling.md#months).
--
-- Why plan_cache_mode: left to itself Postgres plans these statements anew each time, since it takes an array to be
-- longer than it is and a plan for any array to be expensive; the planning then costs more than the run, while the
-- accounts' rows are locked (measured in docs/performance.md). They have only one good plan, and so have those of the
-- functions that are called here.
--
-- Lock order everywhere: accounts by id, then calls by id.
CREATE OR REPLACE FUNCTION open_calls(requests jsonb, max_outstanding integer, max_request_bytes bigint)
RETURNS TABLE (id uuid, outcome text, existing_id uuid, balance bigint, outstanding integer, account_tokens jsonb,
  key_tokens jsonb)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  asked opening[] := ARRAY(SELECT jsonb_populate_recordset(NULL::opening, requests));
  account_ids uuid[];
  ids uuid[];
  keys uuid[];
  prices uuid[];
  idempotency_keys text[];
  keys_limited boolean;
  tokens_limited boolean;
  -- When the calls are opened: read after the wait for the accounts, so that an account's calls, and the windows of
  -- budgets that they belong to, are in the order of their charges.
  moment timestamptz;
  -- The lowest and the greatest of the ids. Calls that are remembered by a key, and those of the last minutes, are
  -- from one of these on; whole months, because a key is unique in each. Clocks may differ by less than a day.
  lowest uuid;
  greatest_id uuid;
  remembered uuid;
  lately uuid;
  soon uuid;
  r record;
  -- The current account: "balance" and "outstanding", what its open calls hold, and the bytes of their requests.
  holder uuid;
  held bigint;
  held_bytes bigint;
  -- Calls that there are, by their ids, and by account, member and Idempotency-Key: before the batch, and by it.
  known uuid[];
  names text[] := '{}';
  named uuid[] := '{}';
  -- By place in "keys": how many calls the batch has opened with the key, and its budget and that of its member, by
  -- their places in "budget_ids". By those: their credits, what was used of them before the batch, and is now, and the
  -- part of it that calls hold no longer, because they have ended.
  key_place integer;
  calls_of integer[];
  budgets_of_keys integer[];
  budgets_of_members integer[];
  budget_ids uuid[] := '{}';
  most_of bigint[];
  used_before bigint[];
  used_of bigint[];
  spent_of bigint[];
  of_key integer;
  of_member integer;
  -- What has to be free for a call: what it is charged, and what it must leave for other calls.
  needed bigint;
  -- The tokens of a call, those that the batch has reserved for the current account, and those with each key.
  tokens bigint;
  tokens_taken bigint;
  tokens_of bigint[];
  -- The calls that are opened, in the order in which they were decided, the members whose calls they are, and the
  -- newest ledger entry of their accounts after each.
  opened opening[] := '{}';
  members uuid[] := '{}';
  newest bigint[] := '{}';
  new_prices uuid[] := '{}';
  used_keys uuid[] := '{}';
  -- The grants that can pay, by account and in burn order, and what is left of each; "nth" is the current one.
  payers uuid[];
  paying uuid[];
  left_of bigint[];
  nth integer := 1;
  rest bigint;
  part bigint;
  -- The ledger entries, and the number of the newest one of the current account.
  seq bigint;
  entries movement[] := '{}';
BEGIN
  SELECT array_agg(DISTINCT one.account_id), array_agg(one.id ORDER BY one.id), array_agg(DISTINCT one.key_id),
    array_agg(DISTINCT one.price_version),
    array_agg(one.idempotency_key) FILTER (WHERE one.idempotency_key IS NOT NULL),
    first_id(date_trunc('month', now() - make_interval(secs => max(one.idempotency_seconds), days => 1), 'UTC'))
  INTO account_ids, ids, keys, prices, idempotency_keys, remembered
  FROM unnest(asked) one;
  lowest := ids[1];
  greatest_id := ids[cardinality(ids)];
  SELECT bool_or(held.keys_limited), bool_or(held.keys_limited OR held.tokens_per_minute IS NOT NULL)
  INTO keys_limited, tokens_limited
  FROM (
    SELECT acc.keys_limited, acc.tokens_per_minute FROM accounts acc WHERE acc.id = ANY (account_ids)
    ORDER BY acc.id FOR NO KEY UPDATE
  ) held;
  moment := clock_timestamp();
  lately := first_id(moment - interval '1 day');
  soon := first_id(moment + interval '1 day');
  -- From here on a balance is what its account can spend.
  PERFORM expire_grants(account_ids, moment);
  SELECT array_agg(g.account_id), array_agg(g.grant_id), array_agg(g.remaining) INTO payers, paying, left_of
  FROM (SELECT s.* FROM spendable_grants(account_ids) s ORDER BY s.account_id, s.upto) g;
  IF idempotency_keys IS NOT NULL THEN
    UPDATE calls c SET idempotency_key = NULL, idempotency_expires_at = NULL
    WHERE c.account_id = ANY (account_ids) AND c.idempotency_expires_at <= now()
      AND c.idempotency_key = ANY (idempotency_keys) AND c.id BETWEEN remembered AND soon;
    SELECT array_agg(c.account_id || ' ' || c.user_id || ' ' || c.idempotency_key), array_agg(c.id) INTO names, named
    FROM calls c WHERE c.account_id = ANY (account_ids) AND c.idempotency_key = ANY (idempotency_keys)
      AND c.id BETWEEN remembered AND soon;
  END IF;
  IF keys_limited THEN
    SELECT array_agg(b.id), array_agg(b.credits), array_agg(coalesce(w.used, 0)),
      array_agg(coalesce(w.used - w.held, 0))
    INTO budget_ids, most_of, used_before, spent_of
    FROM (
      SELECT DISTINCT ON (b.id) b.* FROM api_keys k CROSS JOIN LATERAL budgets_of(k.account_id, k.id, k.user_id) b
      WHERE k.id = ANY (keys) AND k.account_id = ANY (account_ids) ORDER BY b.id
    ) b
    LEFT JOIN budget_windows w ON w.budget_id = b.id AND w.starts_at = budget_window(b.period, moment);
    SELECT array_agg(array_position(budget_ids, kb.id) ORDER BY u.place),
      array_agg(array_position(budget_ids, mb.id) ORDER BY u.place)
    INTO budgets_of_keys, budgets_of_members
    FROM unnest(keys) WITH ORDINALITY AS u (id, place) LEFT JOIN api_keys k ON k.id = u.id AND k.id = ANY (keys)
    LEFT JOIN budgets kb ON kb.key_id = k.id AND kb.id = ANY (budget_ids)
    LEFT JOIN budgets mb ON mb.account_id = k.account_id AND mb.user_id = k.user_id AND mb.id = ANY (budget_ids);
    used_of := used_before;
  END IF;
  known := ARRAY(SELECT c.id FROM calls c WHERE c.id = ANY (ids) AND c.id BETWEEN lowest AND greatest_id);

  calls_of := array_fill(0, ARRAY[cardinality(keys)]);
  tokens_of := array_fill(0::bigint, ARRAY[cardinality(keys)]);
  FOR r IN
    SELECT u.*, acc.status, acc.credits, acc.held, acc.debt, acc.outstanding_calls, acc.request_bytes AS open_bytes,
      v.id IS NULL AS is_new_price,
      key_is_valid(k, u.secret_version, moment) AS key_is_valid,
      key_allows_address(k, u.address) AS key_allows_address,
      acc.group_name IS NOT DISTINCT FROM u.group_name AS is_in_group,
      k.user_id, k.models, k.modalities, k.max_outstanding AS most_of_key, k.outstanding_calls AS open_of_key,
      k.last_used_at, acc.ledger_seq,
      -- One at most, so that it is looked up for each call, and never read for all of them. By its hash alone, so that
      -- no plan reads the calls of the account.
      (SELECT u.joins_left FROM calls l WHERE l.request_hash = u.request_hash AND l.abandoned_at IS NOT NULL
        AND l.created_at > moment - interval '2 minutes' AND l.id BETWEEN lately AND soon LIMIT 1) AS may_join,
      acc.tokens_per_minute, acc.token_window_at, acc.token_window_used,
      k.tokens_per_minute AS tokens_of_key, k.token_window_at AS key_window_at, k.token_window_used AS key_window_used
    FROM unnest(asked) WITH ORDINALITY AS u
    LEFT JOIN accounts acc ON acc.id = u.account_id AND acc.id = ANY (account_ids)
    LEFT JOIN api_keys k ON k.id = u.key_id AND k.account_id = u.account_id AND k.id = ANY (keys)
    LEFT JOIN price_versions v ON v.id = u.price_version AND v.id = ANY (prices)
    ORDER BY u.account_id, u.ordinality
  LOOP
    IF r.account_id IS DISTINCT FROM holder THEN
      holder := r.account_id;
      balance := r.credits;
      held := r.held;
      outstanding := r.outstanding_calls;
      held_bytes := r.open_bytes;
      seq := r.ledger_seq;
      tokens_taken := 0;
    END IF;
    key_place := array_position(keys, r.key_id);
    of_key := budgets_of_keys[key_place];
    of_member := budgets_of_members[key_place];
    id := r.id;
    -- An earlier try of this very request, or another one of this Idempotency-Key.
    existing_id := CASE WHEN r.id = ANY (known) THEN r.id
      ELSE named[array_position(names, r.account_id || ' ' || r.user_id || ' ' || r.idempotency_key)] END;
    outcome := CASE
      -- First: an earlier try had committed, whatever was revoked since.
      WHEN existing_id = r.id THEN 'exists'
      WHEN NOT r.key_is_valid THEN 'unauthorized'
      WHEN NOT r.key_allows_address THEN 'ip_not_allowed'
      WHEN r.model <> ALL (r.models) OR r.modality <> ALL (r.modalities) THEN 'model_not_allowed'
      WHEN r.status <> 'active' THEN 'account_suspended'
      WHEN existing_id IS NOT NULL THEN 'exists' END;
    IF outcome IS NULL AND r.may_join THEN
      existing_id := claim_call(r.account_id, r.key_id, r.request_hash, r.reply_to, false);
      outcome := CASE WHEN existing_id IS NOT NULL THEN 'claimed' END;
    END IF;
    tokens := CASE WHEN tokens_limited THEN r.reserved_tokens ELSE 0 END;
    needed := r.amount + coalesce(r.leaves, 0);
    -- A guard of the request is against another charge, never against an answer that was paid.
    outcome := coalesce(outcome, CASE
      -- Its price is that of another group: it is asked again, at that of this one.
      WHEN NOT r.is_in_group THEN 'group_changed'
      WHEN r.guarded IS NOT NULL THEN r.guarded
      WHEN r.open_of_key + calls_of[key_place] >= r.most_of_key THEN 'too_many_calls_of_key'
      WHEN NOT budget_allows(most_of[of_member], spent_of[of_member], r.amount) THEN 'member_budget_exceeded'
      WHEN NOT budget_allows(most_of[of_key], spent_of[of_key], r.amount) THEN 'key_budget_exceeded'
      WHEN outstanding >= coalesce(r.most_open, max_outstanding) THEN 'too_many_calls'
      WHEN held_bytes + r.request_bytes > max_request_bytes THEN 'too_many_bytes'
      WHEN tokens > 0 AND (
        token_use(r.token_window_at, r.token_window_used, moment) + tokens_taken + tokens > r.tokens_per_minute
        OR token_use(r.key_window_at, r.key_window_used, moment) + tokens_of[key_place] + tokens > r.tokens_of_key
      ) THEN 'too_many_tokens'
      WHEN r.debt > 0 OR r.amount > balance + held THEN 'insufficient_credits'
      -- It could be paid but for what calls hold that run, and perhaps give back.
      WHEN NOT budget_allows(most_of[of_member], used_of[of_member], needed) THEN 'member_budget_in_use'
      WHEN NOT budget_allows(most_of[of_key], used_of[of_key], needed) THEN 'key_budget_in_use'
      WHEN needed > balance THEN 'credits_in_use'
      ELSE 'opened' END);
    IF outcome = 'opened' THEN
      rest := r.amount;
      WHILE rest > 0 LOOP
        WHILE payers[nth] < r.account_id OR left_of[nth] = 0 LOOP nth := nth + 1; END LOOP;
        part := least(rest, left_of[nth]);
        left_of[nth] := left_of[nth] - part;
        rest := rest - part;
        balance := balance - part;
        seq := seq + 1;
        entries := entries || ROW(r.account_id, seq, r.id, paying[nth], 'charge', -part, balance)::movement;
      END LOOP;
      held := held + r.amount;
      outstanding := outstanding + 1;
      held_bytes := held_bytes + r.request_bytes;
      calls_of[key_place] := calls_of[key_place] + 1;
      IF of_key IS NOT NULL THEN used_of[of_key] := used_of[of_key] + r.amount; END IF;
      IF of_member IS NOT NULL THEN used_of[of_member] := used_of[of_member] + r.amount; END IF;
      tokens_taken := tokens_taken + tokens;
      tokens_of[key_place] := tokens_of[key_place] + tokens;
      known := known || r.id;
      opened := opened || asked[r.ordinality];
      members := members || r.user_id;
      newest := newest || seq;
      IF r.idempotency_key IS NOT NULL THEN
        names := names || (r.account_id || ' ' || r.user_id || ' ' || r.idempotency_key);
        named := named || r.id;
      END IF;
      IF r.is_new_price AND r.price_version IS NOT NULL THEN new_prices := new_prices || r.price_version; END IF;
      IF r.last_used_at IS NULL OR r.last_used_at < now() - interval '1 minute' THEN
        used_keys := used_keys || r.key_id;
      END IF;
    END IF;
    IF tokens_limited THEN
      account_tokens :=
        token_allowance(r.tokens_per_minute, r.token_window_at, r.token_window_used, tokens_taken, moment);
      key_tokens :=
        token_allowance(r.tokens_of_key, r.key_window_at, r.key_window_used, tokens_of[key_place], moment);
    END IF;
    RETURN NEXT;
  END LOOP;
  IF cardinality(opened) = 0 THEN RETURN; END IF;

  IF new_prices <> '{}' THEN
    -- Written by the first call of a price, in the order of ids, so that two first calls cannot lock each other out.
    INSERT INTO price_versions (id, model, hash, price)
    SELECT DISTINCT ON (u.price_version) u.price_version, u.model, u.price_hash, u.price
    FROM unnest(opened) u
    WHERE u.price_version = ANY (new_prices)
    ORDER BY u.price_version
    ON CONFLICT DO NOTHING;
  END IF;
  WITH opened_calls AS (
    INSERT INTO calls (id, account_id, key_id, user_id, modality, dialect, model, catalogue_version, status, price,
      price_version, estimated_input_tokens, estimated_output_tokens, credits_precharged, credits, request_id, reply_to,
      idempotency_key, idempotency_expires_at, request_hash, request_bytes, lease_until, deadline_at, created_at,
      is_async, callback_url, group_name, seconds, resolution, units, size, quality)
    SELECT u.id, u.account_id, u.key_id, u.user_id, u.modality, u.dialect, u.model, u.catalogue_version, 'queued',
      u.price, u.price_version, u.estimated_input, u.estimated_output, u.amount, u.amount, u.request_id, u.reply_to,
      u.idempotency_key,
      CASE WHEN u.idempotency_key IS NOT NULL THEN now() + make_interval(secs => u.idempotency_seconds) END,
      u.request_hash, u.request_bytes, now() + make_interval(secs => u.lease_seconds),
      now() + make_interval(secs => u.deadline_seconds), moment, coalesce(u.is_async, false), u.callback_url,
      u.group_name, u.seconds, u.resolution, u.units, u.size, u.quality
    FROM unnest(members, opened) AS u (user_id)
  ), written AS (
    INSERT INTO ledger_entries (account_id, seq, call_id, grant_id, kind, amount, balance_after)
    SELECT e.* FROM unnest(entries) e
  ), spent AS (
    UPDATE grants g SET remaining = g.remaining + s.amount, open = g.remaining + s.amount > 0
    FROM (
      SELECT e.grant_id, sum(e.amount)::bigint AS amount FROM unnest(entries) e GROUP BY e.grant_id
    ) s
    WHERE g.id = s.grant_id AND g.id = ANY (paying)
  )
  UPDATE accounts acc SET credits = acc.credits - s.amount, held = acc.held + s.amount,
    ledger_seq = s.newest, outstanding_calls = acc.outstanding_calls + s.calls,
    request_bytes = acc.request_bytes + s.bytes,
    token_window_at = CASE WHEN s.tokens > 0 AND acc.tokens_per_minute IS NOT NULL
      THEN token_window(acc.token_window_at, moment) ELSE acc.token_window_at END,
    token_window_used = CASE WHEN s.tokens > 0 AND acc.tokens_per_minute IS NOT NULL
      THEN token_use(acc.token_window_at, acc.token_window_used, moment) + s.tokens ELSE acc.token_window_used END
  FROM (
    SELECT u.account_id, count(*)::integer AS calls, sum(u.request_bytes)::bigint AS bytes,
      sum(u.amount)::bigint AS amount, sum(u.reserved_tokens)::bigint AS tokens, max(u.newest) AS newest
    FROM unnest(newest, opened) AS u (newest) GROUP BY u.account_id
  ) s
  WHERE acc.id = s.account_id AND acc.id = ANY (account_ids);
  IF used_keys <> '{}' THEN UPDATE api_keys k SET last_used_at = now() WHERE k.id = ANY (used_keys); END IF;

  IF keys_limited THEN
    UPDATE api_keys k SET outstanding_calls = k.outstanding_calls + s.calls
    FROM unnest(keys, calls_of) AS s (key_id, calls)
    WHERE k.id = s.key_id AND s.calls > 0 AND k.id = ANY (keys) AND k.max_outstanding IS NOT NULL;

    UPDATE api_keys k SET token_window_at = token_window(k.token_window_at, moment),
      token_window_used = token_use(k.token_window_at, k.token_window_used, moment) + s.tokens
    FROM unnest(keys, tokens_of) AS s (key_id, tokens)
    WHERE k.id = s.key_id AND s.tokens > 0 AND k.id = ANY (keys) AND k.tokens_per_minute IS NOT NULL;

    -- Of every call of its scope a budget has the window, of those that cost nothing too.
    INSERT INTO budget_windows AS w (budget_id, starts_at, used, held)
    SELECT b.id, budget_window(b.period, moment), s.used - s.before, s.used - s.before
    FROM unnest(budget_ids, used_before, used_of) WITH ORDINALITY AS s (budget_id, before, used, place)
    JOIN budgets b ON b.id = s.budget_id AND b.id = ANY (budget_ids)
    WHERE EXISTS (SELECT FROM unnest(calls_of, budgets_of_keys, budgets_of_members) AS c (calls, of_key, of_member)
      WHERE c.calls > 0 AND s.place IN (c.of_key, c.of_member))
    ORDER BY b.id
    ON CONFLICT (budget_id, starts_at) DO UPDATE
    SET used = w.used + EXCLUDED.used, held = w.held + EXCLUDED.held;
  END IF;
END $$;
COMMENT ON FUNCTION open_calls IS
  'Charges and opens calls: for each an outcome of opened, exists, claimed (the call that it is a retry of), '
  'or why it is refused.';
