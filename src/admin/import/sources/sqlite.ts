/** The tables of another gateway in a file of SQLite. */
import { openSync, readSync, closeSync } from 'node:fs'
import sqlite from 'node-sqlite3-wasm'
import { CommandError } from '../../command.ts'
import type { Row, Source } from './source.ts'

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Where the head of a file states how it is written, and the value for a write-ahead log. */
const WRITE_VERSION_AT = 18
const WRITE_AHEAD = 2

/** Whether parts of a database are in a file next to it, which this reader does not read. */
function hasLog(path: string): boolean {
  const file = openSync(path, 'r')
  try {
    const head = Buffer.alloc(1)
    readSync(file, head, 0, 1, WRITE_VERSION_AT)
    return head[0] === WRITE_AHEAD
  } finally {
    closeSync(file)
  }
}

/**
 * Opens a file for reading. Other programs do not see its lock: it must be a copy that nobody writes to.
 * @throws CommandError for a file that is locked or has a write-ahead log; any error if it is no database
 */
export async function openSqlite(path: string): Promise<Source> {
  if (hasLog(path))
    throw new CommandError(`${path} has a write-ahead log. Copy it first: sqlite3 ${path} "VACUUM INTO 'copy.db'"`)
  const database = new sqlite.Database(path, { readOnly: true, fileMustExist: true })
  try {
    database.exec('BEGIN')
    database.all('SELECT name FROM sqlite_master LIMIT 1')
  } catch (error) {
    database.close()
    if (!/locked/.test(String(error))) throw error
    throw new CommandError(
      `${path} is locked. If nothing reads it, a killed reader has left ${path}.lock: remove that.`,
    )
  }
  return {
    columns: async (table) => {
      const rows = database.all('SELECT name FROM pragma_table_info(?)', [table]) as { name: string }[]
      return rows.length === 0 ? null : rows.map(({ name }) => name)
    },
    isEmpty: async (table) => database.get(`SELECT 1 FROM ${quoted(table)} LIMIT 1`) === null,
    async *rows(table, columns) {
      const list = columns.map(quoted).join(', ')
      const statement = database.prepare(`SELECT ${list} FROM ${quoted(table)} ORDER BY 1`)
      try {
        for (const row of statement.iterate()) yield row as Row
      } finally {
        statement.finalize()
      }
    },
    close: async () => database.close(),
  }
}
