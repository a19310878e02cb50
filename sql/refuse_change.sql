-- Ledger, catalogue, reversals, deductions and forgiven debts are append-only: nobody changes or removes a row, not
-- even by hand.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

DROP TRIGGER IF EXISTS ledger_entries_append_only ON ledger_entries;
CREATE TRIGGER ledger_entries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON ledger_entries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

DROP TRIGGER IF EXISTS catalogue_versions_append_only ON catalogue_versions;
CREATE TRIGGER catalogue_versions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON catalogue_versions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

DROP TRIGGER IF EXISTS payment_reversals_append_only ON payment_reversals;
CREATE TRIGGER payment_reversals_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON payment_reversals
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

DROP TRIGGER IF EXISTS forgiven_debts_append_only ON forgiven_debts;
CREATE TRIGGER forgiven_debts_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON forgiven_debts
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

DROP TRIGGER IF EXISTS deductions_append_only ON deductions;
CREATE TRIGGER deductions_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON deductions
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
COMMENT ON FUNCTION refuse_change IS 'Refuses updates and deletions.';
