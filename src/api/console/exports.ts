/**
 * /api/exports: all calls and the whole ledger of an account as CSV (RFC 4180), streamed a page at a time.
 */
import { Readable } from 'node:stream'
import { z } from 'zod'
import type { CallPosition } from '../../shared/calls/call-list.ts'
import { listCalls } from '../../shared/calls/call-list.ts'
import { listEntries } from '../../shared/ledger/ledger.ts'
import type { WebDeps } from '../deps.ts'
import { endpoint } from '../endpoint.ts'
import { session } from '../who.ts'
import { callFilter, filterOf } from './calls.ts'

/** How many rows are read at a time: what one download holds in memory. */
const PAGE = 500

const CALL_COLUMNS = [
  'id',
  'createdAt',
  'finishedAt',
  'model',
  'modality',
  'status',
  'httpStatus',
  'errorType',
  'credits',
  'creditsPrecharged',
  'creditsUncollected',
  'inputTokens',
  'outputTokens',
  'latencyMs',
  'upstream',
  'attempts',
  'keyId',
  'count',
] as const

const ENTRY_COLUMNS = [
  'createdAt',
  'kind',
  'amount',
  'balanceAfter',
  'origin',
  'callId',
  'grantId',
  'note',
  'id',
] as const

const declared = { method: 'get', tag: 'Records', who: session, errors: [] } as const

const csv = (description: string) => ({ 200: { description, content: { 'text/csv': null } } }) as const

/** Exports the calls that a filter leaves, newest first. */
export const exportCalls = endpoint({
  ...declared,
  path: '/api/exports/calls',
  summary: 'Export calls as CSV',
  query: z.object(callFilter),
  answers: csv('All calls, newest first, with a line of headings.'),
}).write(({ db }: Pick<WebDeps, 'db'>) => ({ who: { accountId }, query }, ctx) => {
  const filter = filterOf(query)
  send(ctx, 'calls', CALL_COLUMNS, async (after: CallPosition | null) => {
    const { calls, next } = await listCalls(db, accountId, filter, PAGE, after)
    return { rows: calls, next }
  })
})

/** Exports the ledger, newest first. */
export const exportLedger = endpoint({
  ...declared,
  path: '/api/exports/ledger',
  summary: 'Export the ledger as CSV',
  answers: csv('All entries, newest first, with a line of headings.'),
}).write(({ db }: Pick<WebDeps, 'db'>) => ({ who: { accountId } }, ctx) => {
  send(ctx, 'ledger', ENTRY_COLUMNS, async (before: number | null) => {
    const { entries, next } = await listEntries(db, accountId, PAGE, before)
    return { rows: entries, next }
  })
})

type Cell = string | number | null

/** Reads a page after a place; `next` is null on the last one. */
type ReadPage<Row, Place> = (after: Place | null) => Promise<{ rows: Row[]; next: Place | null }>

function send<Column extends string, Row extends Record<Column, Cell>, Place>(
  ctx: { set: (headers: Record<string, string>) => void; body?: unknown },
  name: string,
  columns: readonly Column[],
  read: ReadPage<Row, Place>,
): void {
  ctx.set({
    'Content-Type': 'text/csv; charset=utf-8',
    'Content-Disposition': `attachment; filename="tollgate-${name}.csv"`,
    'Cache-Control': 'no-store',
  })
  ctx.body = Readable.from(lines(columns, read))
}

/** The lines of a file. The next page is read once the client has taken the one before. */
async function* lines<Column extends string, Row extends Record<Column, Cell>, Place>(
  columns: readonly Column[],
  read: ReadPage<Row, Place>,
): AsyncGenerator<string> {
  yield `${columns.join(',')}\r\n`
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
