-- Ledger, catalogue, reversals, deductions and forgiven debts are append-only: nobody changes or removes a row, not
-- even by hand.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER catalogue_versions_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON catalogue_versions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER payment_reversals_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON payment_reversals
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER forgiven_debts_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON forgiven_debts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER deductions_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON deductions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
COMMENT ON FUNCTION refuse_change IS 'Refuses updates and deletions.';
