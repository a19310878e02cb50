/**
 * What was bought: every payment with its state and receipt, and the one that somebody comes back from.
 */
import { useEffect, useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
import type { Payment } from '../../api/billing.ts'
import { cancelPayment, syncPayment } from '../../api/billing.ts'
import type { Problem } from '../../api/client.ts'
import { problemOf } from '../../api/client.ts'
import type { Page } from '../../api/endpoints.ts'
import { Action, Empty, ErrorMessage, Time } from '../../parts/basics.tsx'
import { credits, number } from '../../parts/format.ts'
import { useSubmit } from '../../parts/forms.tsx'
import { List } from '../../parts/list.tsx'
import { creditsOf, money } from '../../parts/money.ts'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { loadAccount } from '../../state/account.ts'
import type { Loaded } from '../../state/load.ts'

const words = t.credits.payments
const headers = t.overview.calls

/** The pauses between checks of a payment that is still open, in ms; the last pause repeats. */
const LOOKS_MS = [1000, 2000, 3000, 5000, 10_000]

/** The classes are those of calls: a payment that is on its way has the style of a running call. */
export const STATUSES: Record<Payment['status'], readonly [word: string, look: string]> = {
  created: [words.statuses.created, 'queued'],
  open: [words.statuses.open, 'running'],
  paid: [words.statuses.paid, 'succeeded'],
  expired: [words.statuses.expired, 'rejected'],
  failed: [words.statuses.failed, 'failed'],
  review: [words.statuses.review, 'running'],
}

type Shown = { payment: Pick<Payment, 'status' | 'reversed' | 'payable'> }

export const PaymentStatus = ({ payment: { status, reversed, payable } }: Shown) => (
  <>
    <span class={`status ${STATUSES[status][1]}`}>{payable ? words.notPaid : STATUSES[status][0]}</span>
    {reversed > 0 && <small class="soft">{words.takenBack(number(reversed))}</small>}
  </>
)

/** Goes on to the page on which a payment can still be made, or ends it. */
function Unpaid({ payment: { id, payable }, changed }: { payment: Payment; changed: () => void }) {
  const { busy, problem, run } = useSubmit()
  if (!payable) return null
  const cancel = (): void =>
    run(async () => {
      try {
        await cancelPayment(id)
      } finally {
        changed()
      }
    })
  return (
    <span class="row">
      <a href={payable.url}>{words.continue}</a>
      <Action class="small quiet" busy={busy} busyText={words.cancelling} onClick={cancel}>
        {t.frame.cancel}
      </Action>
      <ErrorMessage problem={problem} />
    </span>
  )
}

const columns = (changed: () => void): Column<Payment>[] => [
  { header: t.words.fields.time, cell: (payment) => <Time iso={payment.createdAt} /> },
  {
    header: t.words.fields.amount,
    right: true,
    class: 'digits',
    cell: (payment) => money(payment.amountMinor, payment.currency),
  },
  { header: headers.credits, right: true, class: 'digits', cell: (payment) => number(creditsOf(payment)) },
  { header: t.credits.columns.how, cell: (payment) => (payment.kind === 'auto' ? words.automatic : words.checkout) },
  { header: t.words.fields.status, cell: (payment) => <PaymentStatus payment={payment} /> },
  {
    header: words.receipt,
    cell: (payment) =>
      payment.receiptUrl ? (
        <a href={payment.receiptUrl} target="_blank" rel="noreferrer">
          {words.receipt}
        </a>
      ) : (
        <Unpaid payment={payment} changed={changed} />
      ),
  },
]

type Props = { payments: Loaded<Page<Payment>>; cursor: string | undefined; changed: () => void }

export const Payments = ({ payments, cursor, changed }: Props) => (
  <section class="panel">
    <h2>{words.title}</h2>
    <List of={payments} rows={3} empty={<Empty title={words.none}>{words.appear}</Empty>}>
      {(items) => (
        <Table
          label={words.title}
          testId="payments"
          columns={columns(changed)}
          rows={items}
          keyOf={(payment) => payment.id}
        />
      )}
    </List>
    <p class="pager">
      {cursor && <a href="/credits">{t.frame.newest}</a>}
      {payments.data?.nextCursor && (
        <a href={`/credits?payments=${encodeURIComponent(payments.data.nextCursor)}`}>{t.frame.older}</a>
      )}
    </p>
  </section>
)

/** Nothing more happens to it by itself: nobody pays a payment while they are on this page. */
const isOver = ({ status, payable }: Payment, tries: number): boolean =>
  status === 'paid' || status === 'expired' || status === 'failed' || (payable !== null && tries >= LOOKS_MS.length)

/** The payment that somebody comes back from: checked until it has ended. */
export function Returned({ id, changed }: { id: string; changed: () => void }) {
  const [looks, setLooks] = useState(0)
  const [payment, setPayment] = useState<Payment | null>(null)
  const [problem, setProblem] = useState<Problem | null>(null)
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let gone = false
    const look = async (tries: number): Promise<void> => {
      let found: Payment | null = null
      try {
        found = (await syncPayment(id)).payment
        if (gone) return
        setPayment(found)
        setProblem(null)
      } catch (thrown) {
        if (gone) return
        setProblem(problemOf(thrown))
        if (problemOf(thrown).code === 'not_found') return
      }
      changed()
      void loadAccount()
      if (!found || !isOver(found, tries)) {
        timer = setTimeout(() => void look(tries + 1), LOOKS_MS[Math.min(tries, LOOKS_MS.length - 1)])
      }
    }
    void look(0)
    return () => {
      gone = true
      clearTimeout(timer)
    }
  }, [id, changed, looks])
  if (problem && !payment) {
    return <ErrorMessage problem={problem.code === 'not_found' ? words.noSuch : problem} />
  }
  return (
    <div class={payment?.status === 'paid' ? 'notice good' : 'notice'} role="status" data-testid="returned">
      <p>{payment ? <Outcome payment={payment} /> : words.checking}</p>
      {payment && <Unpaid payment={payment} changed={() => setLooks(looks + 1)} />}
    </div>
  )
}

function Outcome({ payment }: { payment: Payment }) {
  const price = money(payment.amountMinor, payment.currency)
  const gives = credits(creditsOf(payment))
  switch (payment.status) {
    case 'paid':
      return (
        <>
          <strong>{words.thanks(price)}</strong>
          {words.received(gives)}
          {payment.receiptUrl && (
            <a href={payment.receiptUrl} target="_blank" rel="noreferrer">
              {words.receipt}
            </a>
          )}
        </>
      )
    case 'expired':
      return <>{words.expired(price)}</>
    case 'failed':
      return <>{words.failed(price)}</>
    case 'review':
      return <>{words.review(price)}</>
    case 'created':
    case 'open':
      return <>{payment.payable ? words.unpaid(price, gives) : words.unconfirmed(price, gives)}</>
  }
}
