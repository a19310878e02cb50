/** The tables of another gateway in Postgres. */
import pg from 'pg'
import type { Row, Source } from './source.ts'
import { BATCH, CONNECT_MS } from './source.ts'

/** Types of lists of texts; every other value is read as the text that Postgres writes, which is exact. */
const LISTS = new Set([1009, 1015])

const types: pg.CustomTypesConfig = {
  getTypeParser: (id: number) => (LISTS.has(id) ? pg.types.getTypeParser(id) : (value: string) => value),
}

const quoted = (name: string): string => pg.escapeIdentifier(name)

/** Opens a transaction that reads only, at one moment. @throws if the database cannot be reached or refuses us */
export async function openPostgres(address: string): Promise<Source> {
  const client = new pg.Client({ connectionString: address, connectionTimeoutMillis: CONNECT_MS, types })
  // A connection that breaks between two statements fails the next one.
  client.on('error', () => {})
  await client.connect()
  await client.query("SET timezone = 'UTC'; SET datestyle = ISO; SET extra_float_digits = 1")
  await client.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
  return {
    columns: async (table) => {
      const { rows } = await client.query<{ name: string }>(
        `SELECT column_name AS name FROM information_schema.columns
         WHERE table_schema = ANY (current_schemas(false)) AND table_name = $1`,
        [table],
      )
      return rows.length === 0 ? null : rows.map(({ name }) => name)
    },
    isEmpty: async (table) => (await client.query(`SELECT 1 FROM ${quoted(table)} LIMIT 1`)).rows.length === 0,
    async *rows(table, columns) {
      const list = columns.map(quoted).join(', ')
      await client.query(`DECLARE batch NO SCROLL CURSOR FOR SELECT ${list} FROM ${quoted(table)} ORDER BY 1`)
      try {
        for (;;) {
          const { rows } = await client.query<Row>(`FETCH ${BATCH} FROM batch`)
          yield* rows
          if (rows.length < BATCH) return
        }
      } finally {
        // Fails after a failed statement, whose own error is the one to report.
        await client.query('CLOSE batch').catch(() => {})
      }
    },
    close: () => client.end(),
  }
}
