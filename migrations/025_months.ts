/**
 * Calls, their results and the ledger in partitions by month, by the time in an id (docs/scaling.md#months). The tables
 * that exist become the partition of everything up to a month that is to come: no row is copied, and no lock is held
 * for longer than the catalogue's rows take. What reads all rows comes first, while calls run.
 */
import type { Knex } from 'knex'

/** The partitioned tables, and the column that has the id. */
const TABLES = { calls: 'id', call_results: 'call_id', ledger_entries: 'id' }

/** The lowest id of a moment, as sql/first_id.sql has it, which a new database does not have yet. */
const firstId = (moment: string): string =>
  `(lpad(to_hex(floor(extract(epoch FROM ${moment}) * 1000)::bigint), 12, '0') || '70008000000000000000')::uuid`

const NEW_ID = `(lpad(to_hex((extract(epoch FROM clock_timestamp()) * 1000)::bigint), 12, '0') || '7'
  || substr(replace(gen_random_uuid()::text, '-', ''), 14))::uuid`

/** The last month of the partition of what exists: at least a week is left until its end. */
const LAST_MONTH = `date_trunc('month', now() AT TIME ZONE 'UTC' + interval '7 days')`

/** Waits so briefly for a lock that calls do not notice; it is tried again. */
const BRIEFLY = `SET LOCAL lock_timeout = '100ms'`

// Entries from before have the id of this moment: between those of their calls and every later one.
const ADD_ID = `
  DO $do$ BEGIN
    IF NOT EXISTS (SELECT FROM pg_attribute WHERE attrelid = 'ledger_entries'::regclass AND attname = 'id') THEN
      ${BRIEFLY};
      EXECUTE format('ALTER TABLE ledger_entries ADD COLUMN id uuid NOT NULL DEFAULT %L', ${firstId('now()')});
      ALTER TABLE ledger_entries ALTER COLUMN id SET DEFAULT ${NEW_ID};
      COMMENT ON COLUMN ledger_entries.id IS
        'UUIDv7 of its time: decides its partition. Entries from before there were partitions share one.';
    END IF;
  END $do$`

/** Declares that a table ends with that month; its name has the month. */
const declareEnd = (table: string, key: string): string => `
  DO $do$ DECLARE last timestamp := ${LAST_MONTH};
  BEGIN
    IF NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = '${table}'::regclass AND conname LIKE '${table}_until_%')
    THEN
      ${BRIEFLY};
      EXECUTE format('ALTER TABLE ${table} ADD CONSTRAINT %I CHECK (${key} < %L) NOT VALID',
        '${table}' || to_char(last, '"_until_"YYYY_MM'),
        ${firstId(`(last + interval '1 month') AT TIME ZONE 'UTC'`)});
    END IF;
  END $do$`

/** Reads the table to prove it, under a lock that no call needs. */
const proveEnd = (table: string): string => `
  DO $do$ DECLARE declared name;
  BEGIN
    FOR declared IN SELECT conname FROM pg_constraint
      WHERE conrelid = '${table}'::regclass AND conname LIKE '${table}_until_%' AND NOT convalidated
    LOOP EXECUTE format('ALTER TABLE ${table} VALIDATE CONSTRAINT %I', declared);
    END LOOP;
  END $do$`

export const concurrently: Record<string, string> = {
  ledger_entries_ids: ADD_ID,
  ...Object.fromEntries(
    Object.entries(TABLES).flatMap(([table, key]) => [
      [`${table}_end_declared`, declareEnd(table, key)],
      [`${table}_end_proved`, proveEnd(table)],
    ]),
  ),
}

/**
 * Puts a partitioned table in the place of one that exists, which becomes its first partition. Its indexes come from
 * those of the partition; one that is unique without the id stays the partition's own, and so does a primary key.
 */
const partition = (table: string, key: string): string => `
  DO $do$
  DECLARE
    old name := coalesce((SELECT conname FROM pg_constraint
      WHERE conrelid = '${table}'::regclass AND conname LIKE '${table}_until_%'),
      '${table}' || to_char(${LAST_MONTH}, '"_until_"YYYY_MM'));
    upto timestamptz := (to_date(right(old, 7), 'YYYY_MM') + interval '1 month') AT TIME ZONE 'UTC';
    indexes text[] := ARRAY(
      SELECT regexp_replace(pg_get_indexdef(i.indexrelid), '^CREATE INDEX (\\S+) ON \\S+',
        'CREATE INDEX \\1_all ON ${table}')
      FROM pg_index i WHERE i.indrelid = '${table}'::regclass AND NOT i.indisunique);
    triggers text[] := ARRAY(SELECT pg_get_triggerdef(g.oid) FROM pg_trigger g
      WHERE g.tgrelid = '${table}'::regclass AND NOT g.tgisinternal);
    made text;
  BEGIN
    EXECUTE format('ALTER TABLE ${table} RENAME TO %I', old);
    EXECUTE format('CREATE TABLE ${table} (LIKE %I INCLUDING ALL EXCLUDING INDEXES) PARTITION BY RANGE (${key})', old);
    EXECUTE format('ALTER TABLE ${table} DROP CONSTRAINT IF EXISTS %I', old);
    EXECUTE format('COMMENT ON TABLE ${table} IS %L', obj_description(old::regclass, 'pg_class'));
    ${
      table === 'ledger_entries'
        ? `ALTER TABLE ledger_entries
      ADD CONSTRAINT ledger_entries_deduction_fkey FOREIGN KEY (account_id, deduction_id)
        REFERENCES deductions (account_id, id),
      ADD CONSTRAINT ledger_entries_payment_fkey FOREIGN KEY (payment_id, account_id)
        REFERENCES payments (id, account_id);`
        : `ALTER TABLE ${table} ADD CONSTRAINT ${table}_all_pkey PRIMARY KEY (${key});`
    }
    FOREACH made IN ARRAY indexes || triggers LOOP EXECUTE made; END LOOP;
    EXECUTE format('ALTER TABLE ${table} ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', old,
      ${firstId('upto')});
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT IF EXISTS %I', old, old);
    EXECUTE format('COMMENT ON TABLE %I IS %L', old, 'A part of ${table}: everything up to that month (UTC).');
  END $do$`

const LOCK = 'LOCK TABLE accounts, calls, call_results, call_tries, ledger_entries, deductions, payments'

export async function up(db: Knex): Promise<void> {
  // The accounts first, as every statement of the money does.
  await db.raw(`${LOCK} IN ACCESS EXCLUSIVE MODE`)
  await db.raw(ADD_ID)
  await db.raw(`
    ALTER TABLE call_results DROP CONSTRAINT call_results_call_fkey;
    ALTER TABLE call_tries DROP CONSTRAINT call_tries_call_fkey;
    -- Creating and dropping a month would lock the accounts. open_calls holds the account's row, whose key it checks.
    ALTER TABLE calls DROP CONSTRAINT calls_account_fkey;
    CREATE TEMP TABLE functions_of_calls ON COMMIT DROP AS
    SELECT oid::regprocedure::text AS signature, pg_get_functiondef(oid) AS text FROM pg_proc
    WHERE prorettype = 'calls'::regtype`)
  for (const [table, key] of Object.entries(TABLES)) await db.raw(partition(table, key))
  // The type of their result went with the old table: processes of the release before call them at any moment.
  await db.raw(`
    DO $do$ DECLARE f record;
    BEGIN
      FOR f IN SELECT * FROM functions_of_calls LOOP
        EXECUTE 'DROP FUNCTION ' || f.signature;
        EXECUTE f.text;
      END LOOP;
    END $do$;
    ALTER TABLE usage_watermark ADD kept_from uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000';
    COMMENT ON COLUMN usage_watermark.kept_from IS
      'Calls with lower ids are in months that are dropped, or about to be: budget_windows.swept has what they used.'`)
}

/** Puts every row into the oldest partition, and that in the place of the partitioned table. */
const unite = (table: string): string => `
  DO $do$
  DECLARE
    parts name[] := ARRAY(SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
      WHERE i.inhparent = '${table}'::regclass ORDER BY right(c.relname, 7));
    columns text := (SELECT string_agg(attname, ', ') FROM pg_attribute
      WHERE attrelid = '${table}'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '');
  BEGIN
    EXECUTE format('ALTER TABLE ${table} DETACH PARTITION %I', parts[1]);
    EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM ${table}', parts[1], columns, columns);
    DROP TABLE ${table};
    EXECUTE format('ALTER TABLE %I RENAME TO ${table}', parts[1]);
  END $do$`

export async function down(db: Knex): Promise<void> {
  await db.raw('ALTER TABLE usage_watermark DROP kept_from')
  for (const table of Object.keys(TABLES)) {
    const { rows } = await db.raw<{ rows: { about: string }[] }>(
      `SELECT obj_description('${table}'::regclass, 'pg_class') AS about`,
    )
    await db.raw(unite(table))
    await db.raw(`COMMENT ON TABLE ${table} IS '${rows[0]!.about}'`)
  }
  await db.raw(`
    ALTER TABLE calls ADD CONSTRAINT calls_account_fkey FOREIGN KEY (account_id) REFERENCES accounts (id);
    ALTER TABLE call_results ADD CONSTRAINT call_results_call_fkey
      FOREIGN KEY (call_id) REFERENCES calls (id) ON DELETE CASCADE;
    ALTER TABLE call_tries ADD CONSTRAINT call_tries_call_fkey
      FOREIGN KEY (call_id) REFERENCES calls (id) ON DELETE CASCADE;
    ALTER TABLE ledger_entries DROP COLUMN id`)
}
