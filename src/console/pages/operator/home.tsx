/**
 * The operators' first page: how the service does, and what waits for an operator. Every number leads to its page.
 */
import { useEffect } from 'preact/hooks'
import type { Margin, Overview } from '../../api/operator.ts'
import { getMargins, getOverview, getUpstreams } from '../../api/operator.ts'
import { AccountLink, Amount, Empty, ErrorMessage, Loading } from '../../parts/basics.tsx'
import { counted, dollars, duration, number, share } from '../../parts/format.ts'
import { List } from '../../parts/list.tsx'
import { money } from '../../parts/money.ts'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'
import { Setup } from './setup.tsx'
import { UpstreamTable } from './upstreams.tsx'

/** How often the figures are asked for again, in ms. */
const REFRESH_MS = 30_000

export function HomeSection() {
  const overview = useLoad('operator overview', getOverview)
  const upstreams = useLoad('upstreams', getUpstreams)
  useEffect(() => {
    const timer = setInterval(() => {
      if (document.visibilityState === 'hidden') return
      overview.reload()
      upstreams.reload()
    }, REFRESH_MS)
    return () => clearInterval(timer)
  }, [overview.reload, upstreams.reload])
  const { data, problem } = overview
  return (
    <>
      <ErrorMessage problem={problem} retry={overview.reload} />
      {data ? <Figures overview={data} /> : !problem && <Loading rows={10} />}
      <section class="panel">
        <h2>
          <a href="/operator/upstreams">Upstreams</a>
        </h2>
        <List of={upstreams} rows={3} empty={<Empty title="No call ended in the last 24 hours" />}>
          {(items) => <UpstreamTable upstreams={items} />}
        </List>
      </section>
    </>
  )
}

/** A day ago, as the filters of lists take it. */
const dayAgo = (): string => new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

function Figures({ overview }: { overview: Overview }) {
  const { lastDay, queues } = overview
  return (
    <>
      <Waiting overview={overview} />
      <Setup setup={overview.setup} />
      <Earnings received={overview.received} />
      {overview.advice.map((sentence) => (
        <p key={sentence} class="notice">
          {sentence}
        </p>
      ))}
      <Money overview={overview} />
      <div class="columns">
        <section class="panel">
          <h2>Top accounts</h2>
          {lastDay.topAccounts.length === 0 ? (
            <Empty title="No calls in the last 24 hours" />
          ) : (
            <Table
              label="Top accounts"
              columns={ACCOUNT_COLUMNS}
              rows={lastDay.topAccounts}
              keyOf={({ accountId }) => accountId}
            />
          )}
        </section>
        <section class="panel">
          <h2>Top models</h2>
          {lastDay.topModels.length === 0 ? (
            <Empty title="No calls in the last 24 hours" />
          ) : (
            <Table label="Top models" columns={MODEL_COLUMNS} rows={lastDay.topModels} keyOf={({ model }) => model} />
          )}
        </section>
      </div>
      <section class="panel">
        <h2>
          Queues{' '}
          {overview.dashboard && (
            <a class="more" href={overview.dashboard} target="_blank" rel="noreferrer">
              Queue dashboard
            </a>
          )}
        </h2>
        <Table label="Queues" columns={QUEUE_COLUMNS} rows={queues} keyOf={({ queue }) => queue} />
      </section>
    </>
  )
}

/** What waits for an operator: nothing is shown where nothing does. */
function Waiting({ overview: { deadMails, paymentsInReview } }: { overview: Overview }) {
  if (deadMails + paymentsInReview === 0) return null
  return (
    <p class="notice" role="status">
      {deadMails > 0 && <a href="/operator/mails">{counted(deadMails, 'undelivered e-mail')}</a>}
      {paymentsInReview > 0 && (
        <a href="/operator/payments?status=review">{counted(paymentsInReview, 'payment')} to review</a>
      )}
    </p>
  )
}

/** Days that money is added up over: today (UTC) and those before it. */
const EARNING_DAYS = 30
const DAY_MS = 86_400_000

const sumOf = (rows: readonly Margin[], field: 'revenueMicroUsd' | 'costMicroUsd' | 'callsOfUnknownCost'): number =>
  rows.reduce((sum, row) => sum + (row[field] ?? 0), 0)

/** Money in, what calls were worth, what they cost, and what is left; unknown where the catalogue does not state it. */
function Earnings({ received }: { received: Overview['received'] }) {
  const from = new Date(Date.now() - (EARNING_DAYS - 1) * DAY_MS).toISOString().slice(0, 10)
  const { data, problem, reload } = useLoad('earnings', () => getMargins({ from }))
  const rows = data?.data ?? []
  const [revenue, cost, unknown] = [
    sumOf(rows, 'revenueMicroUsd'),
    sumOf(rows, 'costMicroUsd'),
    sumOf(rows, 'callsOfUnknownCost'),
  ]
  const hasWorth = data?.creditMicroUsd !== null
  const known = (text: string): string => (!data ? '…' : hasWorth ? text : 'unknown')
  const figures: Figure[] = [
    ...received.map(({ currency, amountMinor, refundedMinor }) => ({
      name: 'Money in',
      href: '/operator/payments?status=paid',
      value: money(amountMinor - refundedMinor, currency),
      note: refundedMinor > 0 ? `after ${money(refundedMinor, currency)} refunded or disputed` : 'payments',
    })),
    {
      name: 'Revenue',
      href: '/operator/margins',
      value: known(dollars(revenue)),
      note: 'what the credits of calls are worth',
    },
    {
      name: 'Cost',
      href: '/operator/margins',
      value: data ? dollars(cost) : '…',
      note: unknown > 0 ? `without ${counted(unknown, 'call')} of unknown cost` : 'at upstreams',
    },
    {
      name: 'Margin',
      href: '/operator/margins',
      value: known(unknown > 0 ? `at most ${dollars(revenue - cost)}` : dollars(revenue - cost)),
      note: revenue > 0 && unknown === 0 ? share(revenue - cost, revenue) : undefined,
    },
  ]
  return (
    <section aria-label={`Last ${EARNING_DAYS} days`}>
      <p class="soft">Money of the last {EARNING_DAYS} days.</p>
      <ErrorMessage problem={problem} retry={reload} />
      <Tiles figures={figures} />
    </section>
  )
}

type Figure = { name: string; href: string; value: string; note?: string | undefined; more?: string }

const Tiles = ({ figures }: { figures: Figure[] }) => (
  <div class="tiles four">
    {figures.map(({ name, href, value, note, more }, nth) => (
      <a key={`${name} ${nth}`} class="tile" href={href}>
        <span class="soft">{name}</span>
        <strong class="digits">{value}</strong>
        {note && <small class="soft">{note}</small>}
        {more && <small class="soft">{more}</small>}
      </a>
    ))}
  </div>
)

const soldParts = ({ sold, paid }: Overview['sold']['lastDay']): string =>
  sold === 0 ? 'none' : sold === paid ? 'all paid' : `${number(paid)} paid, ${number(sold - paid)} granted`

/** How much of what was sold in a month was paid for, granted by operators as a purchase, or taken back. */
function monthNote({ lastMonth }: Overview['sold']): string {
  const taken = lastMonth.takenBack > 0 ? `, ${number(lastMonth.takenBack)} taken back` : ''
  return `30 days: ${number(lastMonth.sold)} (${soldParts(lastMonth)}${taken})`
}

function Money({ overview: { lastDay, sold, accounts } }: { overview: Overview }) {
  const since = dayAgo()
  const figures: Figure[] = [
    {
      name: 'Credits sold',
      href: '/operator/payments',
      value: number(sold.lastDay.sold),
      note: soldParts(sold.lastDay),
      more: monthNote(sold),
    },
    { name: 'Credits used', href: '/operator/margins', value: number(lastDay.credits), note: 'what calls cost' },
    {
      name: 'Outstanding',
      href: '/operator/accounts?sort=credits',
      value: number(accounts.outstanding),
      note: 'what all balances add up to',
    },
    { name: 'Owed', href: '/operator/debts', value: number(accounts.owed), note: 'debts of accounts' },
    {
      name: 'Active accounts',
      href: '/operator/accounts?sort=lastCall',
      value: number(lastDay.accounts),
      note: `of ${number(accounts.accounts)}; ${number(accounts.opened)} new`,
    },
    { name: 'Calls', href: `/operator/calls?from=${since}`, value: number(lastDay.calls) },
    {
      name: 'Failed',
      href: `/operator/calls?status=failed&from=${since}`,
      value: share(lastDay.failed, lastDay.calls),
      note: counted(lastDay.failed, 'call'),
    },
    {
      name: 'Refused',
      href: `/operator/calls?status=rejected&from=${since}`,
      value: number(lastDay.refused),
      note: 'before any charge',
    },
  ]
  return (
    <section aria-label="Last 24 hours">
      <p class="soft">Figures are for the last 24 hours unless stated otherwise.</p>
      <Tiles figures={figures} />
    </section>
  )
}

type TopAccount = Overview['lastDay']['topAccounts'][number]
type TopModel = Overview['lastDay']['topModels'][number]
type Queue = Overview['queues'][number]

const ACCOUNT_COLUMNS: Column<TopAccount>[] = [
  {
    header: 'Account',
    sortBy: ({ name, email }) => name || email,
    cell: ({ accountId, email, name }) => <AccountLink id={accountId} email={email} name={name} />,
  },
  { header: 'Credits', right: true, sortBy: (one) => one.credits, cell: (one) => <Amount value={one.credits} /> },
  {
    header: 'Calls',
    right: true,
    sortBy: ({ calls }) => calls,
    cell: ({ accountId, calls }) => (
      <a href={`/operator/calls?account=${accountId}`} class="digits">
        {number(calls)}
      </a>
    ),
  },
  { header: 'Failed', right: true, class: 'digits', cell: ({ calls, failed }) => share(failed, calls) },
]

const MODEL_COLUMNS: Column<TopModel>[] = [
  {
    header: 'Model',
    sortBy: ({ model }) => model,
    cell: ({ model }) => <a href={`/operator/calls?model=${encodeURIComponent(model)}`}>{model}</a>,
  },
  { header: 'Credits', right: true, sortBy: (one) => one.credits, cell: (one) => <Amount value={one.credits} /> },
  { header: 'Calls', right: true, sortBy: ({ calls }) => calls, cell: ({ calls }) => <Amount value={calls} /> },
  { header: 'Failed', right: true, class: 'digits', cell: ({ calls, failed }) => share(failed, calls) },
]

/** A count, which is unknown while Redis is unreachable. */
const orUnknown = (value: number | null): string => (value === null ? 'unknown' : number(value))

/** Where the failures of a queue are listed. */
const failuresOf = (queue: Queue['queue']): string =>
  queue === 'mail' ? '/operator/mails' : `/operator/calls?status=failed&modality=${queue}&from=${dayAgo()}`

const QUEUE_COLUMNS: Column<Queue>[] = [
  { header: 'Queue', cell: ({ queue }) => queue },
  { header: 'Waiting', right: true, class: 'digits', cell: ({ waiting }) => orUnknown(waiting) },
  { header: 'Running', right: true, class: 'digits', cell: ({ running }) => orUnknown(running) },
  { header: 'Delayed', right: true, class: 'digits', cell: ({ delayed }) => orUnknown(delayed) },
  {
    header: 'Longest wait',
    right: true,
    class: 'digits',
    cell: ({ oldestSeconds }) => (oldestSeconds === 0 ? '–' : duration(Math.round(oldestSeconds * 1000))),
  },
  {
    header: 'Failed',
    right: true,
    class: 'digits',
    cell: ({ queue, failed }) => (failed === null ? '' : <a href={failuresOf(queue)}>{number(failed)}</a>),
  },
]
