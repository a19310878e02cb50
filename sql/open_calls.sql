-- Charges and opens calls, a whole batch in one round trip. open_calls and end_calls are the only statements that move
-- credits for calls; src/shared/calls/statements.ts is their only caller, and the rules are those of
-- src/shared/calls/lifecycle.ts.
--
-- Why functions: under READ COMMITTED a statement reads with the snapshot of its beginning. A statement that waits for
-- an account's row and then reads its grants sees the grants as they were before the wait. Inside a function every
-- statement has a snapshot of its own: lock first, read in the following statement, and everything read is current,
-- because whoever changes an account's grants, ledger or outstanding calls holds that account's row.
--
-- Why every table is also held to an array of the batch's own ids: Postgres plans these statements once, perhaps while
-- the tables are almost empty, and would then read all of one for a join (measured: 3,600 pages a statement after
-- 15,000 calls, instead of 60). An array can only be looked up in an index, whatever the plan.
--
-- Why plan_cache_mode: left to itself Postgres plans these statements anew each time, since it takes an array to be
-- longer than it is and a plan for any array to be dear; the planning then costs more than the run, while the accounts'
-- rows are locked (measured in docs/performance.md). They have only one good plan.
--
-- Why batches: concurrent calls share the round trip and the commit. A batch keeps the order of each account's calls,
-- and no call's refusal touches another's fate. Lock order everywhere: accounts by id, then calls by id.
CREATE OR REPLACE FUNCTION open_calls(requests jsonb, max_outstanding integer, max_request_bytes bigint)
RETURNS TABLE (id uuid, outcome text, existing_id uuid, balance bigint, outstanding integer)
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
  account_ids uuid[] := ARRAY(SELECT DISTINCT (r ->> 'account_id')::uuid FROM jsonb_array_elements(requests) r);
  ids uuid[] := ARRAY(SELECT (r ->> 'id')::uuid FROM jsonb_array_elements(requests) r);
  keys uuid[] := ARRAY(SELECT DISTINCT (r ->> 'key_id')::uuid FROM jsonb_array_elements(requests) r);
  idempotency_keys text[] := ARRAY(SELECT r ->> 'idempotency_key' FROM jsonb_array_elements(requests) r
    WHERE r ->> 'idempotency_key' IS NOT NULL);
  keys_limited boolean;
  -- When the calls are opened: read after the wait for the accounts, so that an account's calls, and the windows of
  -- budgets that they belong to, are in the order of their charges.
  moment timestamptz;
  -- By place in the batch, where an account limits its keys: why the key may not make this call, and why its budget or
  -- its limit of open calls does not allow it.
  key_refusals text[] := '{}';
  key_fates text[] := '{}';
BEGIN
  keys_limited := (SELECT bool_or(held.keys_limited) FROM (
    SELECT acc.keys_limited FROM accounts acc WHERE acc.id = ANY (account_ids) ORDER BY acc.id FOR NO KEY UPDATE
  ) held);
  moment := clock_timestamp();
  IF keys_limited THEN
    SELECT array_agg(j.refusal ORDER BY j.place), array_agg(j.fate ORDER BY j.place) INTO key_refusals, key_fates
    FROM judge_keys(requests, keys, moment) j;
  END IF;

  IF cardinality(idempotency_keys) > 0 THEN
    UPDATE calls c SET idempotency_key = NULL, idempotency_expires_at = NULL
    WHERE c.account_id = ANY (account_ids) AND c.idempotency_expires_at <= now()
      AND c.idempotency_key = ANY (idempotency_keys);
  END IF;

  RETURN QUERY
  WITH request AS MATERIALIZED (
    SELECT r.* FROM ROWS FROM (jsonb_to_recordset(requests) AS (
      id uuid, account_id uuid, key_id uuid, modality text, model text, price jsonb, price_version uuid,
      price_hash text, amount bigint, guarded text,
      estimated_input bigint, estimated_output bigint, lease_seconds integer, deadline_seconds integer,
      request_id text, reply_to text, idempotency_key text, idempotency_seconds integer, request_hash text,
        request_bytes bigint, catalogue_version integer, secret_version integer
    )) WITH ORDINALITY AS r (
      id, account_id, key_id, modality, model, price, price_version, price_hash, amount, guarded, estimated_input,
      estimated_output, lease_seconds, deadline_seconds, request_id, reply_to, idempotency_key, idempotency_seconds,
      request_hash, request_bytes, catalogue_version, secret_version, place)
  ), checked AS (
    SELECT r.*, acc.credits AS balance_before, acc.debt, acc.outstanding_calls, acc.request_bytes AS held_bytes,
      coalesce(own.id, same.id) AS existing_id,
      CASE
        -- First: an earlier try of this very request had committed, whatever was revoked since.
        WHEN own.id IS NOT NULL THEN 'exists'
        -- Its key was remembered, and must be one without limits (src/shared/accounts/key-lookup.ts).
        WHEN r.secret_version = 0 AND (k.revoked_at IS NULL AND k.rate_limit IS NULL AND acc.status = 'active'
          AND NOT acc.keys_limited AND k.id IS NOT NULL) IS NOT TRUE THEN 'look_up'
        WHEN k.id IS NULL OR k.revoked_at IS NOT NULL THEN 'unauthorized'
        WHEN key_refusals[r.place] IS NOT NULL THEN key_refusals[r.place]
        WHEN acc.status <> 'active' THEN 'account_suspended'
        WHEN same.id IS NOT NULL THEN 'exists'
        WHEN r.idempotency_key IS NOT NULL
          AND row_number() OVER (PARTITION BY r.account_id, r.idempotency_key ORDER BY r.place) > 1 THEN 'try_alone'
        -- A guard of the request is against another charge, never against an answer that was paid.
        WHEN r.guarded IS NOT NULL THEN r.guarded
        ELSE key_fates[r.place]
      END AS verdict
    FROM request r
    LEFT JOIN accounts acc ON acc.id = r.account_id AND acc.id = ANY (account_ids)
    LEFT JOIN api_keys k ON k.id = r.key_id AND k.account_id = r.account_id AND k.id = ANY (keys)
    LEFT JOIN calls own ON own.id = r.id AND own.id = ANY (ids)
    LEFT JOIN calls same ON same.account_id = r.account_id AND same.idempotency_key = r.idempotency_key
      AND same.account_id = ANY (account_ids) AND same.idempotency_key = ANY (idempotency_keys)
  ), lot AS MATERIALIZED (
    SELECT * FROM spendable_lots(account_ids)
  ), candidate AS (
    SELECT c.*,
      sum(c.amount) OVER account_order AS upto,
      sum(c.request_bytes) OVER account_order AS upto_bytes,
      row_number() OVER account_order AS nth,
      coalesce((SELECT max(lot.upto) FROM lot WHERE lot.account_id = c.account_id), 0) AS spendable
    FROM checked c WHERE c.verdict IS NULL
    WINDOW account_order AS (PARTITION BY c.account_id ORDER BY c.place)
  ), judged AS MATERIALIZED (
    SELECT c.*, CASE
      WHEN c.outstanding_calls >= max_outstanding THEN 'too_many_calls'
      WHEN c.held_bytes + c.request_bytes > max_request_bytes THEN 'too_many_bytes'
      WHEN c.outstanding_calls + c.nth > max_outstanding THEN 'try_alone'
      WHEN c.held_bytes + c.upto_bytes > max_request_bytes THEN 'try_alone'
      WHEN c.debt > 0 THEN 'insufficient_credits'
      WHEN c.upto <= c.spendable THEN 'opened'
      WHEN c.amount > c.spendable THEN 'insufficient_credits'
      ELSE 'try_alone' END AS fate
    FROM candidate c
  ), accepted AS MATERIALIZED (
    SELECT * FROM judged WHERE fate = 'opened'
  ), part AS MATERIALIZED (
    SELECT a.id AS call_id, a.account_id, lot.grant_id, overlap.amount,
      row_number() OVER movement_order AS nth,
      sum(overlap.amount) OVER movement_order AS upto
    FROM accepted a
    JOIN lot ON lot.account_id = a.account_id AND lot.upto > a.upto - a.amount AND lot.upto - lot.remaining < a.upto
    CROSS JOIN LATERAL (
      SELECT (least(a.upto, lot.upto) - greatest(a.upto - a.amount, lot.upto - lot.remaining))::bigint AS amount
    ) overlap
    WHERE overlap.amount > 0
    WINDOW movement_order AS (PARTITION BY a.account_id ORDER BY a.place, lot.upto)
  ), new_price AS (
    -- Written by the first call of a price, in the order of ids, so that two first calls cannot lock each other out.
    INSERT INTO price_versions (id, model, hash, price)
    SELECT DISTINCT ON (a.price_version) a.price_version, a.model, a.price_hash, a.price FROM accepted a
    WHERE a.price_version IS NOT NULL
      AND NOT EXISTS (SELECT FROM price_versions v WHERE v.id = a.price_version)
    ORDER BY a.price_version
    ON CONFLICT DO NOTHING
  ), new_call AS (
    INSERT INTO calls (id, account_id, key_id, modality, model, catalogue_version, status, price, price_version,
      estimated_input_tokens, estimated_output_tokens, credits_precharged, credits, request_id, reply_to,
      idempotency_key, idempotency_expires_at, request_hash, request_bytes, lease_until, deadline_at,
      created_at)
    SELECT a.id, a.account_id, a.key_id, a.modality, a.model, a.catalogue_version, 'queued', a.price, a.price_version,
      a.estimated_input, a.estimated_output, a.amount, a.amount, a.request_id, a.reply_to, a.idempotency_key,
      CASE WHEN a.idempotency_key IS NOT NULL THEN now() + make_interval(secs => a.idempotency_seconds) END,
      decode(a.request_hash, 'hex'), a.request_bytes, now() + make_interval(secs => a.lease_seconds),
      now() + make_interval(secs => a.deadline_seconds), moment
    FROM accepted a
  ), new_entry AS (
    INSERT INTO ledger_entries (account_id, seq, call_id, grant_id, kind, amount, balance_after)
    SELECT p.account_id, acc.ledger_seq + p.nth, p.call_id, p.grant_id, 'charge', -p.amount, acc.credits - p.upto
    FROM part p JOIN accounts acc ON acc.id = p.account_id AND acc.id = ANY (account_ids)
  ), burnt AS (
    UPDATE grants g SET remaining = g.remaining - s.amount, open = g.remaining > s.amount
    FROM (SELECT p.grant_id, sum(p.amount)::bigint AS amount FROM part p GROUP BY p.grant_id) s
    WHERE g.id = s.grant_id AND g.account_id = ANY (account_ids)
  ), account AS (
    UPDATE accounts acc SET credits = acc.credits - s.amount, outstanding_calls = acc.outstanding_calls + s.calls,
      request_bytes = acc.request_bytes + s.bytes,
      ledger_seq = acc.ledger_seq + (SELECT count(*) FROM part p WHERE p.account_id = acc.id)
    FROM (
      SELECT a.account_id, sum(a.amount)::bigint AS amount, count(*)::integer AS calls,
        sum(a.request_bytes)::bigint AS bytes
      FROM accepted a GROUP BY a.account_id
    ) s
    WHERE acc.id = s.account_id AND acc.id = ANY (account_ids)
  ), key_use AS (
    UPDATE api_keys k SET last_used_at = now()
    WHERE k.id = ANY (keys) AND k.id IN (SELECT a.key_id FROM accepted a)
      AND (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute')
  )
  SELECT c.id, coalesce(c.verdict, j.fate), c.existing_id,
    (CASE WHEN j.fate = 'opened' THEN c.balance_before - j.upto ELSE c.balance_before END)::bigint,
    (c.outstanding_calls + coalesce(j.nth, 0))::integer
  FROM checked c LEFT JOIN judged j ON j.id = c.id AND j.place = c.place;

  -- What was opened just now, and by no earlier try of a request, was opened at this moment.
  IF keys_limited THEN
    UPDATE api_keys k SET outstanding_calls = k.outstanding_calls + s.calls
    FROM (
      SELECT c.key_id, count(*)::integer AS calls FROM calls c WHERE c.id = ANY (ids) AND c.created_at = moment
      GROUP BY 1
    ) s
    WHERE k.id = s.key_id AND k.id = ANY (keys) AND k.max_outstanding IS NOT NULL;

    INSERT INTO budget_windows AS w (budget_id, starts_at, used)
    SELECT b.id, budget_window(b.period, moment), sum(c.credits)
    FROM calls c JOIN budgets b ON b.key_id = c.key_id AND b.key_id = ANY (keys)
    WHERE c.id = ANY (ids) AND c.created_at = moment
    GROUP BY b.id
    ON CONFLICT (budget_id, starts_at) DO UPDATE SET used = w.used + EXCLUDED.used;
  END IF;
END $$;
COMMENT ON FUNCTION open_calls IS
  'Charges and opens calls: for each an outcome of opened, exists, price_above_limit, price_changed, '
  'insufficient_credits, key_budget_exceeded, too_many_calls, too_many_calls_of_key, too_many_bytes, '
  'account_suspended, unauthorized, ip_not_allowed, model_not_allowed, look_up (a key that was remembered has '
  'changed), or try_alone (only a batch of its own can tell).';
