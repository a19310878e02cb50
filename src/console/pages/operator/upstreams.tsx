/**
 * How the upstreams do: the last hour, and the day with its failures and open circuits.
 */
import { t } from '../../language/language.ts'
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

const words = t.operator

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
        <h2>{words.theLastDay}</h2>
        <button type="button" class="small quiet" onClick={upstreams.reload}>
          {words.refresh}
        </button>
      </div>
      <p class="soft">{words.aboutCircuits}</p>
      <List of={upstreams} empty={<Empty title={words.noUpstreams} />}>
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
    ...(failed > 0 ? [words.hourFailed(number(failed))] : []),
    ...(openings > 0 ? [words.hourOpened(number(openings), openings === 1)] : []),
  ].join(' · ')

const sum = (hours: Hour[], of: (hour: Hour) => number): number => hours.reduce((all, hour) => all + of(hour), 0)

/** A day as a row of hours, with a text for screen readers. */
function Day({ upstream: { hours } }: { upstream: UpstreamReport }) {
  const calls = sum(hours, (hour) => hour.calls)
  const failed = sum(hours, (hour) => hour.failed)
  return (
    <span class="hours" role="img" aria-label={words.dayText(counted(calls, 'call'), share(failed, calls))}>
      {hours.map((hour) => (
        <span key={hour.hour} class={toneOf(hour)} title={hourText(hour)} />
      ))}
    </span>
  )
}

function Circuit({ upstream: { hours, openedAt, keys } }: { upstream: UpstreamReport }) {
  if (keys.length > 0 && keys.every(({ configured }) => !configured))
    return <span class="status failed">{words.notConfigured}</span>
  if (!openedAt) {
    if (sum(hours, ({ calls }) => calls) === 0) return <span class="status">{words.tones.idle}</span>
    const failed = sum(hours, (hour) => hour.failed)
    const well = failed <= sum(hours, (hour) => hour.calls) * BAD_SHARE
    return <span class={well ? 'status succeeded' : 'status'}>{well ? words.healthy : words.closed}</span>
  }
  const times = sum(hours, ({ openings }) => openings)
  return <span class="status failed">{words.opened(number(times), times === 1, <Time iso={openedAt} />)}</span>
}

const UPSTREAM_COLUMNS: Column<UpstreamReport>[] = [
  {
    header: t.words.fields.upstream,
    sortBy: 'upstream',
    cell: ({ upstream }) => <a href={`/operator/calls?upstream=${encodeURIComponent(upstream)}`}>{upstream}</a>,
  },
  {
    header: words.callsLastHour,
    right: true,
    class: 'digits',
    sortBy: 'calls',
    cell: ({ calls }) => number(calls),
  },
  { header: t.words.statuses.failed, right: true, class: 'digits', cell: ({ calls, failed }) => share(failed, calls) },
  {
    header: words.median,
    right: true,
    sortBy: 'latencyMs',
    class: 'digits',
    cell: ({ latencyMs }) => (latencyMs === null ? '' : duration(latencyMs)),
  },
  { header: words.lastDay, cell: (upstream) => <Day upstream={upstream} /> },
  { header: words.circuit, cell: (upstream) => <Circuit upstream={upstream} /> },
]

/** What the colours of the hours mean. */
const TONES = Object.entries({ ...words.tones, bad: words.tones.bad(`${BAD_SHARE * 100}%`) })

/** The upstreams, with a key to the colours of their hours. */
export const UpstreamTable = ({ upstreams }: { upstreams: UpstreamReport[] }) => (
  <>
    <Table
      label={t.words.fields.upstreams}
      columns={UPSTREAM_COLUMNS}
      rows={upstreams}
      keyOf={({ upstream }) => upstream}
    />
    <p class="tones">
      {words.eachBar}{' '}
      {TONES.map(([tone, meaning]) => (
        <span key={tone} class="key">
          <span class="hours" aria-hidden="true">
            <span class={tone} />
          </span>{' '}
          {meaning}{' '}
        </span>
      ))}
    </p>
  </>
)
