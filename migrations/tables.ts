/**
 * Tables as people read them: one `CREATE TABLE` each, and next to every column what it means. These remarks are kept
 * in the database too, so that `\d+` shows them. Composite types are written in the same way.
 */
import type { Knex } from 'knex'

/**
 * Runs statements that create tables and domains. The comment above a table or a domain, and the one above or beside a
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
    const said = beside === undefined ? above : [...above, beside]
    const [, kind, name] = /^CREATE (TABLE|DOMAIN|TYPE) (\w+)/.exec(code) ?? []
    // Of what stands in a table only columns begin with small letters: a name and a type.
    const [, column] = /^([a-z]\w*) [a-z]/.exec(code) ?? []
    if (kind && kind !== 'DOMAIN') table = name!
    else if (code.startsWith(')')) table = null
    if (said.length > 0 && kind) remarks.push(remarkOn(`${kind} ${name!}`, said))
    if (said.length > 0 && table && column) remarks.push(remarkOn(`COLUMN ${table}.${column}`, said))
    above = code === '' ? said : []
  }
  return remarks
}

const remarkOn = (what: string, said: string[]): string =>
  `COMMENT ON ${what} IS '${said.join(' ').replaceAll("'", "''")}';`
