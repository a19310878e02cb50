-- Removes what is left in expired grants from the balances, with one entry each. The caller holds the accounts' rows.
-- Everything that moves credits calls it first, so that a grant that gets something back does not revive what was left
-- when it expired, and so that a balance is what can be spent.
CREATE OR REPLACE FUNCTION expire_grants(account_ids uuid[], moment timestamptz) RETURNS integer
LANGUAGE plpgsql AS $$
DECLARE
  accounts_of uuid[];
  grants_of uuid[];
  parts bigint[];
BEGIN
  SELECT array_agg(due.account_id), array_agg(due.id), array_agg(-due.remaining) INTO accounts_of, grants_of, parts
  FROM (
    SELECT g.account_id, g.id, g.remaining FROM grants g
    WHERE g.account_id = ANY (account_ids) AND g.open AND grant_ends_at(g.expires_at, g.revived_until) <= moment
    ORDER BY grant_ends_at(g.expires_at, g.revived_until), g.created_at, g.id
  ) due;
  IF grants_of IS NULL THEN RETURN 0; END IF;
  PERFORM move_credits(moment, accounts_of, grants_of, parts,
    array_fill('expiry'::text, ARRAY[cardinality(grants_of)]));
  RETURN cardinality(grants_of);
END $$;
COMMENT ON FUNCTION expire_grants IS
  'Removes what is left in expired grants of these accounts, by entries of kind expiry; returns how many grants.';
