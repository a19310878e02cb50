/**
 * `open_calls` and `end_calls`: the two statements that move credits for calls, each for a whole batch in one round trip.
 * `src/shared/calls/calls.ts` is their only caller; the words and rules are those of `lifecycle.ts`.
 *
 * Why functions: under READ COMMITTED a statement reads with the snapshot of its beginning. A statement that waits
 * for an account's row and then reads its grants sees the grants as they were before the wait. Inside a function every
 * statement has a snapshot of its own: lock first, read in the following statement, and everything read is current, because
 * whoever changes an account's grants, ledger or outstanding calls holds that account's row.
 *
 * Why every table is also held to an array of the batch's own ids: Postgres plans these statements once, perhaps while the
 * tables are almost empty, and would then read all of one for a join (measured: 3,600 pages a statement after 15,000 calls,
 * instead of 60). An array can only be looked up in an index, whatever the plan.
 *
 * Why batches: concurrent calls share the round trip and the commit. A batch keeps the order of each account's calls,
 * and no call's refusal touches another's fate. Lock order everywhere: accounts by id, then calls by id.
 */
import type { Knex } from 'knex'

export async function up(db: Knex): Promise<void> {
  await db.raw(`
    -- The lots that pay, in burn order: what expires first, then the oldest. "upto" is the running sum of an account,
    -- so that a charge is an interval of that line, and its parts are the overlaps with the lots' intervals.
    CREATE FUNCTION spendable_lots(accounts uuid[])
    RETURNS TABLE (grant_id uuid, user_id uuid, remaining bigint, upto bigint)
    LANGUAGE sql STABLE AS $$
      SELECT g.id, g.user_id, g.remaining,
        sum(g.remaining) OVER (PARTITION BY g.user_id ORDER BY g.expires_at NULLS LAST, g.created_at, g.id)::bigint
      FROM grants g
      WHERE g.user_id = ANY (accounts) AND g.open AND (g.expires_at IS NULL OR g.expires_at > now())
    $$;
    COMMENT ON FUNCTION spendable_lots IS 'Grants of these accounts that can pay now, in burn order, with running sums.';

    CREATE FUNCTION open_calls(requests jsonb, max_outstanding integer)
    RETURNS TABLE (id uuid, outcome text, existing_id uuid, balance bigint, outstanding integer)
    LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    DECLARE
      accounts uuid[] := ARRAY(SELECT DISTINCT (r ->> 'user_id')::uuid FROM jsonb_array_elements(requests) r);
      ids uuid[] := ARRAY(SELECT (r ->> 'id')::uuid FROM jsonb_array_elements(requests) r);
      keys uuid[] := ARRAY(SELECT DISTINCT (r ->> 'key_id')::uuid FROM jsonb_array_elements(requests) r);
      idempotency_keys text[] := ARRAY(SELECT r ->> 'idempotency_key' FROM jsonb_array_elements(requests) r WHERE r ->> 'idempotency_key' IS NOT NULL);
    BEGIN
      PERFORM 1 FROM users u WHERE u.id = ANY (accounts) ORDER BY u.id FOR NO KEY UPDATE;

      IF cardinality(idempotency_keys) > 0 THEN
        UPDATE calls c SET idempotency_key = NULL, idempotency_expires_at = NULL
        WHERE c.user_id = ANY (accounts) AND c.idempotency_expires_at <= now()
          AND c.idempotency_key = ANY (idempotency_keys);
      END IF;

      RETURN QUERY
      WITH request AS MATERIALIZED (
        SELECT r.* FROM ROWS FROM (jsonb_to_recordset(requests) AS (
          id uuid, user_id uuid, key_id uuid, modality text, model text, price jsonb, amount bigint,
          estimated_input bigint, estimated_output bigint, lease_seconds integer, deadline_seconds integer,
          request_id text, reply_to text, idempotency_key text, idempotency_seconds integer, request_hash text
        )) WITH ORDINALITY AS r (
          id, user_id, key_id, modality, model, price, amount, estimated_input, estimated_output, lease_seconds,
          deadline_seconds, request_id, reply_to, idempotency_key, idempotency_seconds, request_hash, place)
      ), checked AS (
        SELECT r.*, u.credits AS balance_before, u.outstanding_calls, coalesce(own.id, same.id) AS existing_id,
          CASE
            -- First: an earlier try of this very request had committed, whatever was revoked since.
            WHEN own.id IS NOT NULL THEN 'exists'
            WHEN k.id IS NULL OR k.revoked_at IS NOT NULL THEN 'unauthorized'
            WHEN u.status <> 'active' THEN 'account_suspended'
            WHEN same.id IS NOT NULL THEN 'exists'
            WHEN r.idempotency_key IS NOT NULL
              AND row_number() OVER (PARTITION BY r.user_id, r.idempotency_key ORDER BY r.place) > 1 THEN 'try_alone'
          END AS verdict
        FROM request r
        LEFT JOIN users u ON u.id = r.user_id AND u.id = ANY (accounts)
        LEFT JOIN api_keys k ON k.id = r.key_id AND k.user_id = r.user_id AND k.id = ANY (keys)
        LEFT JOIN calls own ON own.id = r.id AND own.id = ANY (ids)
        LEFT JOIN calls same ON same.user_id = r.user_id AND same.idempotency_key = r.idempotency_key
          AND same.user_id = ANY (accounts) AND same.idempotency_key = ANY (idempotency_keys)
      ), lot AS MATERIALIZED (
        SELECT * FROM spendable_lots(accounts)
      ), candidate AS (
        SELECT c.*,
          sum(c.amount) OVER account_order AS upto,
          row_number() OVER account_order AS nth,
          coalesce((SELECT max(lot.upto) FROM lot WHERE lot.user_id = c.user_id), 0) AS spendable
        FROM checked c WHERE c.verdict IS NULL
        WINDOW account_order AS (PARTITION BY c.user_id ORDER BY c.place)
      ), judged AS MATERIALIZED (
        SELECT c.*, CASE
          WHEN c.outstanding_calls >= max_outstanding THEN 'too_many_calls'
          WHEN c.outstanding_calls + c.nth > max_outstanding THEN 'try_alone'
          WHEN c.upto <= c.spendable THEN 'opened'
          WHEN c.amount > c.spendable THEN 'insufficient_credits'
          ELSE 'try_alone' END AS fate
        FROM candidate c
      ), accepted AS MATERIALIZED (
        SELECT * FROM judged WHERE fate = 'opened'
      ), part AS MATERIALIZED (
        SELECT a.id AS call_id, a.user_id, lot.grant_id, overlap.amount,
          row_number() OVER movement_order AS nth,
          sum(overlap.amount) OVER movement_order AS upto
        FROM accepted a
        JOIN lot ON lot.user_id = a.user_id AND lot.upto > a.upto - a.amount AND lot.upto - lot.remaining < a.upto
        CROSS JOIN LATERAL (
          SELECT (least(a.upto, lot.upto) - greatest(a.upto - a.amount, lot.upto - lot.remaining))::bigint AS amount
        ) overlap
        WHERE overlap.amount > 0
        WINDOW movement_order AS (PARTITION BY a.user_id ORDER BY a.place, lot.upto)
      ), new_call AS (
        INSERT INTO calls (id, user_id, key_id, modality, model, status, price, estimated_input_tokens,
          estimated_output_tokens, credits_precharged, credits, request_id, reply_to, idempotency_key,
          idempotency_expires_at, request_hash, lease_until, deadline_at)
        SELECT a.id, a.user_id, a.key_id, a.modality, a.model, 'queued', a.price, a.estimated_input, a.estimated_output,
          a.amount, a.amount, a.request_id, a.reply_to, a.idempotency_key,
          CASE WHEN a.idempotency_key IS NOT NULL THEN now() + make_interval(secs => a.idempotency_seconds) END,
          decode(a.request_hash, 'hex'), now() + make_interval(secs => a.lease_seconds),
          now() + make_interval(secs => a.deadline_seconds)
        FROM accepted a
      ), new_entry AS (
        INSERT INTO ledger_entries (user_id, seq, call_id, grant_id, kind, amount, balance_after)
        SELECT p.user_id, u.ledger_seq + p.nth, p.call_id, p.grant_id, 'charge', -p.amount, u.credits - p.upto
        FROM part p JOIN users u ON u.id = p.user_id AND u.id = ANY (accounts)
      ), burnt AS (
        UPDATE grants g SET remaining = g.remaining - s.amount, open = g.remaining > s.amount
        FROM (SELECT p.grant_id, sum(p.amount)::bigint AS amount FROM part p GROUP BY p.grant_id) s
        WHERE g.id = s.grant_id AND g.user_id = ANY (accounts)
      ), account AS (
        UPDATE users u SET credits = u.credits - s.amount, outstanding_calls = u.outstanding_calls + s.calls,
          ledger_seq = u.ledger_seq + (SELECT count(*) FROM part p WHERE p.user_id = u.id)
        FROM (SELECT a.user_id, sum(a.amount)::bigint AS amount, count(*)::integer AS calls FROM accepted a GROUP BY a.user_id) s
        WHERE u.id = s.user_id AND u.id = ANY (accounts)
      ), key_use AS (
        UPDATE api_keys k SET last_used_at = now()
        WHERE k.id = ANY (keys) AND k.id IN (SELECT a.key_id FROM accepted a)
          AND (k.last_used_at IS NULL OR k.last_used_at < now() - interval '1 minute')
      )
      SELECT c.id, coalesce(c.verdict, j.fate), c.existing_id,
        (CASE WHEN j.fate = 'opened' THEN c.balance_before - j.upto ELSE c.balance_before END)::bigint,
        (c.outstanding_calls + coalesce(j.nth, 0))::integer
      FROM checked c LEFT JOIN judged j ON j.id = c.id AND j.place = c.place;
    END $$;
    COMMENT ON FUNCTION open_calls IS
      'Charges and opens calls: for each an outcome of opened, exists, insufficient_credits, too_many_calls, account_suspended, unauthorized, or try_alone (only a batch of its own can tell).';

    CREATE FUNCTION end_calls(outcomes jsonb, outputs text[])
    RETURNS TABLE (id uuid, user_id uuid, status text, credits bigint, uncollected bigint, balance bigint,
      latency_ms bigint, created_at timestamptz, reply_to text, model text, modality text, upstream text, precharged bigint,
      running_ms bigint)
    LANGUAGE plpgsql AS $$
    #variable_conflict use_column
    DECLARE
      ids uuid[] := ARRAY(SELECT DISTINCT (o ->> 'id')::uuid FROM jsonb_array_elements(outcomes) o);
      accounts uuid[] := ARRAY(SELECT DISTINCT c.user_id FROM calls c WHERE c.id = ANY (ids));
    BEGIN
      PERFORM 1 FROM users u WHERE u.id = ANY (accounts) ORDER BY u.id FOR NO KEY UPDATE;
      -- A call that was opened since the first statement belongs to an account whose row is not held: it is not there yet.
      -- "<@", because "= ANY" could be looked up by account too: in all calls of a busy one.
      ids := ARRAY(SELECT c.id FROM calls c WHERE c.id = ANY (ids) AND ARRAY[c.user_id] <@ accounts ORDER BY c.id FOR NO KEY UPDATE);

      RETURN QUERY
      WITH outcome AS MATERIALIZED (
        SELECT o.*, row_number() OVER (PARTITION BY o.id ORDER BY o.place) AS nth
        FROM ROWS FROM (jsonb_to_recordset(outcomes) AS (
          id uuid, status text, cost bigint, attempt integer, from_status text, overdue boolean, http_status integer,
          error_type text, input_tokens bigint, output_tokens bigint, upstream text, result_url text, result_seconds integer
        )) WITH ORDINALITY AS o (
          id, status, cost, attempt, from_status, overdue, http_status, error_type, input_tokens, output_tokens, upstream,
          result_url, result_seconds, place)
      ), ending AS MATERIALIZED (
        -- The guard: a call that has ended is left alone, and so is one that another attempt has taken over.
        -- Within an account, calls that collect have their turn before calls that give back: so no call goes
        -- uncollected beside a balance that could have paid for it.
        SELECT o.*, c.user_id, c.credits_precharged AS held, owed.due,
          row_number() OVER (PARTITION BY c.user_id ORDER BY owed.due > c.credits_precharged DESC, o.place) AS turn
        FROM outcome o JOIN calls c ON c.id = o.id AND c.id = ANY (ids)
        CROSS JOIN LATERAL (SELECT CASE WHEN o.status = 'succeeded' THEN o.cost ELSE 0 END AS due) owed
        WHERE o.nth = 1 AND c.status IN ('queued', 'running')
          AND (o.attempt IS NULL OR o.attempt = c.attempts)
          AND (o.from_status IS NULL OR o.from_status = c.status)
          AND (o.overdue IS NOT TRUE OR c.deadline_at < now())
      ), charged AS (
        -- Given back in reverse burn order: what stays charged is what a charge of the real cost would have taken.
        SELECT e.call_id, e.grant_id, -e.amount AS amount, sum(-e.amount) OVER (PARTITION BY e.call_id ORDER BY e.seq DESC) AS upto
        FROM ledger_entries e WHERE e.call_id = ANY (ids) AND e.kind = 'charge'
      ), given_back AS (
        SELECT x.id AS call_id, x.user_id, x.turn, x.status, charged.grant_id, charged.upto AS position,
          (least(charged.upto, x.held - x.due) - (charged.upto - charged.amount))::bigint AS amount
        FROM ending x JOIN charged ON charged.call_id = x.id AND charged.upto - charged.amount < x.held - x.due
      ), wanting AS (
        SELECT x.*, x.due - x.held AS amount, sum(x.due - x.held) OVER (PARTITION BY x.user_id ORDER BY x.turn) AS upto
        FROM ending x WHERE x.due > x.held
      ), collected AS (
        SELECT w.id AS call_id, w.user_id, w.turn, w.status, lot.grant_id, lot.upto AS position,
          -(least(w.upto, lot.upto) - greatest(w.upto - w.amount, lot.upto - lot.remaining))::bigint AS amount
        FROM wanting w
        JOIN spendable_lots(ARRAY(SELECT DISTINCT wanting.user_id FROM wanting)) lot
          ON lot.user_id = w.user_id AND lot.upto > w.upto - w.amount AND lot.upto - lot.remaining < w.upto
      ), movement AS MATERIALIZED (
        SELECT m.*, row_number() OVER movement_order AS nth, sum(m.amount) OVER movement_order AS upto
        FROM (SELECT * FROM given_back UNION ALL SELECT * FROM collected) m
        WINDOW movement_order AS (PARTITION BY m.user_id ORDER BY m.turn, m.position, m.grant_id)
      ), ended AS MATERIALIZED (
        SELECT x.*, u.credits + coalesce((SELECT sum(m.amount) FROM movement m WHERE m.user_id = x.user_id AND m.turn <= x.turn), 0) AS balance,
          x.held - coalesce((SELECT sum(m.amount) FROM movement m WHERE m.call_id = x.id), 0) AS kept
        FROM ending x JOIN users u ON u.id = x.user_id AND u.id = ANY (accounts)
      ), closed AS (
        UPDATE calls c SET status = e.status, credits = e.kept, credits_uncollected = greatest(e.due - e.kept, 0),
          balance_after = e.balance, http_status = e.http_status, error_type = e.error_type,
          input_tokens = e.input_tokens, output_tokens = e.output_tokens, upstream = coalesce(e.upstream, c.upstream),
          result_url = e.result_url, finished_at = clock_timestamp(),
          -- A call that we ourselves could not place counts as refused: its key is free for the client's next try.
          idempotency_key = CASE WHEN e.error_type = 'service_unavailable' THEN NULL ELSE c.idempotency_key END,
          idempotency_expires_at = CASE WHEN e.error_type = 'service_unavailable' THEN NULL ELSE c.idempotency_expires_at END,
          latency_ms = greatest(0, round(extract(epoch FROM clock_timestamp() - c.created_at) * 1000))::bigint
        FROM ended e WHERE c.id = e.id AND c.id = ANY (ids)
        RETURNING c.id, c.user_id, c.status, c.credits, c.credits_uncollected, c.balance_after, c.latency_ms, c.created_at, c.reply_to,
          c.model, c.modality, c.upstream, c.credits_precharged,
          greatest(0, round(extract(epoch FROM c.finished_at - c.started_at) * 1000))::bigint
      ), new_result AS (
        INSERT INTO call_results (call_id, output, expires_at)
        SELECT e.id, outputs[e.place], now() + make_interval(secs => e.result_seconds) FROM ended e
      ), new_entry AS (
        INSERT INTO ledger_entries (user_id, seq, call_id, grant_id, kind, amount, balance_after)
        SELECT m.user_id, u.ledger_seq + m.nth, m.call_id, m.grant_id,
          CASE m.status WHEN 'failed' THEN 'refund' ELSE 'settlement' END, m.amount, u.credits + m.upto
        FROM movement m JOIN users u ON u.id = m.user_id AND u.id = ANY (accounts)
      ), moved AS (
        -- Credits that come back to a lot past its time can be spent for a day more (contract section 5.2).
        UPDATE grants g SET remaining = g.remaining + s.amount, open = g.remaining + s.amount > 0,
          expires_at = CASE WHEN s.amount > 0 AND g.expires_at <= now() THEN now() + interval '24 hours' ELSE g.expires_at END
        FROM (SELECT m.grant_id, sum(m.amount)::bigint AS amount FROM movement m GROUP BY m.grant_id) s
        WHERE g.id = s.grant_id AND g.user_id = ANY (accounts)
      ), account AS (
        UPDATE users u SET outstanding_calls = u.outstanding_calls - s.calls,
          credits = u.credits + coalesce((SELECT sum(m.amount) FROM movement m WHERE m.user_id = u.id), 0)::bigint,
          ledger_seq = u.ledger_seq + (SELECT count(*) FROM movement m WHERE m.user_id = u.id)
        FROM (SELECT e.user_id, count(*)::integer AS calls FROM ended e GROUP BY e.user_id) s
        WHERE u.id = s.user_id AND u.id = ANY (accounts)
      )
      SELECT * FROM closed;
    END $$;
    COMMENT ON FUNCTION end_calls IS
      'Settles or refunds calls and keeps their results; a row for each call that this very statement ended, none for the others.';
  `)
}

export async function down(db: Knex): Promise<void> {
  await db.raw(`
    DROP FUNCTION end_calls(jsonb, text[]);
    DROP FUNCTION open_calls(jsonb, integer);
    DROP FUNCTION spendable_lots(uuid[]);
  `)
}
