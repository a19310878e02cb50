/**
 * Tables as people read them: one `CREATE TABLE` each, and next to every column what it means. These remarks are stored
 * in the database too, so that `\d+` shows them. Composite types are written in the same way.
 */
import type { Knex } from 'knex'

/**
 * Runs statements that create tables and domains. The comment above a table or a domain, and the one above or next to a
 * column, become its `COMMENT` in the database; those above indexes and constraints are for readers of the file only.
 */
export async function createTables(db: Knex, sql: string): Promise<void> {
  await db.raw([sql, ...remarksOf(sql)].join('\n').replaceAll('?', String.raw`\?`))
}

function remarksOf(sql: string): string[] {
  const remarks: string[] = []
  let table: string | null = null
  let above: string[] = []
  for (const line of sql.split('\n')) {
    const [, code = '', beside] = /^\s*(.*?)\s*(?:-- (.*))?$/.exec(line)!
    const remark = beside === undefined ? above : [...above, beside]
    const [, kind, name] = /^CREATE (TABLE|DOMAIN|TYPE) (\w+)/.exec(code) ?? []
    // In a table only columns begin with small letters: a name and a type.
    const [, column] = /^([a-z]\w*) [a-z]/.exec(code) ?? []
    if (kind && kind !== 'DOMAIN') table = name!
    else if (code.startsWith(')')) table = null
    if (remark.length > 0 && kind) remarks.push(remarkOn(`${kind} ${name!}`, remark))
    if (remark.length > 0 && table && column) remarks.push(remarkOn(`COLUMN ${table}.${column}`, remark))
    above = code === '' ? remark : []
  }
  return remarks
}

const remarkOn = (what: string, remark: string[]): string =>
  `COMMENT ON ${what} IS '${remark.join(' ').replaceAll("'", "''")}';`

/**
 * Makes one check of the rules that a table declares, which calls a function: Postgres parses the text of each check
 * again for every statement that writes the table, and a function once a connection (docs/performance.md#constraints).
 * A row that breaks a rule is refused by the name of the rule, and the remark on the function lists all of them. The
 * check is lost with any column that it reads: `unfoldChecks` comes before a change of the table's rules or columns.
 */
export const foldChecks = (db: Knex, table: string): Promise<void> =>
  db.raw(
    `
    DO $do$
    DECLARE
      columns text;
      parameters text;
      checks text[];
      rules text;
      broken text;
    BEGIN
      SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum),
        string_agg(format('%I %s', attname, coalesce(nullif(typbasetype, 0), t.oid)::regtype), ', ' ORDER BY attnum)
      INTO columns, parameters FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid
      WHERE attrelid = '${table}'::regclass AND attnum IN (
        SELECT unnest(conkey) FROM pg_constraint WHERE conrelid = attrelid AND contype = 'c');
      SELECT array_agg(format('CONSTRAINT %I %s', conname, pg_get_constraintdef(oid)) ORDER BY conname),
        string_agg(pg_get_expr(conbin, conrelid), ' AND ' ORDER BY conname),
        string_agg(format('WHEN NOT %s THEN %L', pg_get_expr(conbin, conrelid), conname), ' ' ORDER BY conname)
      INTO checks, rules, broken FROM pg_constraint WHERE conrelid = '${table}'::regclass AND contype = 'c';
      EXECUTE format($$CREATE FUNCTION ${table}_rules(%s) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $body$
        DECLARE
          broken text;
        BEGIN
          IF (%s) IS NOT FALSE THEN RETURN true; END IF;
          broken := CASE %s END;
          RAISE check_violation USING TABLE = '${table}', CONSTRAINT = broken,
            MESSAGE = format('new row for relation "${table}" violates check constraint "%%s"', broken);
        END $body$ $$, parameters, rules, broken);
      EXECUTE format('COMMENT ON FUNCTION ${table}_rules IS %L', array_to_string(checks, E',\\n'));
      EXECUTE format('ALTER TABLE ${table} DROP %s, ADD CONSTRAINT ${table}_rules CHECK (${table}_rules(%s))',
        (SELECT string_agg(substring(c FROM 'CONSTRAINT \\S+'), ', DROP ') FROM unnest(checks) c), columns);
    END $do$`.replaceAll('?', String.raw`\?`),
  )

/** Declares the rules of a table one by one again. */
export const unfoldChecks = (db: Knex, table: string): Promise<void> =>
  db.raw(`
    DO $do$ BEGIN
      EXECUTE format('ALTER TABLE ${table} DROP CONSTRAINT ${table}_rules, ADD %s',
        replace(obj_description('${table}_rules'::regproc), E',\\n', ', ADD '));
      DROP FUNCTION ${table}_rules;
    END $do$`)

/**
 * Allows a column to have more words: those of its check `<table>_<column>_known`, which other migrations extend too.
 * Rows that exist are not read again.
 */
export const allowWords = (db: Knex, table: string, column: string, words: readonly string[]): Promise<void> =>
  changeWords(db, table, column, (known) => [...known, ...words])

/** Takes words back that `allowWords` has allowed. */
export const refuseWords = (db: Knex, table: string, column: string, words: readonly string[]): Promise<void> =>
  changeWords(db, table, column, (known) => known.filter((word) => !words.includes(word)))

async function changeWords(db: Knex, table: string, column: string, change: (known: string[]) => string[]) {
  const name = `${table}_${column}_known`
  const { rows } = await db.raw<{ rows: { rule: string }[] }>(
    'SELECT pg_get_constraintdef(oid) AS rule FROM pg_constraint WHERE conname = ?',
    [name],
  )
  const known = [...rows[0]!.rule.matchAll(/'(\w+)'/g)].map(([, word]) => word!)
  const words = change(known).map((word) => `'${word}'`)
  await db.raw(`
    ALTER TABLE ${table} DROP CONSTRAINT ${name};
    ALTER TABLE ${table} ADD CONSTRAINT ${name} CHECK (${column} IN (${words.join(', ')})) NOT VALID`)
}
