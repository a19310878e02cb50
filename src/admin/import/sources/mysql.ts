/** The tables of another gateway in MySQL or MariaDB. */
import mysql from 'mysql2'
import type { RowDataPacket } from 'mysql2'
import type { Row, Source } from './source.ts'
import { BATCH, CONNECT_MS } from './source.ts'

const quoted = (name: string): string => `\`${name.replaceAll('`', '``')}\``

/** Opens a transaction that reads only, at one moment. @throws if the database cannot be reached or refuses us */
export async function openMysql(address: string): Promise<Source> {
  const raw = mysql.createConnection({
    uri: address.replace(/^mariadb:/, 'mysql:'),
    connectTimeout: CONNECT_MS,
    supportBigNumbers: true,
    bigNumberStrings: true,
    decimalNumbers: false,
    dateStrings: true,
    timezone: 'Z',
  })
  // A connection that breaks between two statements fails the next one.
  raw.on('error', () => {})
  const connection = raw.promise()
  await connection.query('SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ')
  await connection.query('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY')
  return {
    columns: async (table) => {
      const [rows] = await connection.query<(RowDataPacket & { name: string })[]>(
        'SELECT column_name AS name FROM information_schema.columns WHERE table_schema = database() AND table_name = ?',
        [table],
      )
      return rows.length === 0 ? null : rows.map(({ name }) => name)
    },
    isEmpty: async (table) => {
      const [rows] = await connection.query<RowDataPacket[]>(`SELECT 1 FROM ${quoted(table)} LIMIT 1`)
      return rows.length === 0
    },
    async *rows(table, columns) {
      const list = columns.map(quoted).join(', ')
      // The stream stops the server once a batch waits for its reader.
      const stream = raw.query(`SELECT ${list} FROM ${quoted(table)} ORDER BY 1`).stream({ highWaterMark: BATCH })
      for await (const row of stream) yield row as Row
    },
    close: () => connection.end(),
  }
}
