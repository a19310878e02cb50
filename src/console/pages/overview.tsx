/**
 * The first page: what there is to spend, what was spent, and how it goes.
 */
import type { ComponentChildren } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { useLocation } from 'preact-iso'
import type { AccountState, CallRecord, Data, Page as ListPage, UsageRow } from '../api/endpoints.ts'
import { getCalls, getKeys, getUsage } from '../api/endpoints.ts'
import { GetCredits } from '../parts/get-credits.tsx'
import { Empty, Page, ErrorMessage } from '../parts/basics.tsx'
import { CallTable } from '../parts/call-table.tsx'
import type { Measure } from '../parts/chart.tsx'
import { UsageChart } from '../parts/chart.tsx'
import { counted, number, share } from '../parts/format.ts'
import { List } from '../parts/list.tsx'
import { worth } from '../parts/money.ts'
import type { PageProps } from '../parts/route.ts'
import { withFields } from '../parts/route.ts'
import type { Column } from '../parts/table.tsx'
import { Table } from '../parts/table.tsx'
import { account, onCall, onRefresh } from '../state/account.ts'
import type { Loaded } from '../state/load.ts'
import { useLoad } from '../state/load.ts'
import { Running, Unverified } from './overview-notices.tsx'

const RANGES = [7, 30, 90] as const
const LATEST = 8
const DAY_MS = 86_400_000

/** Usage is added up by the server: after a burst of calls it is asked for once, this long after the last, in ms. */
const SETTLE_MS = 800

/** The last days in UTC, today included. */
const lastDays = (count: number): string[] =>
  Array.from({ length: count }, (_, index) =>
    new Date(Date.now() - (count - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  )

/** Shows calls as they change, and the usage once they have settled. */
function useChanges(usage: Loaded<Data<UsageRow>>, calls: Loaded<ListPage<CallRecord>>): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const offCall = onCall((call) => {
      calls.change((page) => ({ ...page, data: mixIn(page.data, call, LATEST) }))
      clearTimeout(timer)
      timer = setTimeout(usage.reload, SETTLE_MS)
    })
    const offRefresh = onRefresh(() => {
      usage.reload()
      calls.reload()
    })
    return () => {
      clearTimeout(timer)
      offCall()
      offRefresh()
    }
  }, [usage.reload, calls.reload, calls.change])
}

const MEASURE_WORDS: Record<Measure, string> = {
  credits: 'Credits',
  calls: 'Calls',
  tokens: 'Tokens',
  failed: 'Failures',
}

const MEASURE_TITLES: Record<Measure, string> = {
  credits: 'Credits per day (UTC), by model',
  calls: 'Calls per day (UTC), by model',
  tokens: 'Tokens per day (UTC), by model',
  failed: 'Failed calls per day (UTC), by model',
}

export function OverviewPage({ query }: PageProps) {
  const { route } = useLocation()
  const measure = (Object.keys(MEASURE_WORDS) as Measure[]).find((one) => one === query.show) ?? 'credits'
  const count = RANGES.find((one) => String(one) === query.days) ?? 30
  const days = useMemo(() => lastDays(count), [count])
  const keyId = query.keyId ?? ''
  const usage = useLoad(`usage ${count} ${keyId}`, () => getUsage({ from: days[0], to: days.at(-1), keyId }))
  const calls = useLoad('latest calls', () => getCalls({ limit: String(LATEST) }))
  useChanges(usage, calls)
  return (
    <Page
      title="Overview"
      aside={
        <span class="row">
          <OfKey query={query} />
          <Ranges count={count} query={query} />
        </span>
      }
    >
      <Unverified />
      <Running usage={usage.data?.data} />
      <FirstSteps latest={calls.data?.data} />
      <Tiles usage={usage.data?.data} count={count} />
      <section class="panel">
        <div class="row between">
          <h2>{MEASURE_TITLES[measure]}</h2>
          <Measures measure={measure} query={query} />
        </div>
        <ErrorMessage problem={usage.problem} retry={usage.reload} />
        <UsageChart
          usage={usage.data?.data}
          days={days}
          measure={measure}
          choose={(day) => route(withFields('/calls', { keyId }, { from: day, to: day }))}
        />
        {usage.data && usage.data.data.length > 0 && <AsTable rows={usage.data.data} />}
      </section>
      <section class="panel">
        <h2>
          Latest calls{' '}
          <a class="more" href="/calls">
            All calls
          </a>
        </h2>
        <List
          of={calls}
          rows={LATEST}
          empty={
            <Empty title="No calls yet">
              Your first one appears here the moment you make it: try the <a href="/playground">playground</a>.
            </Empty>
          }
        >
          {(items) => <CallTable calls={items} href={(id) => `/calls/${id}`} />}
        </List>
      </section>
    </Page>
  )
}

/** The list with a call that is new or has changed; the newest first. */
export function mixIn(calls: CallRecord[], call: CallRecord, most: number): CallRecord[] {
  if (calls.some(({ id }) => id === call.id)) return calls.map((one) => (one.id === call.id ? call : one))
  return [call, ...calls].toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1)).slice(0, most)
}

/** Chooses what the chart shows. */
function Measures({ measure, query }: { measure: Measure; query: Record<string, string> }) {
  const { route } = useLocation()
  return (
    <select
      aria-label="Show"
      class="small"
      value={measure}
      onChange={(event) => route(withFields('/overview', query, { show: event.currentTarget.value }), true)}
    >
      {Object.entries(MEASURE_WORDS).map(([value, word]) => (
        <option key={value} value={value}>
          {word}
        </option>
      ))}
    </select>
  )
}

/** Chooses the key whose usage is shown; nothing where there is no choice. */
function OfKey({ query }: { query: Record<string, string> }) {
  const { route } = useLocation()
  const keys = useLoad('keys', getKeys).data?.data ?? []
  if (keys.length < 2 && !query.keyId) return null
  return (
    <select
      aria-label="Key"
      class="small"
      value={query.keyId ?? ''}
      onChange={(event) => route(withFields('/overview', query, { keyId: event.currentTarget.value }), true)}
    >
      <option value="">All keys</option>
      {keys.map(({ id, name, hint }) => (
        <option key={id} value={id}>
          {name} ({hint})
        </option>
      ))}
    </select>
  )
}

function Ranges({ count, query }: { count: number; query: Record<string, string> }) {
  const { route } = useLocation()
  return (
    <select
      aria-label="Days"
      class="small"
      value={String(count)}
      onChange={(event) => route(withFields('/overview', query, { days: event.currentTarget.value }), true)}
    >
      {RANGES.map((days) => (
        <option key={days} value={String(days)}>
          Last {days} days
        </option>
      ))}
    </select>
  )
}

function Tiles({ usage, count }: { usage: UsageRow[] | undefined; count: number }) {
  const sum = (field: 'calls' | 'failed' | 'credits'): number => (usage ?? []).reduce((all, row) => all + row[field], 0)
  const now = account.value
  const known = (text: string): string => (usage ? text : '…')
  return (
    <div class="tiles">
      <Tile name="Balance" value={now ? number(now.credits) : '…'}>
        {balanceNote(now)}
      </Tile>
      <Tile name="Spent" value={known(number(sum('credits')))}>
        {known([`credits in ${count} days`, worth(sum('credits'))].filter(Boolean).join(' · '))}
      </Tile>
      <Tile name="Calls" value={known(number(sum('calls')))}>
        accepted in {count} days
      </Tile>
      <Tile name="Failed" value={known(share(sum('failed'), sum('calls')))}>
        {known(`${counted(sum('failed'), 'call')}, refunded`)}
      </Tile>
    </div>
  )
}

/** What to know of the balance: what past calls still owe, or what running ones hold. */
function balanceNote(now: AccountState | null): string {
  if (now && now.debt > 0) return `${number(now.debt)} credits owed`
  if (now && now.running > 0) return `${number(now.held)} held by ${number(now.running)} running`
  return ['credits to spend', worth(now?.credits ?? 0)].filter(Boolean).join(' · ')
}

const Tile = ({ name, value, children }: { name: string; value: string; children: ComponentChildren }) => (
  <div class="tile">
    <span class="soft">{name}</span>
    <strong class="digits">{value}</strong>
    <small class="soft">{children}</small>
  </div>
)

/** The chart's numbers. Their hundreds of cells are made for whoever opens them. */
function AsTable({ rows }: { rows: UsageRow[] }) {
  const [open, setOpen] = useState(false)
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {open && <UsageTable rows={rows} />}
    </details>
  )
}

const USAGE_COLUMNS: Column<UsageRow>[] = [
  { header: 'Day (UTC)', cell: (row) => row.day },
  { header: 'Model', cell: (row) => row.model },
  { header: 'Calls', right: true, class: 'digits', cell: (row) => number(row.calls) },
  { header: 'Failed', right: true, class: 'digits', cell: (row) => number(row.failed) },
  { header: 'Credits', right: true, class: 'digits', cell: (row) => number(row.credits) },
  { header: 'Tokens in', right: true, class: 'digits', cell: (row) => number(row.inputTokens) },
  { header: 'Tokens out', right: true, class: 'digits', cell: (row) => number(row.outputTokens) },
]

const UsageTable = ({ rows }: { rows: UsageRow[] }) => (
  <Table
    label="Usage"
    columns={USAGE_COLUMNS}
    rows={rows.toReversed()}
    keyOf={(row) => `${row.day} ${row.model} ${row.modality}`}
  />
)

/** What to do first, until a call has succeeded. @param latest the newest calls, as they change */
function FirstSteps({ latest }: { latest: CallRecord[] | undefined }) {
  const succeeded = useLoad('a call that succeeded', () => getCalls({ status: 'succeeded', limit: '1' }))
  const over = latest?.some(({ status }) => status === 'succeeded') ?? false
  return over || succeeded.data?.data.length !== 0 ? null : <Steps />
}

function Steps() {
  const keys = useLoad('keys', getKeys)
  const hasKey = keys.data?.data.some((key) => key.revokedAt === null) ?? false
  const steps = [
    [account.value?.user.emailVerified ?? false, <>Verify your address with the link in our e-mail</>],
    [
      hasKey,
      <>
        <a href="/keys">Create an API key</a>
      </>,
    ],
    [(account.value?.credits ?? 0) > 0, <GetCredits />],
    [
      false,
      <>
        Make your first call in the <a href="/playground">playground</a>, or with the curl line there
      </>,
    ],
  ] as const
  return (
    <section class="panel">
      <h2>First steps</h2>
      <ol class="steps">
        {steps.map(([done, step], index) => (
          <li key={index} class={done ? 'done' : ''}>
            {step}
            {done && <small class="soft"> · done</small>}
          </li>
        ))}
      </ol>
    </section>
  )
}
