-- Refuses, when a transaction ends, that an account which was not deleted is left without an owner.
CREATE OR REPLACE FUNCTION keep_an_owner() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM accounts acc WHERE acc.id = OLD.account_id AND acc.deleted_at IS NULL)
    AND NOT EXISTS (SELECT FROM members m WHERE m.account_id = OLD.account_id AND m.role = 'owner') THEN
    RAISE EXCEPTION 'account % would have no owner', OLD.account_id
      USING ERRCODE = 'check_violation', CONSTRAINT = 'members_keep_an_owner';
  END IF;
  RETURN NULL;
END $$;

CREATE CONSTRAINT TRIGGER members_keep_an_owner AFTER DELETE OR UPDATE ON members
  DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION keep_an_owner();
COMMENT ON FUNCTION keep_an_owner IS 'Refuses that an account which was not deleted has no owner.';
