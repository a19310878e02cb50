/** Reads the tables of another gateway: their columns are checked first, and rows with odd values are listed. */
import type { z } from 'zod'
import type { Listed } from '../../shared/operators/import/plan.ts'
import { CommandError } from '../command.ts'
import { sourceFailure } from './sources/open.ts'
import type { Row, Source } from './sources/source.ts'

/**
 * A table of another gateway. `schema`: its columns, of which the first identifies a row; those that may be absent are
 * not in every supported version. `what`: what a row is, in lists. `idOf`: how a row is named there, if its first
 * column must not be shown.
 */
export type Table<Shape extends z.ZodRawShape> = {
  name: string
  what: string
  schema: z.ZodObject<Shape>
  idOf?: (id: string) => string
}

/** What is read from, the versions whose schema is supported, and what has been listed so far. */
export type Reading = { source: Source; versions: string; listed: Listed[] }

const supported = (versions: string): string => `supported is ${versions}, and versions with the same columns.`

/** The most characters of an id that lists show, and that can be stored. */
const MAX_ID = 200

/** Whether the table exists, with all columns that it needs; and those of them to read. */
async function columnsOf({ source, versions }: Reading, table: Table<z.ZodRawShape>): Promise<string[] | null> {
  const found = await source.columns(table.name)
  if (!found) return null
  const wanted = Object.entries(table.schema.shape) as [string, z.ZodType][]
  if (found.length === 0) return wanted.map(([name]) => name)
  const missing = wanted.find(([name, column]) => !found.includes(name) && !column.safeParse(undefined).success)
  if (missing) throw new CommandError(`The table ${table.name} has no column ${missing[0]}: ${supported(versions)}`)
  return wanted.map(([name]) => name).filter((name) => found.includes(name))
}

/** The id of a row as text; null if it cannot be an id. */
function idIn(row: Row, column: string): string | null {
  const value = row[column]
  const id = typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
  return id !== '' && id.length <= MAX_ID && /^[\P{C}]+$/u.test(id) ? id : null
}

/**
 * The rows of a table, read in batches. A row whose values are not what the column holds is listed, and left out.
 * @throws CommandError if the table or a column is missing: it names both and the supported versions
 */
export async function* rowsOf<Shape extends z.ZodRawShape>(
  reading: Reading,
  table: Table<Shape>,
): AsyncGenerator<z.output<z.ZodObject<Shape>>> {
  const columns = await columnsOf(reading, table as unknown as Table<z.ZodRawShape>).catch((error: unknown) => {
    throw sourceFailure(error)
  })
  if (!columns) throw new CommandError(`The source has no table ${table.name}: ${supported(reading.versions)}`)
  const [first = ''] = Object.keys(table.schema.shape)
  const shown = table.idOf ?? ((id: string) => id)
  let number = 0
  for await (const row of readable(reading.source.rows(table.name, columns))) {
    number++
    const id = idIn(row, first)
    const read = id === null ? null : table.schema.safeParse(row)
    if (read?.success) {
      yield read.data
      continue
    }
    const [issue] = read?.error?.issues ?? []
    const reason = issue ? `its ${String(issue.path[0])} ${issue.message}` : `its ${first} is not an id`
    reading.listed.push({ what: table.what, theirId: id === null ? `row ${number}` : shown(id), reason })
  }
}

/** The rows of a table that only some versions or installations have. */
export async function* rowsIfAny<Shape extends z.ZodRawShape>(
  reading: Reading,
  table: Table<Shape>,
): AsyncGenerator<z.output<z.ZodObject<Shape>>> {
  if (await reading.source.columns(table.name)) yield* rowsOf(reading, table)
}

/** A table that is not imported, and why. */
export type LeftOut = { table: string; what: string; reason: string }

/** Lists each of these tables that has rows. */
export async function listLeftOut({ source, listed }: Reading, tables: readonly LeftOut[]): Promise<void> {
  for (const { table, what, reason } of tables) {
    const hasRows = (await source.columns(table)) !== null && !(await source.isEmpty(table))
    if (hasRows) listed.push({ what, theirId: `all of ${table}`, reason })
  }
}

/** What a source yields; its own failures are sentences. */
async function* readable(rows: AsyncIterable<Row>): AsyncGenerator<Row> {
  try {
    yield* rows
  } catch (error) {
    throw sourceFailure(error)
  }
}
