/**
 * Margins as CSV (RFC 4180), for the command line and the operators' page. Pure.
 */
import type { MarginRow } from './margins.ts'

const COLUMNS: [name: string, of: (row: MarginRow) => string | number | null][] = [
  ['day', (row) => row.day],
  ['model', (row) => row.model],
  ['upstream', (row) => row.upstream],
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

/** A line of names, then one of each row; what is unknown is empty. */
export const marginCsv = (rows: readonly MarginRow[]): string =>
  [COLUMNS.map(([name]) => name), ...rows.map((row) => COLUMNS.map(([, of]) => cell(of(row))))]
    .map((cells) => cells.join(','))
    .join('\n')
