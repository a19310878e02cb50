/**
 * What the owner of an account sees of it, for operators who help them: sessions, ledger and payments.
 */
import { useState } from 'preact/hooks'
import type { LedgerEntry, Session } from '../../api/endpoints.ts'
import { endSessionOf, endSessionsOf, getLedgerOf, getSessionsOf } from '../../api/operator.ts'
import { searchPayments } from '../../api/operator-billing.ts'
import { Action, Empty, ErrorMessage, Time } from '../../parts/basics.tsx'
import { deviceName } from '../../parts/device.ts'
import { Confirm } from '../../parts/dialogs.tsx'
import { useSubmit } from '../../parts/forms.tsx'
import { List } from '../../parts/list.tsx'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'
import { LedgerTable } from '../credits/ledger.tsx'
import { PaymentTable } from './payments.tsx'

const SESSION_COLUMNS: Column<Session>[] = [
  { header: 'Device', cell: ({ userAgent }) => <span title={userAgent}>{deviceName(userAgent)}</span> },
  { header: 'Address', class: 'digits', cell: ({ ip }) => ip },
  { header: 'Signed in', cell: ({ createdAt }) => <Time iso={createdAt} /> },
  { header: 'Last seen', cell: ({ lastSeenAt }) => <Time iso={lastSeenAt} /> },
]

type Props = { id: string; email: string; changed: () => void }

/** Where the owner is signed in; one session or all can be ended. */
export function SessionsOf({ id, email, changed }: Props) {
  const sessions = useLoad(`sessions of ${id}`, () => getSessionsOf(id))
  const [asking, setAsking] = useState<Session | 'all' | null>(null)
  const ending: Column<Session> = {
    header: 'End',
    hidden: true,
    right: true,
    cell: (session) => (
      <button
        type="button"
        class="small danger"
        aria-label={`End the session of ${deviceName(session.userAgent)}`}
        onClick={() => setAsking(session)}
      >
        End
      </button>
    ),
  }
  return (
    <section class="panel">
      <div class="row between">
        <h2>Sessions</h2>
        {(sessions.data?.data.length ?? 0) > 1 && (
          <button type="button" class="small danger" onClick={() => setAsking('all')}>
            End all sessions
          </button>
        )}
      </div>
      <List of={sessions} rows={2} empty={<Empty title="Not signed in anywhere" />}>
        {(items) => (
          <Table label="Sessions" columns={[...SESSION_COLUMNS, ending]} rows={items} keyOf={(session) => session.id} />
        )}
      </List>
      {asking && (
        <EndSession
          of={{ id, email }}
          session={asking}
          close={() => setAsking(null)}
          ended={() => {
            sessions.reload()
            changed()
          }}
        />
      )}
    </section>
  )
}

type EndProps = {
  of: { id: string; email: string }
  session: Session | 'all'
  close: () => void
  ended: () => void
}

/** Asks before one session ends, or all. */
function EndSession({ of: { id, email }, session, close, ended }: EndProps) {
  const all = session === 'all'
  return (
    <Confirm
      title={all ? `Sign ${email} out everywhere?` : `Sign ${email} out of ${deviceName(session.userAgent)}?`}
      verb={all ? 'End all sessions' : 'End session'}
      busyText="Ending…"
      danger
      close={close}
      work={async () => {
        await (all ? endSessionsOf(id) : endSessionOf(session.id))
        ended()
      }}
    >
      They can sign in again with their password. Their keys keep working.
    </Confirm>
  )
}

const callHref = (call: string): string => `/operator/calls/${call}`

/** The newest entries, and older ones on request. `version` changes when credits have moved. */
export function LedgerOf({ id, version }: { id: string; version: string }) {
  const newest = useLoad(`ledger of ${id} ${version}`, () => getLedgerOf(id))
  const [older, setOlder] = useState<{ entries: LedgerEntry[]; next: string | null } | null>(null)
  const next = older ? older.next : (newest.data?.nextCursor ?? null)
  const { busy, problem, run } = useSubmit()
  const more = (): void =>
    run(async () => {
      const { data, nextCursor } = await getLedgerOf(id, next!)
      setOlder({ entries: [...(older?.entries ?? []), ...data], next: nextCursor })
    })
  return (
    <section class="panel">
      <h2>Ledger</h2>
      <List of={newest} rows={6} empty={<Empty title="No entries yet" />}>
        {(items) => <LedgerTable entries={[...items, ...(older?.entries ?? [])]} callHref={callHref} />}
      </List>
      <ErrorMessage problem={problem} />
      {next && (
        <p class="pager">
          <Action class="small quiet" busy={busy} busyText="Loading…" onClick={more}>
            Older entries
          </Action>
        </p>
      )}
    </section>
  )
}

export function PaymentsOf({ id }: { id: string }) {
  const payments = useLoad(`payments of ${id}`, () => searchPayments({ search: id }))
  return (
    <section class="panel">
      <h2>Payments</h2>
      <List of={payments} rows={3} empty={<Empty title="No payments yet" />}>
        {(items) => <PaymentTable payments={items} />}
      </List>
      {payments.data?.nextCursor && (
        <p class="pager">
          <a href={`/operator/payments?search=${id}`}>All payments →</a>
        </p>
      )}
    </section>
  )
}
