/**
 * Lists of known values, which several migrations lengthen: a constraint of the form `column IN (…)`.
 */
import type { Knex } from 'knex'

/** Edits the list, whatever earlier migrations have made of it. */
async function edit(db: Knex, table: string, constraint: string, change: (text: string) => string): Promise<void> {
  const { rows } = await db.raw<{ rows: { definition: string }[] }>(
    `SELECT pg_get_constraintdef(oid) AS definition FROM pg_constraint WHERE conname = ? AND conrelid = ?::regclass`,
    [constraint, table],
  )
  await db.raw(`
    ALTER TABLE ${table} DROP CONSTRAINT ${constraint};
    ALTER TABLE ${table} ADD CONSTRAINT ${constraint} ${change(rows[0]!.definition)};
  `)
}

const listOf = (values: readonly string[]): string => values.map((value) => `, '${value}'::text`).join('')

/** Adds values to what a constraint allows. */
export const addKnown = (db: Knex, table: string, constraint: string, values: readonly string[]): Promise<void> =>
  edit(db, table, constraint, (text) => text.replace(']', `${listOf(values)}]`))

/** Takes them out again. No row may have one of them. */
export const removeKnown = (db: Knex, table: string, constraint: string, values: readonly string[]): Promise<void> =>
  edit(db, table, constraint, (text) => text.replace(listOf(values), ''))
