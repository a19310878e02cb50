/**
 * How the upstreams were asked for a call, for operators.
 */
import type { Attempt, UpstreamReport } from '../../api/operator.ts'
import { Time } from '../../parts/basics.tsx'
import { datedClock, duration } from '../../parts/format.ts'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'

/** What is known of each request, after when it was sent. */
const ANSWERED: Column<Attempt>[] = [
  { header: 'Upstream', cell: ({ upstream }) => upstream },
  { header: 'Key', cell: ({ key }) => key ?? 'none' },
  { header: 'Answer', cell: ({ status }) => (status === null ? 'no answer' : `HTTP ${status}`) },
  { header: 'Took', right: true, class: 'digits', cell: ({ ms }) => duration(ms) },
  { header: 'Error', class: 'wrap', cell: ({ error }) => error },
]

const COLUMNS: Column<Attempt>[] = [
  { header: 'Sent', cell: ({ at }) => <Time iso={at} text={datedClock} /> },
  ...ANSWERED,
]

type Failure = UpstreamReport['failures'][number]

const FAILURE_COLUMNS: Column<Failure>[] = [
  {
    header: 'Sent',
    cell: ({ at, call }) => (
      <a href={`/operator/calls/${call}`}>
        <Time iso={at} />
      </a>
    ),
  },
  ...ANSWERED,
]

/** The newest failed requests to each upstream, in the upstream's own words, with links to their calls. */
export function Failures({ upstreams }: { upstreams: readonly UpstreamReport[] }) {
  const failures = upstreams.flatMap((one) => one.failures)
  return failures.length === 0 ? null : (
    <section class="panel" data-testid="failures">
      <h2>Last failures</h2>
      <p class="soft">What upstreams answered last, without keys and quotations. Stored for seven days.</p>
      <Table
        label="Failures"
        columns={FAILURE_COLUMNS}
        rows={failures}
        keyOf={({ at, call, key }) => `${at} ${call} ${key}`}
        broad
      />
    </section>
  )
}

/** The requests to upstreams, oldest first, each with the upstream's own words; nothing where none are stored. */
export const Attempts = ({ attempts }: { attempts: readonly Attempt[] }) =>
  attempts.length === 0 ? null : (
    <section data-testid="attempts">
      <h3>Attempts</h3>
      <Table
        label="Attempts"
        columns={COLUMNS}
        rows={attempts}
        keyOf={({ at, upstream, key }) => `${at} ${upstream} ${key}`}
        broad
      />
    </section>
  )
