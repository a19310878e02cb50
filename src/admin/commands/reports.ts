/** report margin */
import { z } from 'zod'
import { dayOf, daysOf } from '../../shared/reports/days.ts'
import { marginCsv } from '../../shared/reports/margin-csv.ts'
import type { MarginRow } from '../../shared/reports/margins.ts'
import { marginsByDay } from '../../shared/reports/margins.ts'
import { creditWorth } from '../../shared/catalogue/versions.ts'
import { ApiError } from '../../shared/platform/errors.ts'
import type { Command, Options } from '../command.ts'
import { CommandError } from '../command.ts'

/** Reports for operators. */
export const reportCommands: Command[] = [
  {
    usage: 'report margin [--from <day>] [--to <day>] [--by-group] [--csv]',
    summary:
      'Show what calls brought in and what they cost, by day, model and upstream. Days in UTC; default: the last 30.',
    options: ['from', 'to'],
    flags: ['csv', 'by-group'],
    run: async (db, _args, options) => {
      const days = daysIn(options)
      const creditMicroUsd = await creditWorth(db)
      const byGroup = options['by-group'] !== undefined
      const rows = await marginsByDay(db, days, creditMicroUsd, byGroup)
      return {
        json: { ...days, creditMicroUsd, rows },
        text: options.csv ? marginCsv(rows, byGroup) : [...rows.map(lineOf), totalOf(rows, creditMicroUsd)].join('\n'),
      }
    },
  },
]

function daysIn({ from, to }: Options): { from: string; to: string } {
  for (const [name, text] of Object.entries({ from, to })) {
    if (text !== undefined && !z.iso.date().safeParse(text).success)
      throw new CommandError(`--${name} must be a day, such as 2030-01-31.`)
  }
  try {
    return daysOf({ from, to }, dayOf(Date.now()))
  } catch (error) {
    throw error instanceof ApiError
      ? new CommandError(error.message.replaceAll(/\b(from|to)(?= must|\.)/g, '--$1'))
      : error
  }
}

const dollars = (microUsd: number | null): string =>
  microUsd === null ? 'unknown' : `$${(microUsd / 1_000_000).toFixed(2)}`

function moneyOf({ revenueMicroUsd, costMicroUsd, callsOfUnknownCost: unknown }: MarginRow): string {
  const missing = unknown > 0 ? ` (${unknown} calls unknown)` : ''
  return `revenue ${dollars(revenueMicroUsd)}, cost ${dollars(costMicroUsd)}${missing}`
}

function lineOf(row: MarginRow): string {
  const group = row.group === undefined ? [] : [row.group ?? '-']
  const what = [row.day, row.model, row.upstream ?? '-', ...group]
  return [...what, `${row.calls} calls`, `${row.credits} credits`, moneyOf(row)].join('  ')
}

function totalOf(rows: readonly MarginRow[], creditMicroUsd: number | null): string {
  const sum = (of: (row: MarginRow) => number | null): number => rows.reduce((total, row) => total + (of(row) ?? 0), 0)
  const text = `${sum((row) => row.calls)} calls, ${sum((row) => row.credits)} credits`
  if (creditMicroUsd === null) return `${text}. Revenue and margin are unknown: the catalogue has no creditMicroUsd.`
  const [revenue, cost] = [sum((row) => row.revenueMicroUsd), sum((row) => row.costMicroUsd)]
  const unknown = sum((row) => row.callsOfUnknownCost)
  return `${text}, revenue ${dollars(revenue)}, cost ${dollars(cost)}, ${unknown} calls of unknown cost.`
}
