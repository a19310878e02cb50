/**
 * How the upstreams do: the last hour, and the day with its failures and open circuits.
 */
import type { UpstreamReport } from '../../api/operator.ts'
import { getUpstreams } from '../../api/operator.ts'
import { Empty, Time } from '../../parts/basics.tsx'
import { counted, duration, localTime, number, share } from '../../parts/format.ts'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import type { Loaded } from '../../state/load.ts'
import { useLoad } from '../../state/load.ts'
import { Failures } from './attempts.tsx'
import { UpstreamKeys } from './upstream-keys.tsx'

export function UpstreamsSection() {
  const upstreams = useLoad('upstreams', getUpstreams)
  return (
    <>
      <Health upstreams={upstreams} />
      {upstreams.data && <UpstreamKeys upstreams={upstreams.data.data} reload={upstreams.reload} />}
      {upstreams.data && <Failures upstreams={upstreams.data.data} />}
    </>
  )
}

function Health({ upstreams }: { upstreams: Loaded<Awaited<ReturnType<typeof getUpstreams>>> }) {
  return (
    <section class="panel">
      <div class="row between head">
        <h2>The last 24 hours</h2>
        <button type="button" class="small quiet" onClick={upstreams.reload}>
          Refresh
        </button>
      </div>
      <p class="soft">
        A circuit opens after five failures in a row: for ten seconds its upstream is asked last, then once to see
        whether it is well again.
      </p>
      <List of={upstreams} empty={<Empty title="The catalogue has no upstreams" />}>
        {(items) => <UpstreamTable upstreams={items} />}
      </List>
    </section>
  )
}

type Hour = UpstreamReport['hours'][number]

/** Above this share of failures an hour counts as bad. */
const BAD_SHARE = 0.05

const toneOf = ({ calls, failed, openings }: Hour): string => {
  if (openings > 0) return 'open'
  if (calls === 0) return 'idle'
  return failed / calls > BAD_SHARE ? 'bad' : 'good'
}

const hourText = ({ hour, calls, failed, openings }: Hour): string =>
  [
    localTime(hour),
    counted(calls, 'call'),
    ...(failed > 0 ? [`${number(failed)} failed`] : []),
    ...(openings > 0 ? [`circuit opened ${openings === 1 ? 'once' : `${number(openings)} times`}`] : []),
  ].join(' · ')

const sum = (hours: Hour[], of: (hour: Hour) => number): number => hours.reduce((all, hour) => all + of(hour), 0)

/** A day as a row of hours, with a text for screen readers. */
function Day({ upstream: { hours } }: { upstream: UpstreamReport }) {
  const text = `${counted(
    sum(hours, (hour) => hour.calls),
    'call',
  )}, ${share(
    sum(hours, (hour) => hour.failed),
    sum(hours, (hour) => hour.calls),
  )} failed`
  return (
    <span class="hours" role="img" aria-label={`Last 24 hours: ${text}`}>
      {hours.map((hour) => (
        <span key={hour.hour} class={toneOf(hour)} title={hourText(hour)} />
      ))}
    </span>
  )
}

function Circuit({ upstream: { hours, openedAt } }: { upstream: UpstreamReport }) {
  if (!openedAt) {
    const failed = sum(hours, (hour) => hour.failed)
    const well = failed <= sum(hours, (hour) => hour.calls) * BAD_SHARE
    return <span class={well ? 'status succeeded' : 'status'}>{well ? 'Healthy (circuit closed)' : 'Closed'}</span>
  }
  const times = sum(hours, ({ openings }) => openings)
  return (
    <span class="status failed">
      Opened {times === 1 ? 'once' : `${number(times)} times`}, last <Time iso={openedAt} />
    </span>
  )
}

const UPSTREAM_COLUMNS: Column<UpstreamReport>[] = [
  {
    header: 'Upstream',
    sortBy: ({ upstream }) => upstream,
    cell: ({ upstream }) => <a href={`/operator/calls?upstream=${encodeURIComponent(upstream)}`}>{upstream}</a>,
  },
  {
    header: 'Calls, last hour',
    right: true,
    class: 'digits',
    sortBy: ({ calls }) => calls,
    cell: ({ calls }) => number(calls),
  },
  { header: 'Failed', right: true, class: 'digits', cell: ({ calls, failed }) => share(failed, calls) },
  {
    header: 'Median',
    right: true,
    sortBy: ({ latencyMs }) => latencyMs,
    class: 'digits',
    cell: ({ latencyMs }) => (latencyMs === null ? '' : duration(latencyMs)),
  },
  { header: 'Last 24 hours', cell: (upstream) => <Day upstream={upstream} /> },
  { header: 'Circuit', cell: (upstream) => <Circuit upstream={upstream} /> },
]

/** What the colours of the hours mean. */
const TONES = [
  ['good', 'healthy'],
  ['bad', `over ${BAD_SHARE * 100}% failed`],
  ['open', 'circuit opened'],
  ['idle', 'no calls'],
] as const

/** The upstreams, with a key to the colours of their hours. */
export const UpstreamTable = ({ upstreams }: { upstreams: UpstreamReport[] }) => (
  <>
    <Table label="Upstreams" columns={UPSTREAM_COLUMNS} rows={upstreams} keyOf={({ upstream }) => upstream} />
    <p class="tones">
      Each bar is an hour:
      {TONES.map(([tone, words]) => (
        <span key={tone} class="key">
          <span class="hours" aria-hidden="true">
            <span class={tone} />
          </span>
          {words}
        </span>
      ))}
    </p>
  </>
)
