import { expect } from 'chai'
import { publicId } from '../../../src/shared/platform/ids.ts'
import type { AccountId } from '../../../src/shared/platform/ids.ts'
import type { PaymentRow } from '../../../src/shared/payments/orders.ts'
import { objectsOf } from './play.ts'
import type { ScheduleRun } from './play.ts'

/** What Stripe says of an order, read by nobody but this test. */
type Truth = { paid: boolean; gone: number }

/** Reads every payment that names an order: whether it is paid, and how much of it went back. */
function truths(run: ScheduleRun): Map<string, Truth> {
  const all = new Map<string, Truth>()
  const refunds = objectsOf(run, 'refund')
  const disputes = objectsOf(run, 'dispute')
  const sum = (amounts: number[]): number => amounts.reduce((all, one) => all + one, 0)
  for (const { id, status, metadata } of objectsOf(run, 'payment_intent')) {
    const back = refunds.filter((one) => one.payment_intent === id && one.status !== 'failed')
    const moved = disputes.filter((one) => one.payment_intent === id).flatMap((one) => one.balance_transactions)
    const gone = sum(back.map(({ amount }) => amount)) - sum(moved.map(({ amount }) => amount))
    const named = metadata['payment']!
    expect(all.has(named), `${named} was asked for twice`).to.equal(false)
    all.set(named, { paid: status === 'succeeded', gone })
  }
  return all
}

/** The rules, in ten lines: what a payment gives, and what is taken back of it. */
function expected({ credits, bonus, amount_minor: amount }: PaymentRow, truth: Truth | undefined, isOther: boolean) {
  if (!truth?.paid || isOther) return { granted: 0, reversed: 0 }
  const granted = credits + bonus
  const reversed = truth.gone >= amount ? granted : Math.floor((credits * truth.gone) / amount)
  return { granted, reversed }
}

type OrderRow = PaymentRow & { granted: number }
type AccountRow = { id: AccountId; worth: number; by_calls: number; receipts: number }

/** The orders of a run, with the credits that each has granted, and its accounts, with what moved their credits. */
async function rowsOf({ db, accounts }: ScheduleRun): Promise<{ orders: OrderRow[]; books: AccountRow[] }> {
  const owners = [accounts.map(({ id }) => id), accounts.map(({ email }) => email)]
  const [{ rows: orders }, { rows: books }] = await Promise.all([
    db.raw<{ rows: OrderRow[] }>(
      `
      SELECT p.*, coalesce((SELECT sum(g.amount) FROM grants g WHERE g.payment_id = p.id), 0)::bigint AS granted
      FROM payments p WHERE p.account_id = ANY (?::uuid[]) ORDER BY p.id`,
      owners.slice(0, 1),
    ),
    db.raw<{ rows: AccountRow[] }>(
      `
      SELECT acc.id, acc.credits - acc.debt AS worth,
        coalesce((SELECT sum(e.amount) FROM ledger_entries e WHERE e.account_id = acc.id
          AND e.kind IN ('charge', 'settlement', 'refund')), 0)::bigint
          - coalesce((SELECT sum(c.credits_uncollected) FROM calls c WHERE c.account_id = acc.id), 0)::bigint
          AS by_calls,
        (SELECT count(*) FROM mails m WHERE m.recipient = payer.email AND m.kind = 'receipt') AS receipts
      FROM unnest(?::uuid[], ?::text[]) AS payer (id, email) JOIN accounts acc ON acc.id = payer.id`,
      owners,
    ),
  ])
  return { orders, books }
}

type Told = { type: string; payment: string; refunded: number; disputed: number }

/**
 * Holds what accounts were told of their payments against the payments: each that is paid once, and of what went back
 * nothing less than it was.
 */
async function checkEvents({ db, accounts }: ScheduleRun, orders: readonly OrderRow[]): Promise<void> {
  const { rows: told } = await db.raw<{ rows: Told[] }>(
    `
    SELECT d.type, event.data ->> 'payment' AS payment, (event.data ->> 'refundedMinor')::int AS refunded,
      (event.data ->> 'disputedMinor')::int AS disputed
    FROM webhook_deliveries d JOIN webhooks w ON w.id = d.webhook_id,
      LATERAL (SELECT d.body::jsonb -> 'data' AS data) event
    WHERE w.account_id = ANY (?::uuid[]) ORDER BY d.id`,
    [accounts.map(({ id }) => id)],
  )
  for (const row of orders) {
    const id = publicId('payment', row.id)
    const of = (type: string) => told.filter((event) => event.payment === id && event.type === type)
    expect(of('payment.succeeded').length, `${id}: told that it is paid`).to.equal(row.status === 'paid' ? 1 : 0)
    const most = Math.max(0, ...of('payment.refunded').map(({ refunded }) => refunded))
    expect(most, `${id}: told what was refunded`).to.be.at.least(row.refunded_minor)
    const disputed = Math.max(0, ...of('payment.disputed').map((event) => event.disputed))
    expect(disputed, `${id}: told what is disputed`).to.be.at.least(row.disputed_minor)
  }
}

/** Holds every order and account of a run against what Stripe says. */
export async function checkOutcome(run: ScheduleRun): Promise<void> {
  const { tampered } = run
  const { orders, books } = await rowsOf(run)
  await checkEvents(run, orders)
  const known = truths(run)
  const left = new Map(books.map(({ id }) => [id, 0]))
  for (const row of orders) {
    const id = publicId('payment', row.id)
    const truth = known.get(id)
    const { granted, reversed } = expected(row, truth, tampered.has(id))
    const about = `${id} (${row.kind}, ${row.status}, at Stripe ${JSON.stringify(truth)})`
    expect(row.granted, `${about}: credits granted`).to.equal(granted)
    expect(row.reversed, `${about}: credits taken back`).to.equal(reversed)
    if (granted > 0) expect(row.status, about).to.equal('paid')
    else expect(row.status, about).to.not.equal('paid')
    if (!tampered.has(id)) expect(row.status, about).to.not.equal('review')
    left.set(row.account_id, left.get(row.account_id)! + granted - reversed)
  }
  expect(books.length).to.equal(run.accounts.length)
  for (const { id, worth, by_calls: byCalls, receipts } of books) {
    expect(worth, `${id}: balance less debt`).to.equal(left.get(id)! + byCalls)
    const paid = orders.filter((row) => row.account_id === id && row.status === 'paid')
    expect(receipts, `${id}: a receipt for each payment`).to.equal(paid.length)
  }
}
