/**
 * What the owner of an account sees of it, for operators who help them: sessions, ledger and payments.
 */
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.accounts

const SESSION_COLUMNS: Column<Session>[] = [
  { header: words.device, cell: ({ userAgent }) => <span title={userAgent}>{deviceName(userAgent)}</span> },
  { header: t.words.fields.address, class: 'digits', cell: ({ ip }) => ip },
  { header: words.signedIn, cell: ({ createdAt }) => <Time iso={createdAt} /> },
  { header: words.lastSeen, cell: ({ lastSeenAt }) => <Time iso={lastSeenAt} /> },
]

type Props = { id: string; email: string; changed: () => void }

/** Where the owner is signed in; one session or all can be ended. */
export function SessionsOf({ id, email, changed }: Props) {
  const sessions = useLoad(`sessions of ${id}`, () => getSessionsOf(id))
  const [asking, setAsking] = useState<Session | 'all' | null>(null)
  const ending: Column<Session> = {
    header: words.end,
    hidden: true,
    right: true,
    cell: (session) => (
      <button
        type="button"
        class="small danger"
        aria-label={words.endOne(deviceName(session.userAgent))}
        onClick={() => setAsking(session)}
      >
        {words.end}
      </button>
    ),
  }
  return (
    <section class="panel">
      <div class="row between">
        <h2>{t.settings.sessions.title}</h2>
        {(sessions.data?.data.length ?? 0) > 1 && (
          <button type="button" class="small danger" onClick={() => setAsking('all')}>
            {words.endAll}
          </button>
        )}
      </div>
      <List of={sessions} rows={2} empty={<Empty title={words.notSignedIn} />}>
        {(items) => (
          <Table
            label={t.settings.sessions.title}
            columns={[...SESSION_COLUMNS, ending]}
            rows={items}
            keyOf={(session) => session.id}
          />
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
      title={all ? words.endAllTitle(email) : words.endTitle(email, deviceName(session.userAgent))}
      verb={all ? words.endAll : words.endSession}
      busyText={t.words.fields.ending}
      danger
      close={close}
      work={async () => {
        await (all ? endSessionsOf(id) : endSessionOf(session.id))
        ended()
      }}
    >
      {words.signInAgain}
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
      <h2>{t.credits.ledger}</h2>
      <List of={newest} rows={6} empty={<Empty title={t.credits.noEntries} />}>
        {(items) => <LedgerTable entries={[...items, ...(older?.entries ?? [])]} callHref={callHref} />}
      </List>
      <ErrorMessage problem={problem} />
      {next && (
        <p class="pager">
          <Action class="small quiet" busy={busy} busyText={words.loading} onClick={more}>
            {words.older}
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
      <h2>{t.credits.payments.title}</h2>
      <List of={payments} rows={3} empty={<Empty title={t.credits.payments.none} />}>
        {(items) => <PaymentTable payments={items} />}
      </List>
      {payments.data?.nextCursor && (
        <p class="pager">
          <a href={`/operator/payments?search=${id}`}>{words.allPayments}</a>
        </p>
      )}
    </section>
  )
}
