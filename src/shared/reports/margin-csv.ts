/** Margins as CSV (RFC 4180), for the command line and the operators' page. Pure. */
import type { MarginRow } from './margins.ts'

type CsvColumn = [name: string, of: (row: MarginRow) => string | number | null]

const KINDS: CsvColumn[] = [
  ['day', (row) => row.day],
  ['model', (row) => row.model],
  ['upstream', (row) => row.upstream],
]

const GROUP: CsvColumn = ['group', ({ group = null }) => group]

const SUMS: CsvColumn[] = [
  ['calls', (row) => row.calls],
  ['credits', (row) => row.credits],
  ['revenue_micro_usd', (row) => row.revenueMicroUsd],
  ['cost_micro_usd', (row) => row.costMicroUsd],
  ['calls_of_unknown_cost', (row) => row.callsOfUnknownCost],
]

const cell = (value: string | number | null): string => {
  const text = String(value ?? '')
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A line of names, then one of each row; what is unknown is empty. @param byGroup with the group of each row */
export function marginCsv(rows: readonly MarginRow[], byGroup = false): string {
  const columns = [...KINDS, ...(byGroup ? [GROUP] : []), ...SUMS]
  return [columns.map(([name]) => name), ...rows.map((row) => columns.map(([, of]) => cell(of(row))))]
    .map((cells) => cells.join(','))
    .join('\n')
}
