/**
 * Files of CSV (RFC 4180), streamed a page at a time.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'

/** How many rows are read at a time: what one download holds in memory. */
export const CSV_PAGE = 500

/** The answer of an endpoint that exports. */
export const csv = (description: string) => ({ 200: { description, content: { 'text/csv': null } } }) as const

type Cell = string | number | null

/** Reads a page after a place; `next` is null on the last one. */
type ReadPage<Row, Place> = (after: Place | null) => Promise<{ rows: Row[]; next: Place | null }>

/** `?bom` in the query of an export: the file begins with a byte order mark, by which spreadsheets know UTF-8. */
export const csvQuery = { bom: z.enum(['', '1']).optional() } as const

const BYTE_ORDER_MARK = '\uFEFF'

/** Answers with a file. */
export function sendCsv<Column extends string, Row extends Record<Column, Cell>, Place>(
  ctx: { set: (headers: Record<string, string>) => void; body?: unknown },
  name: string,
  columns: readonly Column[],
  { bom }: { bom?: '' | '1' | undefined },
  read: ReadPage<Row, Place>,
): void {
  ctx.set({
    'Content-Type': 'text/csv; charset=utf-8',
    'Content-Disposition': `attachment; filename="tollgate-${name}.csv"`,
    'Cache-Control': 'no-store',
  })
  ctx.body = Readable.from(lines(columns, bom !== undefined ? BYTE_ORDER_MARK : '', read))
}

/** The lines of a file. The next page is read once the client has taken the one before. */
async function* lines<Column extends string, Row extends Record<Column, Cell>, Place>(
  columns: readonly Column[],
  begin: string,
  read: ReadPage<Row, Place>,
): AsyncGenerator<string> {
  yield `${begin}${columns.join(',')}\r\n`
  let after: Place | null = null
  do {
    const page: { rows: Row[]; next: Place | null } = await read(after)
    yield page.rows.map((row) => `${columns.map((column) => cell(row[column])).join(',')}\r\n`).join('')
    after = page.next
  } while (after !== null)
}

/** What a formula begins with; some spreadsheets take the wide forms too. */
const FORMULA = /^[=+\-@\t\r＝＋－＠]/

/** A spreadsheet runs a text that begins like a formula: a quote before it makes it a text. */
function cell(value: Cell): string {
  if (typeof value === 'number') return String(value)
  const text = value ?? ''
  const safe = FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
