-- The budgets that a call uses: its key's, and its member's, with all the keys that they have for the account.
CREATE OR REPLACE FUNCTION budgets_of(of_account uuid, of_key uuid, of_member uuid) RETURNS SETOF budgets
LANGUAGE sql STABLE AS $$
  SELECT b.* FROM budgets b WHERE b.key_id = of_key
  UNION ALL
  SELECT b.* FROM budgets b WHERE b.account_id = of_account AND b.user_id = of_member
$$;
COMMENT ON FUNCTION budgets_of
  IS 'The budgets that the calls of a key use: its own, and that of the member whose it is.';
