/**
 * One payment, and what an operator can do about it.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Problem, problemOf } from '../../api/client.ts'
import type { OperatedPayment, PaymentDetails } from '../../api/operator-billing.ts'
import { getPayment, checkPayment, refundPayment, resolvePayment } from '../../api/operator-billing.ts'
import { AccountLink, Action, ErrorMessage, Fact, Loading, Time } from '../../parts/basics.tsx'
import { Dialog } from '../../parts/dialogs.tsx'
import { credits, number } from '../../parts/format.ts'
import { Field, Form, Submit, fieldsOf, useSubmit } from '../../parts/forms.tsx'
import { creditsOf, majorText, minorOf, money } from '../../parts/money.ts'
import type { Column } from '../../parts/table.tsx'
import { Table } from '../../parts/table.tsx'
import { useLoad } from '../../state/load.ts'
import { LedgerTable } from '../credits/ledger.tsx'
import { PaymentStatus } from '../credits/payments.tsx'

export function PaymentSection({ id }: { id: string }) {
  const { data, problem, reload } = useLoad(`payment ${id}`, () => getPayment(id))
  if (problem?.code === 'not_found') return <ErrorMessage problem="There is no such payment." />
  if (!data) return problem ? <ErrorMessage problem={problem} retry={reload} /> : <Loading rows={8} />
  return (
    <>
      <ErrorMessage problem={problem} retry={reload} />
      <Head details={data} reload={reload} />
      {data.refunds.length > 0 && (
        <section class="panel">
          <h2>Refunds</h2>
          <Table label="Refunds" columns={refundColumns(data.payment)} rows={data.refunds} keyOf={({ id }) => id} />
        </section>
      )}
      <section class="panel">
        <h2>Ledger</h2>
        {data.ledger.length === 0 ? (
          <p class="soft">Nothing was credited.</p>
        ) : (
          <LedgerTable entries={data.ledger} callHref={(call) => `/operator/calls/${call}`} />
        )}
      </section>
    </>
  )
}

type Refunded = PaymentDetails['refunds'][number]

const REFUND_WORDS: Record<Refunded['status'], string> = {
  asked: 'Requested',
  taken: 'Accepted by Stripe',
  refused: 'Refused by Stripe',
}

const refundColumns = ({ currency }: OperatedPayment): Column<Refunded>[] => [
  { header: 'Time', cell: ({ createdAt }) => <Time iso={createdAt} /> },
  { header: 'Amount', right: true, class: 'digits', cell: ({ amountMinor }) => money(amountMinor, currency) },
  { header: 'Status', cell: ({ status, failure }) => `${REFUND_WORDS[status]}${failure ? `: ${failure}` : ''}` },
]

/** What can still be refunded, in minor units: what a dispute has taken cannot. */
const leftOf = ({ amountMinor, refundedMinor, disputedMinor }: OperatedPayment): number =>
  amountMinor - refundedMinor - disputedMinor

function Head({ details, reload }: { details: PaymentDetails; reload: () => void }) {
  const { payment, spent } = details
  const { busy, problem, run } = useSubmit()
  const [refunding, setRefunding] = useState(false)
  const doing = (work: () => Promise<unknown>) => (): void =>
    run(async () => {
      await work()
      reload()
    })
  const left = leftOf(payment)
  return (
    <section class="panel">
      <div class="row between">
        <h2 class="name">{money(payment.amountMinor, payment.currency)}</h2>
        <span class="row">
          <Action class="small quiet" busy={busy} busyText="Checking…" onClick={doing(() => checkPayment(payment.id))}>
            Check with Stripe now
          </Action>
          {payment.status === 'paid' && left > 0 && (
            <button type="button" class="small danger" onClick={() => setRefunding(true)}>
              Refund
            </button>
          )}
        </span>
      </div>
      {payment.status === 'review' && (
        <div class="notice" role="status">
          <p>
            <strong>Needs a decision:</strong> {payment.reviewReason}. Check it in Stripe's dashboard first.
          </p>
          <span class="row">
            <Action class="small" busy={busy} onClick={doing(() => resolvePayment(payment.id, 'grant'))}>
              Grant the credits
            </Action>
            <Action class="small danger" busy={busy} onClick={doing(() => resolvePayment(payment.id, 'dismiss'))}>
              Dismiss
            </Action>
          </span>
        </div>
      )}
      <ErrorMessage problem={problem} />
      <Facts payment={payment} spent={spent} />
      {refunding && <Refund details={details} close={() => setRefunding(false)} done={reload} />}
    </section>
  )
}

/** The facts that are too long for one column. */
const LONG = new Set(['Account', 'ID', 'At Stripe'])

function Facts({ payment, spent }: { payment: OperatedPayment; spent: number }) {
  const { currency, refundedMinor, disputedMinor, receiptUrl } = payment
  const facts: [name: string, value: ComponentChildren, testId?: string][] = [
    ['Status', <PaymentStatus payment={payment} />],
    ['Account', <AccountLink id={payment.accountId} email={payment.accountEmail} name={payment.accountName} />],
    ['Credits', number(creditsOf(payment))],
    ['Already spent', number(spent), 'spent'],
    ['Taken back', number(payment.reversed), 'reversed'],
    ['Refunded', money(refundedMinor, currency)],
    ['Disputed', money(disputedMinor, currency)],
    ['Ordered', <Time iso={payment.createdAt} />],
    ['Paid', payment.paidAt ? <Time iso={payment.paidAt} /> : 'not yet'],
    ['ID', <code>{payment.id}</code>],
    ['At Stripe', <code>{payment.intent ?? payment.session ?? 'nothing yet'}</code>],
  ]
  return (
    <dl class="facts">
      {facts.map(([name, value, testId]) => (
        <Fact key={name} name={name} long={LONG.has(name)} testId={testId}>
          {value}
        </Fact>
      ))}
      {receiptUrl && (
        <Fact name="Receipt">
          <a href={receiptUrl} target="_blank" rel="noreferrer">
            Open at Stripe
          </a>
        </Fact>
      )}
    </dl>
  )
}

type RefundProps = { details: PaymentDetails; close: () => void; done: () => void }

/** Proposes what can be refunded without a debt; more needs a decision, and again when the server reports it. */
function Refund({ details: { payment, spent, refundableMinor }, close, done }: RefundProps) {
  const { id, currency } = payment
  const left = leftOf(payment)
  const { busy, problem, run } = useSubmit()
  const [mustForce, setMustForce] = useState(refundableMinor < left)
  const submit = (event: Event): void => {
    const { amount = '', force } = fieldsOf(event)
    const amountMinor = minorOf(amount, currency)
    run(async () => {
      if (!amountMinor || amountMinor > left)
        throw new Problem('invalid_amount', `amount must be an amount up to ${money(left, currency)}.`)
      try {
        await refundPayment(id, { ...(amountMinor !== left && { amountMinor }), ...(force && { force: true }) })
      } catch (thrown) {
        if (problemOf(thrown).code === 'credits_spent') setMustForce(true)
        throw thrown
      }
      close()
      done()
    })
  }
  return (
    <Dialog title="Refund this payment?" close={close}>
      <Form problem={problem} onSubmit={submit}>
        <p>
          Its credits are taken back first, then the customer gets the money. {credits(spent)} of this payment{' '}
          {spent === 1 ? 'is' : 'are'} already spent.
        </p>
        <Field
          label={`Amount (${currency.toUpperCase()})`}
          name="amount"
          inputMode="decimal"
          defaultValue={majorText(refundableMinor, currency)}
          hint={
            refundableMinor < left
              ? `${money(refundableMinor, currency)} is left unspent. At most ${money(left, currency)}.`
              : `At most ${money(left, currency)}.`
          }
          required
        />
        {mustForce && (
          <label class="check">
            <input type="checkbox" name="force" value="yes" />
            Refund although credits are spent: they become debt of the account
          </label>
        )}
        <Submit class="danger" busy={busy} busyText="Refunding…" verb="Refund" cancel={close} />
      </Form>
    </Dialog>
  )
}
