/**
 * The operators' first page: how the service does, and what waits for an operator. Every number leads to its page.
 */
import { useEffect } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.operator

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
          <a href="/operator/upstreams">{t.words.fields.upstreams}</a>
        </h2>
        <List of={upstreams} rows={3} empty={<Empty title={words.noneEnded} />}>
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
          {t.errors.sentence(sentence)}
        </p>
      ))}
      <Money overview={overview} />
      <div class="columns">
        <section class="panel">
          <h2>{words.topAccounts}</h2>
          {lastDay.topAccounts.length === 0 ? (
            <Empty title={words.noCalls} />
          ) : (
            <Table
              label={words.topAccounts}
              name="accounts"
              columns={ACCOUNT_COLUMNS}
              rows={lastDay.topAccounts}
              keyOf={({ accountId }) => accountId}
            />
          )}
        </section>
        <section class="panel">
          <h2>{words.topModels}</h2>
          {lastDay.topModels.length === 0 ? (
            <Empty title={words.noCalls} />
          ) : (
            <Table
              label={words.topModels}
              name="models"
              columns={MODEL_COLUMNS}
              rows={lastDay.topModels}
              keyOf={({ model }) => model}
            />
          )}
        </section>
      </div>
      <section class="panel">
        <h2>
          {words.queues}{' '}
          {overview.dashboard && (
            <a class="more" href={overview.dashboard} target="_blank" rel="noreferrer">
              {words.dashboard}
            </a>
          )}
        </h2>
        <Table label={words.queues} columns={QUEUE_COLUMNS} rows={queues} keyOf={({ queue }) => queue} />
      </section>
    </>
  )
}

/** What waits for an operator: nothing is shown where nothing does. */
function Waiting({ overview: { deadMails, paymentsInReview } }: { overview: Overview }) {
  if (deadMails + paymentsInReview === 0) return null
  return (
    <p class="notice" role="status">
      {deadMails > 0 && <a href="/operator/mails">{counted(deadMails, 'deadMail')}</a>}
      {paymentsInReview > 0 && (
        <a href="/operator/payments?status=review">{words.toReview(counted(paymentsInReview, 'payment'))}</a>
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
  const known = (text: string): string => (!data ? '…' : hasWorth ? text : words.unknown)
  const figures: Figure[] = [
    ...received.map(({ currency, amountMinor, refundedMinor }) => ({
      name: words.moneyIn,
      href: '/operator/payments?status=paid',
      value: money(amountMinor - refundedMinor, currency),
      note: refundedMinor > 0 ? words.afterRefunds(money(refundedMinor, currency)) : words.payments,
    })),
    {
      name: words.revenue,
      href: '/operator/margins',
      value: known(dollars(revenue)),
      note: words.revenueNote,
    },
    {
      name: words.cost,
      href: '/operator/margins',
      value: data ? dollars(cost) : '…',
      note: unknown > 0 ? words.withoutUnknown(counted(unknown, 'call')) : words.atUpstreams,
    },
    {
      name: words.margin,
      href: '/operator/margins',
      value: known(unknown > 0 ? words.atMost(dollars(revenue - cost)) : dollars(revenue - cost)),
      note: revenue > 0 && unknown === 0 ? share(revenue - cost, revenue) : undefined,
    },
  ]
  return (
    <section aria-label={words.lastDays(EARNING_DAYS)}>
      <p class="soft">{words.moneyOf(EARNING_DAYS)}</p>
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
  sold === 0 ? t.words.fields.none : sold === paid ? words.allPaid : words.soldParts(number(paid), number(sold - paid))

/** How much of what was sold in a month was paid for, granted by operators as a purchase, or taken back. */
function monthNote({ lastMonth }: Overview['sold']): string {
  const taken = lastMonth.takenBack > 0 ? number(lastMonth.takenBack) : null
  return words.month(number(lastMonth.sold), soldParts(lastMonth), taken)
}

function Money({ overview: { lastDay, sold, accounts } }: { overview: Overview }) {
  const since = dayAgo()
  const figures: Figure[] = [
    {
      name: words.sold,
      href: '/operator/payments',
      value: number(sold.lastDay.sold),
      note: soldParts(sold.lastDay),
      more: monthNote(sold),
    },
    { name: words.used, href: '/operator/margins', value: number(lastDay.credits), note: words.usedNote },
    {
      name: words.outstanding,
      href: '/operator/accounts?sort=credits',
      value: number(accounts.outstanding),
      note: words.outstandingNote,
    },
    { name: words.owed, href: '/operator/debts', value: number(accounts.owed), note: words.owedNote },
    {
      name: words.active,
      href: '/operator/accounts?sort=lastCall',
      value: number(lastDay.accounts),
      note: words.ofAccounts(number(accounts.accounts), number(accounts.opened)),
    },
    { name: t.frame.page.calls, href: `/operator/calls?from=${since}`, value: number(lastDay.calls) },
    {
      name: t.words.statuses.failed,
      href: `/operator/calls?status=failed&from=${since}`,
      value: share(lastDay.failed, lastDay.calls),
      note: counted(lastDay.failed, 'call'),
    },
    {
      name: t.words.statuses.rejected,
      href: `/operator/calls?status=rejected&from=${since}`,
      value: number(lastDay.refused),
      note: words.refusedNote,
    },
  ]
  return (
    <section aria-label={words.lastDay}>
      <p class="soft">{words.aboutLastDay}</p>
      <Tiles figures={figures} />
    </section>
  )
}

type TopAccount = Overview['lastDay']['topAccounts'][number]
type TopModel = Overview['lastDay']['topModels'][number]
type Queue = Overview['queues'][number]

const ACCOUNT_COLUMNS: Column<TopAccount>[] = [
  {
    header: t.words.fields.account,
    sortBy: ['name', ({ name, email }) => name || email],
    cell: ({ accountId, email, name }) => <AccountLink id={accountId} email={email} name={name} />,
  },
  {
    header: t.frame.page.credits,
    right: true,
    sortBy: 'credits',
    cell: (one) => <Amount value={one.credits} />,
  },
  {
    header: t.frame.page.calls,
    right: true,
    sortBy: 'calls',
    cell: ({ accountId, calls }) => (
      <a href={`/operator/calls?account=${accountId}`} class="digits">
        {number(calls)}
      </a>
    ),
  },
  { header: t.words.statuses.failed, right: true, class: 'digits', cell: ({ calls, failed }) => share(failed, calls) },
]

const MODEL_COLUMNS: Column<TopModel>[] = [
  {
    header: t.frame.search.model,
    sortBy: 'model',
    cell: ({ model }) => <a href={`/operator/calls?model=${encodeURIComponent(model)}`}>{model}</a>,
  },
  {
    header: t.frame.page.credits,
    right: true,
    sortBy: 'credits',
    cell: (one) => <Amount value={one.credits} />,
  },
  {
    header: t.frame.page.calls,
    right: true,
    sortBy: 'calls',
    cell: ({ calls }) => <Amount value={calls} />,
  },
  { header: t.words.statuses.failed, right: true, class: 'digits', cell: ({ calls, failed }) => share(failed, calls) },
]

/** A count, which is unknown while Redis is unreachable. */
const orUnknown = (value: number | null): string => (value === null ? words.unknown : number(value))

/** Where the failures of a queue are listed. */
const failuresOf = (queue: Queue['queue']): string =>
  queue === 'mail' ? '/operator/mails' : `/operator/calls?status=failed&modality=${queue}&from=${dayAgo()}`

const QUEUE_COLUMNS: Column<Queue>[] = [
  { header: words.queue, cell: ({ queue }) => words.queueNames[queue] ?? queue },
  { header: words.waiting, right: true, class: 'digits', cell: ({ waiting }) => orUnknown(waiting) },
  { header: words.running, right: true, class: 'digits', cell: ({ running }) => orUnknown(running) },
  { header: words.delayed, right: true, class: 'digits', cell: ({ delayed }) => orUnknown(delayed) },
  {
    header: words.longest,
    right: true,
    class: 'digits',
    cell: ({ oldestSeconds }) => (oldestSeconds === 0 ? '–' : duration(Math.round(oldestSeconds * 1000))),
  },
  {
    header: t.words.statuses.failed,
    right: true,
    class: 'digits',
    cell: ({ queue, failed }) => (failed === null ? '' : <a href={failuresOf(queue)}>{number(failed)}</a>),
  },
]
