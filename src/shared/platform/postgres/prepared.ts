/**
 * Prepared statements straight on a connection of the pool. Knex builds each statement again and copies its values on
 * the way; the few statements that every call runs pass it by (docs/performance.md#what-paid).
 */
import pg from 'pg'
import type { Db } from './db.ts'

/**
 * A statement that each connection prepares once, under its name. `$1` to `$n` are its values.
 *
 * A list as a bare parameter, as in `id = ANY ($1)`, makes Postgres plan the statement again at each use: a plan for
 * the given list seems cheaper than one for ten elements, which it assumes of any list. `ANY ((SELECT $1)::uuid[])`
 * is the same for both, and so the plan is reused (docs/performance.md#plans). A function needs no such care.
 */
export type Prepared = { name: string; text: string }

/** Runs a prepared statement. @returns its rows. @throws if no connection is available, and Postgres' errors. */
export async function runPrepared<Row extends object>(
  db: Db,
  { name, text }: Prepared,
  values: unknown[],
): Promise<Row[]> {
  const connection = (await db.client.acquireConnection()) as pg.Client
  try {
    return await new Promise<Row[]>((resolve, reject) => {
      // From a config object pg would make a slow copy, property by property.
      const query = new pg.Query<Row>(text, values, (error, result) => (error ? reject(error) : resolve(result.rows)))
      connection.query(Object.assign(query, { name }))
    })
  } finally {
    await db.client.releaseConnection(connection)
  }
}

/** What an array literal may have of one element. */
type Element = string | number | boolean | null | undefined

/**
 * An array as Postgres reads it, of elements that need no quotes: ids, numbers, truth values and our own words. What is
 * missing is NULL.
 */
export const plainArray = (elements: readonly Element[]): string => `{${elements.map((one) => one ?? 'NULL').join()}}`

/** The same of any texts. */
export const textArray = (texts: readonly (string | null | undefined)[]): string =>
  `{${texts.map((text) => (text == null ? 'NULL' : `"${withEscapes(text)}"`)).join()}}`

/** Most texts have nothing to escape, and a test costs less than replacing. One pattern for both would cost more. */
const withEscapes = (text: string): string =>
  /["\\]/.test(text) ? text.replaceAll('\\', '\\\\').replaceAll('"', '\\"') : text
