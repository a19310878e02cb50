/**
 * How the upstreams were asked for a call, for operators.
 */
import { t } from '../../language/language.ts'
import type { Attempt, UpstreamReport } from '../../api/operator.ts'
import { Time } from '../../parts/basics.tsx'
import { datedClock, duration } from '../../parts/format.ts'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'

const words = t.operator

/** A stored failure is `kind: words`; its kind in the reader's language. */
const failureText = (error: string): string =>
  error.replace(/^(\w+)(?=: |$)/, (kind) => words.failureKinds[kind] ?? kind)

/** What is known of each request, after when it was sent. */
const ANSWERED: Column<Attempt>[] = [
  { header: t.words.fields.upstream, cell: ({ upstream }) => upstream },
  { header: t.frame.search.key, cell: ({ key }) => key ?? t.words.fields.none },
  { header: t.words.fields.answer, cell: ({ status }) => (status === null ? words.noAnswer : `HTTP ${status}`) },
  { header: t.overview.calls.took, right: true, class: 'digits', cell: ({ ms }) => duration(ms) },
  { header: words.error, class: 'wrap', cell: ({ error }) => error && failureText(error) },
]

const COLUMNS: Column<Attempt>[] = [
  { header: words.sent, cell: ({ at }) => <Time iso={at} text={datedClock} /> },
  ...ANSWERED,
]

type Failure = UpstreamReport['failures'][number]

const FAILURE_COLUMNS: Column<Failure>[] = [
  {
    header: words.sent,
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
      <h2>{words.lastFailures}</h2>
      <p class="soft">{words.aboutFailures}</p>
      <Table
        label={words.failures}
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
      <h3>{words.attempts}</h3>
      <Table
        label={words.attempts}
        columns={COLUMNS}
        rows={attempts}
        keyOf={({ at, upstream, key }) => `${at} ${upstream} ${key}`}
        broad="always"
      />
    </section>
  )
