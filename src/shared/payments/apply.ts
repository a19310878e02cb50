/**
 * Brings an order to what its provider said: in one transaction its state, its grants, what is reversed, and the mail
 * with the receipt. Nobody else grants or reverses credits of payments.
 */
import type { Db, Trx } from '../infra/db.ts'
import { failpoint } from '../infra/failpoints.ts'
import type { PaymentId } from '../ids.ts'
import { newId } from '../ids.ts'
import { grant, lockAccount, reversePayment } from '../ledger/ledger.ts'
import type { Verdict } from './decide.ts'
import { changes, decide, differenceOf, pauseBefore } from './decide.ts'
import { mailOwner } from './mails.ts'
import type { PaymentRow } from './orders.ts'
import { lockPayment } from './orders.ts'
import type { Seen } from './provider.ts'
import { askedOf, endRefund, refundsOf } from './refund-rows.ts'
import { countTopUp, keepCard } from './settings.ts'

/** What applying a read did. `balance` is null where no credits moved. */
export type Applied = {
  row: PaymentRow
  /** What of the provider's object is not the order's; null where all is. */
  difference: string | null
  /** It was found paid, and credited, here and now. */
  credited: boolean
  balance: number | null
}

/**
 * Applies what was read of an order whose row had this version before the reading.
 * @returns null where the order has changed since, so that what was read is stale: read again.
 */
export async function applySeen(db: Db, row: PaymentRow, seen: Seen): Promise<Applied | null> {
  failpoint('payment.applying', row.id)
  const applied = await db.transaction(async (trx) => {
    await lockAccount(trx, row.account_id)
    const current = await lockPayment(trx, row.id)
    const asked = await refundsOf(trx, row.id)
    const verdict = decide(current, seen, askedOf(asked))
    const difference = differenceOf(current, seen)
    if (!changes(current, verdict)) return { row: await wait(trx, current), difference, credited: false, balance: null }
    if (current.version !== row.version) return null
    for (const { reference, ours } of seen.refunds) {
      const known = askedOf(asked).findIndex(({ id }) => id === ours)
      if (known >= 0) await endRefund(trx, asked[known]!.id, { status: 'taken', reference })
    }
    return { difference, ...(await write(trx, current, verdict, seen)) }
  })
  if (applied?.credited) failpoint('payment.credited', row.id)
  return applied
}

/** Notes that an order was looked at, and that nothing came of it. @returns the order; null where there is none. */
export async function noteLook(db: Db, id: PaymentId): Promise<PaymentRow | null> {
  return db.transaction(async (trx) => {
    const row = await lockPayment(trx, id)
    return row ? wait(trx, row) : null
  })
}

/** Nothing changed: only when the sweep looks again. */
async function wait(trx: Trx, row: PaymentRow): Promise<PaymentRow> {
  const checks = row.checks + 1
  await trx('payments')
    .where({ id: row.id })
    .update({ checks, next_check_at: nextCheck(trx, { ...row, checks }) })
  return { ...row, checks }
}

function nextCheck(trx: Trx, row: PaymentRow) {
  const minutes = pauseBefore(row, Date.now())
  return minutes === null ? null : trx.raw('now() + make_interval(mins => ?)', [minutes])
}

async function write(
  trx: Trx,
  row: PaymentRow,
  { reversed, ...verdict }: Verdict,
  seen: Seen,
): Promise<Omit<Applied, 'difference'>> {
  const credited = verdict.status === 'paid' && row.status !== 'paid'
  const after = {
    ...row,
    ...verdict,
    paid_at: credited ? new Date() : row.paid_at,
    checks: 0,
    version: row.version + 1,
  }
  await trx('payments')
    .where({ id: row.id })
    .update({
      ...verdict,
      ...(credited && { paid_at: trx.fn.now() }),
      checks: 0,
      version: after.version,
      next_check_at: nextCheck(trx, after),
    })
  let balance: number | null = null
  if (credited) {
    balance = await grantOrdered(trx, row)
    if (row.kind === 'auto') await countTopUp(trx, row.account_id, null)
    if (seen.card) await keepCard(trx, row.account_id, seen.card)
    await mailOwner(trx, row.account_id, 'receipt', receiptOf(after))
  }
  if (row.kind === 'auto' && verdict.status === 'failed' && row.status !== 'failed')
    await countTopUp(trx, row.account_id, verdict.failure ?? 'declined')
  if (reversed !== row.reversed) balance = await reversePayment(trx, row.id, reversed)
  return { row: { ...after, reversed }, credited, balance }
}

const receiptOf = (row: PaymentRow) => ({
  credits: row.credits + row.bonus,
  currency: row.currency,
  amountMinor: row.amount_minor,
  receiptUrl: row.receipt_url,
  kind: row.kind,
})

/** Grants what was ordered: the credits, and the bonus as a grant of its own. @returns the balance after it. */
export async function grantOrdered(trx: Trx, row: PaymentRow): Promise<number> {
  const { id: paymentId, account_id: accountId, credits, bonus } = row
  const lot = (origin: 'purchase' | 'bonus', amount: number) =>
    grant(trx, { id: newId('grant'), accountId, origin, amount, paymentId })
  const balance = await lot('purchase', credits)
  return bonus > 0 ? lot('bonus', bonus) : balance
}

/** Puts an order before an operator, while it is undecided. @returns whether it is now. */
export async function putToReview(db: Db, id: PaymentId, reason: string): Promise<boolean> {
  const changed = await db('payments')
    .where({ id })
    .whereIn('status', ['created', 'open'])
    .update({ status: 'review', review_reason: reason, next_check_at: null, version: db.raw('version + 1') })
  return changed === 1
}
