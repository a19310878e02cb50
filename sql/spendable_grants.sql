-- The grants that pay, in burn order: what expires first, then the oldest. "upto" is the running sum of an account, so
-- that a charge is an interval of that line, and its parts are the overlaps with the grants' intervals.
CREATE OR REPLACE FUNCTION spendable_grants(account_ids uuid[])
RETURNS TABLE (grant_id uuid, account_id uuid, remaining bigint, upto bigint)
LANGUAGE sql STABLE AS $$
  SELECT g.id, g.account_id, g.remaining, sum(g.remaining) OVER (
    PARTITION BY g.account_id
    ORDER BY grant_ends_at(g.expires_at, g.revived_until) NULLS LAST, g.created_at, g.id)::bigint
  FROM grants g
  WHERE g.account_id = ANY (account_ids) AND g.open
    AND coalesce(grant_ends_at(g.expires_at, g.revived_until) > now(), true)
$$;
COMMENT ON FUNCTION spendable_grants IS 'Grants of these accounts that can pay now, in burn order, with running sums.';
