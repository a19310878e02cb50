/**
 * The triggers of `sql/`. Making or dropping one locks its table: that waits for every running call, and blocks the
 * next ones. So the release phase makes only those that the database does not have as they are written, and a release
 * that changes functions alone locks no table.
 */
import type { Knex } from 'knex'

/** A trigger as its file has it: on one line, and without the semicolon. */
export type Trigger = { name: string; table: string; definition: string }

const STATEMENT = /^(CREATE (?:CONSTRAINT )?TRIGGER (\w+)\s[^;]*?\sON (\w+)\s[^;]*);/gm

/** The text of a file without its triggers, and the triggers. */
export function splitTriggers(text: string): { rest: string; triggers: Trigger[] } {
  const triggers = Array.from(text.matchAll(STATEMENT), ([, statement = '', name = '', table = '']): Trigger => {
    return { name, table, definition: statement.replaceAll(/\s+/g, ' ') }
  })
  return { rest: text.replaceAll(STATEMENT, ''), triggers }
}

/** Those that a database does not have, has disabled, or has with another text than `pg_get_triggerdef` writes. */
export async function changedTriggers<T extends Trigger>(trx: Knex.Transaction, triggers: T[]): Promise<T[]> {
  const { rows } = await trx.raw<{ rows: { definition: string }[] }>(
    `SELECT pg_get_triggerdef(oid, true) AS definition FROM pg_trigger
     WHERE NOT tgisinternal AND tgenabled = 'O' AND tgname = ANY (?)`,
    [triggers.map(({ name }) => name)],
  )
  const existing = new Set(rows.map(({ definition }) => definition))
  return triggers.filter(({ definition }) => !existing.has(definition))
}

/**
 * Takes the locks that the change of triggers needs, all at once: the accounts first, as every statement of the money
 * does, so that the calls that come meanwhile wait there, and hold none of the others.
 */
export const lockFor = (triggers: readonly Trigger[]): string =>
  `LOCK TABLE ${tablesOf(triggers).join(', ')} IN ACCESS EXCLUSIVE MODE`

const tablesOf = (triggers: readonly Trigger[]): string[] => [
  ...new Set(['accounts', ...triggers.map(({ table }) => table).toSorted()]),
]

/** Makes a trigger anew. */
export const replacementOf = ({ name, table, definition }: Trigger): string =>
  `DROP TRIGGER IF EXISTS ${name} ON ${table}; ${definition}`
