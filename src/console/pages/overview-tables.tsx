/**
 * The usage as tables: the whole time by model, key or member, and each day.
 */
import { useState } from 'preact/hooks'
import { t } from '../language/language.ts'
import type { AccountLatency } from '../api/endpoints.ts'
import type { UsedOn } from '../parts/chart.tsx'
import { barText, duration, number, share } from '../parts/format.ts'
import type { Column } from '../parts/table.tsx'
import { Table } from '../parts/table.tsx'
import type { Unit } from '../state/overview-range.ts'

const words = t.overview

/** What usage is divided by. */
export type By = 'model' | 'key' | 'member'

/** One model or key over the whole time. Its latency is null if none of its calls succeeded. */
type Total = Omit<UsedOn, 'day'> & { p50Ms: number | null; p95Ms: number | null }

const SUMMED = ['calls', 'failed', 'credits', 'inputTokens', 'outputTokens', 'succeeded', 'succeededMs'] as const

/** Adds up the days of each model or key, the most expensive first. @param latencyOf by its name */
function totalsOf(rows: UsedOn[], latencyOf: (name: string) => AccountLatency['all']): Total[] {
  const totals = new Map<string, Total>()
  for (const { day: _day, ...row } of rows) {
    const old = totals.get(row.name)
    const { p50Ms = null, p95Ms = null } = (old ? null : latencyOf(row.name)) ?? {}
    if (!old) totals.set(row.name, { ...row, p50Ms, p95Ms })
    else for (const field of SUMMED) old[field] += row[field]
  }
  return [...totals.values()].toSorted((a, b) => b.credits - a.credits || b.calls - a.calls)
}

const tookText = (ms: number | null): string => (ms === null ? '–' : duration(ms))

const totalColumns = (by: By, callsOf: (name: string) => string): Column<Total>[] => [
  { header: words.dividers[by], sortBy: 'name', cell: ({ name }) => <a href={callsOf(name)}>{name}</a> },
  {
    header: words.calls.credits,
    right: true,
    class: 'digits',
    sortBy: 'credits',
    cell: ({ credits }) => number(credits),
  },
  {
    header: t.frame.page.calls,
    right: true,
    class: 'digits',
    sortBy: 'calls',
    cell: ({ calls }) => number(calls),
  },
  {
    header: words.tiles.failed,
    right: true,
    class: 'digits',
    sortBy: 'failed',
    cell: ({ calls, failed }) => share(failed, calls),
  },
  {
    header: words.calls.tokens,
    right: true,
    class: 'digits',
    cell: ({ inputTokens, outputTokens }) =>
      inputTokens + outputTokens === 0 ? '–' : number(inputTokens + outputTokens),
  },
  {
    header: words.calls.latencyP50,
    right: true,
    class: 'digits',
    sortBy: 'p50Ms',
    cell: ({ p50Ms }) => tookText(p50Ms),
  },
  { header: 'p95', right: true, class: 'digits', cell: ({ p95Ms }) => tookText(p95Ms) },
]

type TotalsProps = {
  rows: UsedOn[]
  by: By
  latencyOf: (name: string) => AccountLatency['all']
  /** The address of the calls of a model or key, by its name. */
  callsOf: (name: string) => string
}

/** Each model or key over the whole time, with its latency, and the way to its calls. */
export const Totals = ({ rows, by, latencyOf, callsOf }: TotalsProps) => (
  <Table
    label={words.usageBy[by]}
    broad={false}
    testId="totals"
    columns={totalColumns(by, callsOf)}
    rows={totalsOf(rows, latencyOf)}
    keyOf={({ name }) => name}
  />
)

/** The chart's numbers. Their hundreds of cells are made only when they are opened. */
export function EachBar({ rows, by, unit }: { rows: UsedOn[]; by: By; unit: Unit }) {
  const [open, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words.each[unit]}</summary>
      {open && (
        <Table
          label={words.usage}
          columns={barColumns(by, unit)}
          rows={rows.toReversed()}
          keyOf={({ day, name }) => `${day} ${name}`}
        />
      )}
    </details>
  )
}

const barColumns = (by: By, unit: Unit): Column<UsedOn>[] => [
  { header: words.headers[unit], cell: ({ day }) => barText(day) },
  { header: words.dividers[by], cell: ({ name }) => name },
  { header: t.frame.page.calls, right: true, class: 'digits', cell: ({ calls }) => number(calls) },
  { header: words.tiles.failed, right: true, class: 'digits', cell: ({ failed }) => number(failed) },
  { header: words.calls.credits, right: true, class: 'digits', cell: ({ credits }) => number(credits) },
  { header: words.calls.tokensIn, right: true, class: 'digits', cell: ({ inputTokens }) => number(inputTokens) },
  { header: words.calls.tokensOut, right: true, class: 'digits', cell: ({ outputTokens }) => number(outputTokens) },
]
