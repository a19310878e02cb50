/**
 * What calls brought in and what they cost.
 */
import { useMemo } from 'preact/hooks'
import { marginCsv } from '../../../shared/calls/margin-csv.ts'
import type { Margin } from '../../api/operator.ts'
import { getMargins } from '../../api/operator.ts'
import { Empty } from '../../parts/basics.tsx'
import { StackChart } from '../../parts/chart.tsx'
import type { Stack } from '../../parts/chart.tsx'
import { counted, dollars, number, share } from '../../parts/format.ts'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

const DAYS = 30
const DAY_MS = 86_400_000

/** The last days in UTC, today included. */
const lastDays = (): string[] =>
  Array.from({ length: DAYS }, (_, index) =>
    new Date(Date.now() - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )

export function MarginsSection() {
  const days = useMemo(lastDays, [])
  const margins = useLoad('margins', () => getMargins({ from: days[0], to: days.at(-1) }))
  const rows = margins.data?.data
  const stack = useMemo(() => stackOf(rows ?? [], days), [rows, days])
  return (
    <section class="panel">
      <h2>
        Margins of the last {DAYS} days{' '}
        {rows && rows.length > 0 && (
          <a
            class="more"
            download="margins.csv"
            href={`data:text/csv;charset=utf-8,${encodeURIComponent(marginCsv(rows))}`}
          >
            Download as CSV
          </a>
        )}
      </h2>
      {margins.data?.creditMicroUsd === null && (
        <p class="soft">
          The catalogue does not say what a credit is worth (<code>creditMicroUsd</code>), so that only costs are told.
        </p>
      )}
      <StackChart stack={stack} isThere={rows !== undefined} text={dollars} />
      <Unknown rows={rows ?? []} />
      <List of={margins} empty={<Empty title="No calls in these days" />}>
        {(items) => (
          <Table
            label="Margins"
            columns={COLUMNS}
            rows={items.toReversed()}
            keyOf={({ day, model, upstream }) => JSON.stringify([day, model, upstream])}
          />
        )}
      </List>
    </section>
  )
}

/** What was paid for calls, and what is left of the revenue: together the revenue, unless calls cost more. */
function stackOf(rows: readonly Margin[], days: string[]): Stack {
  const costs = days.map(() => 0)
  const revenues = days.map(() => 0)
  for (const { day, costMicroUsd, revenueMicroUsd } of rows) {
    const at = days.indexOf(day)
    if (at === -1) continue
    costs[at]! += costMicroUsd ?? 0
    revenues[at]! += revenueMicroUsd ?? 0
  }
  const left = revenues.map((revenue, at) => Math.max(0, revenue - costs[at]!))
  return { days, models: ['Cost', 'Margin'], rows: [costs, left] }
}

function Unknown({ rows }: { rows: readonly Margin[] }) {
  const unknown = rows.reduce((sum, row) => sum + row.callsOfUnknownCost, 0)
  if (unknown === 0) return null
  return <p class="soft">The cost of {counted(unknown, 'call')} is unknown, and not in these sums.</p>
}

const COLUMNS: Column<Margin>[] = [
  { header: 'Day', cell: ({ day }) => day },
  { header: 'Model', cell: ({ model }) => model },
  { header: 'Upstream', cell: ({ upstream }) => upstream ?? 'none' },
  { header: 'Calls', right: true, class: 'digits', cell: ({ calls }) => number(calls) },
  { header: 'Credits', right: true, class: 'digits', cell: ({ credits }) => number(credits) },
  { header: 'Revenue', right: true, class: 'digits', cell: ({ revenueMicroUsd }) => knownDollars(revenueMicroUsd) },
  { header: 'Cost', right: true, class: 'digits', cell: ({ costMicroUsd }) => knownDollars(costMicroUsd) },
  { header: 'Margin', right: true, class: 'digits', cell: (row) => marginText(row) },
  {
    header: 'Unknown cost',
    right: true,
    class: 'digits',
    cell: ({ callsOfUnknownCost: unknown }) => (unknown === 0 ? '' : counted(unknown, 'call')),
  },
]

const knownDollars = (microUsd: number | null): string => (microUsd === null ? 'unknown' : dollars(microUsd))

/** A share of the revenue; unknown as soon as the cost of one call is. */
function marginText({ revenueMicroUsd: revenue, costMicroUsd: cost, callsOfUnknownCost: unknown }: Margin): string {
  if (revenue === null || cost === null || unknown > 0) return 'unknown'
  return revenue === 0 ? dollars(-cost) : share(revenue - cost, revenue)
}
