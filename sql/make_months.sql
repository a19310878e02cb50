-- Makes the partitions of a month (UTC) and of those after it, where there are none, and returns how many. Each is made
-- alone and then attached, which keeps no statement waiting. What is unique without the id is so within a month:
-- across months the account's row, which the writer holds, does not let it come twice (docs/scaling.md#months).
CREATE OR REPLACE FUNCTION make_months(since timestamptz, more integer) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  month timestamp;
  parent text;
  made text;
  count integer := 0;
BEGIN
  -- Two at once take turns.
  PERFORM pg_advisory_xact_lock(7604114);
  FOR month IN SELECT date_trunc('month', since AT TIME ZONE 'UTC') + n * interval '1 month'
    FROM generate_series(0, more) n ORDER BY n
  LOOP
    FOREACH parent IN ARRAY ARRAY['calls', 'call_results', 'ledger_entries'] LOOP
      CONTINUE WHEN has_month(parent, month);
      made := parent || to_char(month, '_YYYY_MM');
      EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES) WITH (%s
        autovacuum_analyze_threshold = 5000, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_insert_threshold = 5000)', made, parent,
        CASE parent WHEN 'calls' THEN 'fillfactor = 80,' ELSE '' END);
      EXECUTE format('COMMENT ON TABLE %I IS %L', made, format('A part of %s: one month (UTC).', parent));
      IF parent = 'calls' THEN
        EXECUTE format('CREATE UNIQUE INDEX %I ON %I (account_id, idempotency_key, user_id)
          WHERE idempotency_key IS NOT NULL', made || '_idempotency', made);
      ELSIF parent = 'ledger_entries' THEN
        EXECUTE format('ALTER TABLE %I ADD CONSTRAINT %I PRIMARY KEY (account_id, seq)', made, made || '_pkey');
        EXECUTE format('CREATE UNIQUE INDEX %I ON %I (call_id, grant_id, kind) WHERE call_id IS NOT NULL',
          made || '_once_per_call', made);
        EXECUTE format('CREATE TRIGGER ledger_entries_append_only BEFORE DELETE OR UPDATE OR TRUNCATE ON %I
          FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()', made);
      END IF;
      EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, made,
        first_id(month AT TIME ZONE 'UTC'), first_id((month + interval '1 month') AT TIME ZONE 'UTC'));
      count := count + 1;
    END LOOP;
  END LOOP;
  RETURN count;
END $$;
COMMENT ON FUNCTION make_months IS 'Makes the partitions of a month, and of the next ones.';
