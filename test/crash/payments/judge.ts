import { expect } from 'chai'
import type Stripe from 'stripe'
import { balanceOf, debtOf } from '../../../scripts/harness/factories.ts'
import { publicId } from '../../../src/shared/ids.ts'
import type { PaymentRow } from '../../../src/shared/payments/orders.ts'
import { ordersOf } from './play.ts'
import type { Story } from './play.ts'

/** What Stripe says of an order, read by nobody but this test. */
type Truth = { paid: boolean; gone: number }

/** Reads every payment that names an order: whether it is paid, and how much of it went back. */
async function truths({ stripe }: Story): Promise<Map<string, Truth>> {
  const all = new Map<string, Truth>()
  const [intents, refunds, disputes] = await Promise.all([
    stripe.list<Stripe.PaymentIntent>('payment_intent'),
    stripe.list<Stripe.Refund>('refund'),
    stripe.list<Stripe.Dispute>('dispute'),
  ])
  const sum = (amounts: number[]): number => amounts.reduce((all, one) => all + one, 0)
  for (const { id, status, metadata } of intents) {
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

/** Holds every order and account of a story against what Stripe says. */
export async function judge(story: Story): Promise<void> {
  const { db, accounts, tampered } = story
  const known = await truths(story)
  const orders = await ordersOf(story)
  const left = new Map(accounts.map(({ id }) => [id, 0]))
  for (const row of orders) {
    const id = publicId('payment', row.id)
    const truth = known.get(id)
    const { granted, reversed } = expected(row, truth, tampered.has(id))
    const about = `${id} (${row.kind}, ${row.status}, at Stripe ${JSON.stringify(truth)})`
    const [grants] = await db('grants').where({ payment_id: row.id }).sum<{ sum: number | null }[]>({ sum: 'amount' })
    expect(Number(grants!.sum ?? 0), `${about}: credits granted`).to.equal(granted)
    expect(row.reversed, `${about}: credits taken back`).to.equal(reversed)
    if (granted > 0) expect(row.status, about).to.equal('paid')
    else expect(row.status, about).to.not.equal('paid')
    if (!tampered.has(id)) expect(row.status, about).to.not.equal('review')
    left.set(row.account_id, left.get(row.account_id)! + granted - reversed)
  }
  for (const { id, email } of accounts) {
    const [calls] = await db('ledger_entries')
      .where({ account_id: id })
      .whereIn('kind', ['charge', 'settlement', 'refund'])
      .sum<{ sum: number | null }[]>({ sum: 'amount' })
    const worth = (await balanceOf(db, id)) - (await debtOf(db, id))
    expect(worth, `${email}: balance less debt`).to.equal(left.get(id)! + Number(calls!.sum ?? 0))
    const receipts = await db('mails').where({ recipient: email, kind: 'receipt' })
    const paid = orders.filter((row) => row.account_id === id && row.status === 'paid')
    expect(receipts.length, `${email}: a receipt for each payment`).to.equal(paid.length)
  }
}
