/**
 * The rules of one row of the tables that every call writes: all of a table in one function, and one check constraint
 * that calls it. Postgres reads the text of every check constraint again for every statement that writes its table;
 * 43 texts were more than a third of a charge (docs/performance.md#constraints). A function is read once a connection.
 *
 * A rule is broken where it is false, not where it is null, as in any check constraint; and its name is the one that an
 * error carries. A later migration that changes a rule replaces the function, and validates the constraint anew.
 */
import type { Knex } from 'knex'

/** Table → the name of a rule → what holds for a row `r`. */
export type RowRules = Record<string, Record<string, string>>

/** Makes the functions, and the constraints without a look at the rows that are there: `VALIDATE` does that. */
export async function addRowRules(db: Knex, tables: RowRules): Promise<void> {
  for (const [table, rules] of Object.entries(tables)) {
    await setRowRules(db, table, rules)
    await db.raw(`ALTER TABLE ${table} ADD CONSTRAINT ${table}_rules CHECK (keeps_rules(${table}.*)) NOT VALID`)
  }
}

/** Makes or replaces the function of a table. Rows that are there keep a new rule already, or are validated anew. */
export async function setRowRules(db: Knex, table: string, rules: Record<string, string>): Promise<void> {
  const names = Object.entries(rules).map(([name, rule]) => `      WHEN NOT (${rule})\n        THEN '${name}'`)
  await db.raw(`
CREATE OR REPLACE FUNCTION keeps_rules(r ${table}) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  broken text := CASE
${names.join('\n')}
    END;
BEGIN
  IF broken IS NULL THEN RETURN true; END IF;
  RAISE check_violation USING TABLE = '${table}', CONSTRAINT = broken,
    MESSAGE = format('new row for relation "${table}" violates check constraint "%s"', broken);
END $$;
COMMENT ON FUNCTION keeps_rules(${table})
  IS 'Whether a row keeps the rules of ${table}; the error names the one that it breaks.';
`)
}

/** Takes them out again. */
export async function removeRowRules(db: Knex, tables: RowRules): Promise<void> {
  for (const table of Object.keys(tables)) {
    await db.raw(`
      ALTER TABLE ${table} DROP CONSTRAINT ${table}_rules;
      DROP FUNCTION keeps_rules(${table});`)
  }
}
