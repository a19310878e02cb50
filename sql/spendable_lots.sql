-- The lots that pay, in burn order: what expires first, then the oldest. "upto" is the running sum of an account, so that a
-- charge is an interval of that line, and its parts are the overlaps with the lots' intervals.
CREATE OR REPLACE FUNCTION spendable_lots(accounts uuid[])
RETURNS TABLE (grant_id uuid, user_id uuid, remaining bigint, upto bigint)
LANGUAGE sql STABLE AS $$
  SELECT g.id, g.user_id, g.remaining,
    sum(g.remaining) OVER (PARTITION BY g.user_id ORDER BY g.expires_at NULLS LAST, g.created_at, g.id)::bigint
  FROM grants g
  WHERE g.user_id = ANY (accounts) AND g.open AND (g.expires_at IS NULL OR g.expires_at > now())
$$;
COMMENT ON FUNCTION spendable_lots IS 'Grants of these accounts that can pay now, in burn order, with running sums.';
