/**
 * One payment, and what an operator can do about it.
 */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { t } from '../../language/language.ts'
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

const words = t.records

export function PaymentSection({ id }: { id: string }) {
  const { data, problem, reload } = useLoad(`payment ${id}`, () => getPayment(id))
  if (problem?.code === 'not_found') return <ErrorMessage problem={t.credits.payments.noSuch} />
  if (!data) return problem ? <ErrorMessage problem={problem} retry={reload} /> : <Loading rows={8} />
  return (
    <>
      <ErrorMessage problem={problem} retry={reload} />
      <Head details={data} reload={reload} />
      {data.refunds.length > 0 && (
        <section class="panel">
          <h2>{words.refunds}</h2>
          <Table
            label={words.refunds}
            columns={refundColumns(data.payment)}
            rows={data.refunds}
            keyOf={({ id }) => id}
          />
        </section>
      )}
      <section class="panel">
        <h2>{t.credits.ledger}</h2>
        {data.ledger.length === 0 ? (
          <p class="soft">{words.notCredited}</p>
        ) : (
          <LedgerTable entries={data.ledger} callHref={(call) => `/operator/calls/${call}`} />
        )}
      </section>
    </>
  )
}

type Refunded = PaymentDetails['refunds'][number]

const refundColumns = ({ currency }: OperatedPayment): Column<Refunded>[] => [
  { header: t.words.fields.time, cell: ({ createdAt }) => <Time iso={createdAt} /> },
  {
    header: t.words.fields.amount,
    right: true,
    class: 'digits',
    cell: ({ amountMinor }) => money(amountMinor, currency),
  },
  {
    header: t.words.fields.status,
    cell: ({ status, failure }) => `${words.refundStatuses[status]}${failure ? words.because(failure) : ''}`,
  },
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
          <Action
            class="small quiet"
            busy={busy}
            busyText={words.checking}
            onClick={doing(() => checkPayment(payment.id))}
          >
            {words.checkNow}
          </Action>
          {payment.status === 'paid' && left > 0 && (
            <button type="button" class="small danger" onClick={() => setRefunding(true)}>
              {words.refund}
            </button>
          )}
        </span>
      </div>
      {payment.status === 'review' && (
        <div class="notice" role="status">
          <p>
            <strong>{words.needsDecision}</strong>
            {words.decide(payment.reviewReason ?? '')}
          </p>
          <span class="row">
            <Action class="small" busy={busy} onClick={doing(() => resolvePayment(payment.id, 'grant'))}>
              {words.grantCredits}
            </Action>
            <Action class="small danger" busy={busy} onClick={doing(() => resolvePayment(payment.id, 'dismiss'))}>
              {words.dismiss}
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
const LONG = new Set([t.words.fields.account, 'ID', words.atStripe])

function Facts({ payment, spent }: { payment: OperatedPayment; spent: number }) {
  const { currency, refundedMinor, disputedMinor, receiptUrl } = payment
  const facts: [name: string, value: ComponentChildren, testId?: string][] = [
    [t.words.fields.status, <PaymentStatus payment={payment} />],
    [
      t.words.fields.account,
      <AccountLink id={payment.accountId} email={payment.accountEmail} name={payment.accountName} />,
    ],
    [t.frame.page.credits, number(creditsOf(payment))],
    [words.spent, number(spent), 'spent'],
    [words.takenBack, number(payment.reversed), 'reversed'],
    [words.refunded, money(refundedMinor, currency)],
    [words.disputed, money(disputedMinor, currency)],
    [words.ordered, <Time iso={payment.createdAt} />],
    [words.paid, payment.paidAt ? <Time iso={payment.paidAt} /> : t.calls.steps.notYet],
    ['ID', <code>{payment.id}</code>],
    [words.atStripe, <code>{payment.intent ?? payment.session ?? words.nothingYet}</code>],
  ]
  return (
    <dl class="facts">
      {facts.map(([name, value, testId]) => (
        <Fact key={name} name={name} long={LONG.has(name)} testId={testId}>
          {value}
        </Fact>
      ))}
      {receiptUrl && (
        <Fact name={t.credits.payments.receipt}>
          <a href={receiptUrl} target="_blank" rel="noreferrer">
            {words.openAtStripe}
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
        throw new Problem('invalid_amount', words.amountUpTo(money(left, currency)), 'amount')
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
    <Dialog title={words.refundTitle} close={close}>
      <Form problem={problem} onSubmit={submit}>
        <p>{words.aboutRefund(credits(spent), spent === 1)}</p>
        <Field
          label={words.amountIn(currency.toUpperCase())}
          name="amount"
          inputMode="decimal"
          defaultValue={majorText(refundableMinor, currency)}
          hint={[
            refundableMinor < left && words.unspent(money(refundableMinor, currency)),
            words.atMost(money(left, currency)),
          ]}
          required
        />
        {mustForce && (
          <label class="check">
            <input type="checkbox" name="force" value="yes" />
            {words.force}
          </label>
        )}
        <Submit class="danger" busy={busy} busyText={words.refunding} verb={words.refund} cancel={close} />
      </Form>
    </Dialog>
  )
}
