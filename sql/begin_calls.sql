-- Begins calls for the runs that have taken their jobs, a whole batch in one round trip, and returns their rows: none
-- for a call that has ended or that another run has. src/shared/calls/statements.ts is its only caller.
--
-- A commit that is not "flushed" may be lost if Postgres crashes (docs/architecture.md#begin).
--
-- Why a function, and between the first and the last of the ids: so Postgres sets up the months of these calls alone,
-- by a plan that it has made before (docs/scaling.md#months). Outside of a function it would plan this anew at each
-- use, since a plan for given ids seems cheaper than one for any.
CREATE OR REPLACE FUNCTION begin_calls(ids uuid[], runs uuid[], lease_seconds integer, flushed boolean, lowest uuid,
  greatest_id uuid)
RETURNS SETOF calls
LANGUAGE plpgsql SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
  IF NOT flushed THEN SET LOCAL synchronous_commit = off; END IF;
  RETURN QUERY
    UPDATE calls c SET status = 'running',
      attempts = c.attempts
        + CASE WHEN c.status = 'queued' OR c.started_by <> runs[array_position(ids, c.id)] THEN 1 ELSE 0 END,
      started_at = coalesce(c.started_at, now()),
      started_by = runs[array_position(ids, c.id)],
      lease_until = now() + make_interval(secs => lease_seconds)
    WHERE c.id = ANY (ids) AND c.id BETWEEN lowest AND greatest_id AND c.status IN ('queued', 'running')
      AND (c.started_by IS NULL OR c.started_by = runs[array_position(ids, c.id)] OR c.lease_until < now())
    RETURNING c.*;
END $$;
COMMENT ON FUNCTION begin_calls IS 'Begins calls for runs; the rows of those that are theirs.';
