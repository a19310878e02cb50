/**
 * Applies a provider's state to an order: in one transaction its status, its grants, what is reversed, and the mail
 * with the receipt. No other code grants or reverses credits of payments.
 */
import type { Db, Trx } from '../platform/postgres/db.ts'
import { failpoint } from '../platform/process/failpoints.ts'
import type { PaymentId, RefundId } from '../platform/ids.ts'
import { newId, publicId } from '../platform/ids.ts'
import { grant, lockAccount, reversePayment } from '../ledger/ledger.ts'
import type { Verdict } from './decide.ts'
import { DISMISSED, UNDECIDED, changes, decide, differenceOf, pauseBefore } from './decide.ts'
import { mailOwner } from '../identity/owner-mail.ts'
import type { PaymentRow } from './orders.ts'
import { lockPayment } from './orders.ts'
import type { OrderState } from './provider.ts'
import type { RefundRow } from './refund-rows.ts'
import { askedOf, endRefund, waitingRefundsOf } from './refund-rows.ts'
import { saveCard } from './customers.ts'
import { countTopUp } from './declines.ts'

/** What applying a state did. `balance` is null if no credits moved. */
export type Applied = {
  row: PaymentRow
  /** The field in which the provider's state differs from the order; null if none does. */
  difference: string | null
  /** It was found paid and credited by this application. */
  credited: boolean
  balance: number | null
}

/**
 * Applies a state that was read after the row had this version.
 * @returns null if the order has changed since: the state is stale and must be read again.
 */
export async function applyState(db: Db, row: PaymentRow, seen: OrderState): Promise<Applied | null> {
  failpoint('payment.applying', row.id)
  const unchanged = await recordSame(db, row, seen)
  if (unchanged) return { row: unchanged, difference: differenceOf(row, seen), credited: false, balance: null }
  const applied = await db.transaction(async (trx) => {
    const { deleted_at: deletedAt } = await lockAccount(trx, row.account_id)
    const current = await lockPayment(trx, row.id)
    const asked = await waitingRefundsOf(trx, current)
    const verdict = decide(current, seen, { asked: askedOf(asked), isDeleted: deletedAt !== null })
    const difference = differenceOf(current, seen)
    // Also where nothing else changes: what is listed was taken, and is never given back for want of an answer.
    const taken = takenOf(asked, seen)
    for (const { id, reference } of taken) await endRefund(trx, id, { status: 'taken', reference })
    if (!changes(current, verdict)) {
      // A state that was read before, and does not list them yet, is stale from now on.
      const version = current.version + (taken.length > 0 ? 1 : 0)
      return { row: await wait(trx, { ...current, version }), difference, credited: false, balance: null }
    }
    if (current.version !== row.version) return null
    return { difference, ...(await write(trx, current, verdict, seen)) }
  })
  if (applied?.credited) failpoint('payment.credited', row.id)
  return applied
}

/** The refunds that wait for an answer, and that the provider lists: it took them. */
const takenOf = (waiting: readonly RefundRow[], seen: OrderState): { id: RefundId; reference: string }[] =>
  seen.refunds.flatMap(({ reference, ours }) =>
    waiting.filter(({ id }) => publicId('refund', id) === ours).map(({ id }) => ({ id, reference })),
  )

/**
 * Records a check that found an order as it was, which most checks do, in one statement and without a lock before it.
 * The version guards it, of which every change of an order or of its refunds makes a new one. That the account may be
 * deleted needs no check: it decides only of an order that turns out to be paid.
 * @returns the order; null if the state changes it, or if it has changed since: then it is checked under its locks.
 */
async function recordSame(db: Db, row: PaymentRow, seen: OrderState): Promise<PaymentRow | null> {
  // Read after the order, so that a refund that this misses has changed the version.
  const asked = await waitingRefundsOf(db, row)
  if (changes(row, decide(row, seen, { asked: askedOf(asked), isDeleted: false }))) return null
  if (takenOf(asked, seen).length > 0) return null
  const [now] = await db('payments')
    .where({ id: row.id, version: row.version })
    .update({ checks: db.raw('checks + 1'), next_check_at: nextCheck(db, { ...row, checks: row.checks + 1 }) })
    .returning<PaymentRow[]>('*')
  return now ?? null
}

/** Records that an order was checked without result. @returns the order; null if there is none. */
export async function recordCheck(db: Db, id: PaymentId): Promise<PaymentRow | null> {
  return db.transaction(async (trx) => {
    const row = await lockPayment(trx, id)
    return row ? wait(trx, row) : null
  })
}

/** Changes only when the sweep checks the order again. */
async function wait(trx: Trx, row: PaymentRow): Promise<PaymentRow> {
  const checks = row.checks + 1
  await trx('payments')
    .where({ id: row.id })
    .update({ checks, version: row.version, next_check_at: nextCheck(trx, { ...row, checks }) })
  return { ...row, checks }
}

function nextCheck(trx: Db | Trx, row: PaymentRow) {
  const minutes = pauseBefore(row, Date.now())
  return minutes === null ? null : trx.raw('now() + make_interval(mins => ?)', [minutes])
}

async function write(
  trx: Trx,
  row: PaymentRow,
  { reversed, ...verdict }: Verdict,
  seen: OrderState,
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
    if (seen.card) await saveCard(trx, row.account_id, seen.customer, seen.card)
    await mailOwner(trx, row.account_id, 'receipt', receiptOf(after))
  }
  if (row.kind === 'auto' && verdict.status === 'failed' && row.status !== 'failed')
    await countTopUp(trx, row.account_id, verdict.failure ?? 'declined')
  if (reversed !== row.reversed) balance = await reversePayment(trx, row.id, reversed)
  return { row: { ...after, reversed }, credited, balance }
}

/** The details of the mail with the receipt of an order. */
export const receiptOf = (row: PaymentRow) => ({
  credits: row.credits + row.bonus,
  currency: row.currency,
  amountMinor: row.amount_minor,
  receiptUrl: row.receipt_url,
  kind: row.kind,
})

/** Grants what was ordered: the credits, and the bonus as a grant of its own. @returns the balance after it. */
export async function grantOrdered(trx: Trx, row: PaymentRow): Promise<number> {
  const { id: paymentId, account_id: accountId, credits, bonus } = row
  const give = (origin: 'purchase' | 'bonus', amount: number) =>
    grant(trx, { id: newId('grant'), accountId, origin, amount, paymentId })
  const balance = await give('purchase', credits)
  return bonus > 0 ? give('bonus', bonus) : balance
}

/** Puts an undecided order into review, unless it was dismissed in one. @returns whether it did. */
export async function putToReview(db: Db, id: PaymentId, reason: string): Promise<boolean> {
  const changed = await db('payments')
    .where({ id })
    .whereIn('status', UNDECIDED)
    .whereRaw('failure IS DISTINCT FROM ?', [DISMISSED])
    .update({ status: 'review', review_reason: reason, next_check_at: null, version: db.raw('version + 1') })
  return changed === 1
}
