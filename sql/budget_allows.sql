-- Whether a charge is within a budget, of which this many credits are used in the current window. A budget of 0 allows
-- nothing, not even a call that costs nothing. Null where there is no budget.
CREATE OR REPLACE FUNCTION budget_allows(budget bigint, used bigint, charge bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE AS $$
  SELECT budget > 0 AND used + charge <= budget
$$;
COMMENT ON FUNCTION budget_allows IS 'Whether a charge is within a budget, of which so much is used.';
