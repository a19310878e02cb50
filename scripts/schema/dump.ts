import type { Knex } from 'knex'

type Table = {
  name: string
  about: string | null
  options: string | null
  partitions: string | null
  columns: { line: string; about: string | null }[]
  constraints: string[]
  indexes: string[]
  triggers: string[]
}

const TABLES = `
  SELECT t.relname AS name, obj_description(t.oid, 'pg_class') AS about, array_to_string(t.reloptions, ', ') AS options,
    pg_get_partkeydef(t.oid) AS partitions,
    coalesce((SELECT json_agg(json_build_object(
      'line', concat_ws(' ', quote_ident(a.attname), format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN 'NOT NULL' END, 'DEFAULT ' || pg_get_expr(d.adbin, d.adrelid)),
      'about', col_description(t.oid, a.attnum)) ORDER BY a.attnum)
      FROM pg_attribute a LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
      WHERE a.attrelid = t.oid AND a.attnum > 0 AND NOT a.attisdropped), '[]') AS columns,
    array(SELECT format('CONSTRAINT %I %s', c.conname, pg_get_constraintdef(c.oid)) FROM pg_constraint c
      WHERE c.conrelid = t.oid AND c.contype IN ('p', 'u', 'f', 'c', 'x')
      ORDER BY array_position(ARRAY['p', 'u', 'f', 'c', 'x'], c.contype::text), c.conname) AS constraints,
    array(SELECT replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON ')
      FROM pg_index i JOIN pg_class n ON n.oid = i.indexrelid
      WHERE i.indrelid = t.oid AND NOT EXISTS (
        SELECT FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype IN ('p', 'u', 'x'))
      ORDER BY n.relname) AS indexes,
    array(SELECT pg_get_triggerdef(g.oid) FROM pg_trigger g
      WHERE g.tgrelid = t.oid AND NOT g.tgisinternal ORDER BY g.tgname) AS triggers
  FROM pg_class t
  WHERE t.relnamespace = 'public'::regnamespace AND t.relkind IN ('r', 'p') AND NOT t.relispartition
    AND t.relname NOT LIKE 'knex%'
  ORDER BY t.relname`

const DOMAINS = `
  SELECT concat('-- ', obj_description(t.oid, 'pg_type'), E'\\nCREATE DOMAIN ', t.typname, ' AS ',
    format_type(t.typbasetype, t.typtypmod), (SELECT string_agg(
      format(E'\\n  CONSTRAINT %I %s', c.conname, pg_get_constraintdef(c.oid)), '' ORDER BY c.conname)
      FROM pg_constraint c WHERE c.contypid = t.oid), E';\\n') AS text
  FROM pg_type t WHERE t.typnamespace = 'public'::regnamespace AND t.typtype = 'd' ORDER BY t.typname`

// The body of a function is in its file of sql/. The dump has what must not change under its name.
const FUNCTIONS = `
  SELECT format('%s(%s)', p.proname, pg_get_function_arguments(p.oid)) AS name, pg_get_function_result(p.oid) AS result,
    array_to_string(p.proconfig, ', ') AS settings, obj_description(p.oid, 'pg_proc') AS about
  FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace ORDER BY 1`

type Fn = { name: string; result: string; settings: string | null; about: string | null }

const HEADER =
  '-- The schema after all migrations, written by `npm run schema`: to read, and to compare. Nothing runs this file.\n'

/**
 * The schema of a database as text that reads like SQL, the same for equal schemas. It has no data, no owners, no
 * partitions (which depend on the month) and none of knex's own tables.
 */
export async function dumpSchema(db: Knex): Promise<string> {
  const { rows: domains } = await db.raw<{ rows: { text: string }[] }>(DOMAINS)
  const { rows: tables } = await db.raw<{ rows: Table[] }>(TABLES)
  const { rows: functions } = await db.raw<{ rows: Fn[] }>(FUNCTIONS)
  return [HEADER, ...domains.map(({ text }) => text), ...tables.map(textOf), ...functions.map(signatureOf)]
    .join('\n')
    .replaceAll('public.', '')
    .replaceAll('timestamp with time zone', 'timestamptz')
}

function textOf({ name, about, options, partitions, columns, constraints, indexes, triggers }: Table): string {
  const lines = [...columns, ...constraints.map((line) => ({ line, about: null }))]
  const body = lines.map(
    ({ line, about: remark }, at) => `  ${line}${at < lines.length - 1 ? ',' : ''}${remark ? ` -- ${remark}` : ''}`,
  )
  return [
    `-- ${about ?? ''}`,
    `CREATE TABLE ${name} (`,
    ...body,
    `)${partitions ? ` PARTITION BY ${partitions}` : ''}${options ? ` WITH (${options})` : ''};`,
    ...[...indexes, ...triggers].map((line) => `${line};`),
    '',
  ].join('\n')
}

function signatureOf({ name, result, settings, about }: Fn): string {
  const text = `CREATE FUNCTION ${name} RETURNS ${result}${settings ? ` SET ${settings}` : ''}`
  return [`-- ${(about ?? '').replaceAll('\n', '\n-- ')}`, `${text};`, ''].join('\n')
}
