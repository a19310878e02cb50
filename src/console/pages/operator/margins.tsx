/**
 * What calls brought in and what they cost.
 */
import { useMemo, useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import { marginCsv } from '../../../shared/reports/margin-csv.ts'
import type { Margin } from '../../api/operator.ts'
import { getMargins } from '../../api/operator.ts'
import { Empty } from '../../parts/basics.tsx'
import { StackChart } from '../../parts/chart.tsx'
import type { Stack } from '../../parts/chart.tsx'
import { counted, dayText, dollars, number, share } from '../../parts/format.ts'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'

const words = t.operator

const DAYS = 30
const DAY_MS = 86_400_000

/** The last days in UTC, today included. */
const lastDays = (): string[] =>
  Array.from({ length: DAYS }, (_, index) =>
    new Date(Date.now() - (DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )

export function MarginsSection() {
  const days = useMemo(lastDays, [])
  const [byGroup, setByGroup] = useState(false)
  const margins = useLoad(byGroup ? 'margins by group' : 'margins', () =>
    getMargins({ from: days[0], to: days.at(-1), ...(byGroup && { by: 'group' }) }),
  )
  const rows = margins.data?.data
  return (
    <section class="panel">
      <div class="row between head">
        <h2>{words.theLastDays(DAYS)}</h2>
        {rows && rows.length > 0 && (
          <a
            class="button small"
            download="margins.csv"
            href={`data:text/csv;charset=utf-8,${encodeURIComponent(`\uFEFF${marginCsv(rows, byGroup)}`)}`}
          >
            {t.frame.downloadCsv}
          </a>
        )}
      </div>
      <label class="check">
        <input type="checkbox" checked={byGroup} onChange={(event) => setByGroup(event.currentTarget.checked)} />
        {words.byGroup}
      </label>
      <Summary rows={rows} hasWorth={margins.data?.creditMicroUsd !== null} days={days} />
      <List of={margins} empty={<Empty title={words.noneInDays} />}>
        {(items) => (
          <Table
            label={words.margins}
            columns={byGroup ? [...KINDS, GROUP, ...SUMS] : [...KINDS, ...SUMS]}
            rows={items.toReversed()}
            keyOf={({ day, model, upstream, group }) => JSON.stringify([day, model, upstream, group])}
            textOf={({ day, model, upstream, group }) => `${day} ${model} ${upstream} ${group}`}
          />
        )}
      </List>
    </section>
  )
}

type SummaryProps = { rows: readonly Margin[] | undefined; hasWorth: boolean; days: string[] }

/** The chart of what is known, and what is not. Nothing is drawn where nothing is known: unknown is not zero. */
function Summary({ rows, hasWorth, days }: SummaryProps) {
  const stack = useMemo(() => stackOf(rows ?? [], hasWorth, days), [rows, hasWorth, days])
  const unknown = (rows ?? []).reduce((sum, row) => sum + row.callsOfUnknownCost, 0)
  if (stack.models.length === 0) {
    return (
      <p>
        {words.unknownCosts(<code>creditMicroUsd</code>, <code>cost</code>, (name) => (
          <a href="/operator/catalogue">{name}</a>
        ))}
      </p>
    )
  }
  return (
    <>
      {!hasWorth && <p class="soft">{words.noWorth(<code>creditMicroUsd</code>)}</p>}
      <StackChart title={words.lastDays(DAYS)} stack={stack} isLoaded={rows !== undefined} text={dollars} />
      {unknown > 0 && <p class="soft">{words.unknownOf(counted(unknown, 'call'))}</p>}
    </>
  )
}

/**
 * What was paid for calls, and what is left of the revenue: together the revenue, unless calls cost more. Without what
 * is unknown: costs, if those that are known come to nothing, and revenue, if a credit has no worth.
 */
function stackOf(rows: readonly Margin[], hasWorth: boolean, days: string[]): Stack {
  const costs = days.map(() => 0)
  const revenues = days.map(() => 0)
  for (const { day, costMicroUsd, revenueMicroUsd } of rows) {
    const at = days.indexOf(day)
    if (at === -1) continue
    costs[at]! += costMicroUsd ?? 0
    revenues[at]! += revenueMicroUsd ?? 0
  }
  const isWhole = rows.every((row) => row.callsOfUnknownCost === 0)
  const hasCosts = isWhole || costs.some((cost) => cost > 0)
  if (!hasWorth) return hasCosts ? { days, models: [words.cost], rows: [costs] } : { days, models: [], rows: [] }
  if (!hasCosts) return { days, models: [words.revenue], rows: [revenues] }
  const left = revenues.map((revenue, at) => Math.max(0, revenue - costs[at]!))
  return { days, models: [words.cost, isWhole ? words.margin : words.lessKnown], rows: [costs, left] }
}

const KINDS: Column<Margin>[] = [
  { header: words.day, sortBy: 'day', cell: ({ day }) => dayText(day) },
  { header: t.frame.search.model, sortBy: 'model', cell: ({ model }) => model },
  { header: t.words.fields.upstream, sortBy: 'upstream', cell: ({ upstream }) => upstream ?? t.words.fields.none },
]

const GROUP: Column<Margin> = { header: t.words.fields.group, cell: ({ group }) => group ?? t.words.fields.none }

/** A column of numbers. */
const sum = (
  header: string,
  sortBy: NonNullable<Column<Margin>['sortBy']>,
  cell: (row: Margin) => string,
): Column<Margin> => ({
  header,
  right: true,
  class: 'digits',
  sortBy,
  cell,
})

const leftOf = ({ revenueMicroUsd: revenue, costMicroUsd: cost, callsOfUnknownCost: unknown }: Margin): number | null =>
  revenue === null || cost === null || unknown > 0 ? null : revenue - cost

const SUMS: Column<Margin>[] = [
  sum(t.frame.page.calls, 'calls', ({ calls }) => number(calls)),
  sum(t.frame.page.credits, 'credits', ({ credits }) => number(credits)),
  sum(words.revenue, 'revenueMicroUsd', (row) => knownDollars(row.revenueMicroUsd)),
  sum(words.cost, 'costMicroUsd', (row) => costText(row)),
  sum(words.margin, ['margin', leftOf], (row) => marginText(row)),
]

const knownDollars = (microUsd: number | null): string => (microUsd === null ? words.unknown : dollars(microUsd))

/** What is known of the cost, and the calls that it lacks. */
const costText = ({ costMicroUsd: cost, callsOfUnknownCost: unknown }: Margin): string =>
  cost === null || unknown === 0 ? knownDollars(cost) : `${dollars(cost)} + ${counted(unknown, 'unknownCall')}`

/** A share of the revenue; unknown as soon as the cost of one call is. */
function marginText({ revenueMicroUsd: revenue, costMicroUsd: cost, callsOfUnknownCost: unknown }: Margin): string {
  if (revenue === null || cost === null || unknown > 0) return words.unknown
  return revenue === 0 ? dollars(-cost) : share(revenue - cost, revenue)
}
