/** How orders end that were never paid, and those that an operator ends. */
import type { Db } from '../platform/postgres/db.ts'
import { ApiError } from '../platform/errors.ts'
import type { PaymentId, UserId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import { lockAccount } from '../ledger/ledger.ts'
import { recordAction } from '../action-log/actions.ts'
import { refuseOwnAccount } from '../action-log/own-account.ts'
import { grantOrdered, receiptOf } from './apply.ts'
import { DISMISSED } from './decide.ts'
import { mailOwner } from '../identity/owner-mail.ts'
import type { PaymentRow, PaymentStatus } from './orders.ts'
import { findPayment, lockPayment } from './orders.ts'
import type { Missing, ProviderRefused } from './provider.ts'
import { forgetMissing } from './customers.ts'
import { countTopUp } from './declines.ts'

/** Why an order has ended whose provider never answered. */
export const NO_ANSWER = 'no answer in a day'

/**
 * Ends an order that was never paid. Changes nothing if it is already decided. What a provider refused of an automatic
 * payment is a decline of its card; that it never answered is none.
 */
export async function failOrder(
  db: Db,
  row: PaymentRow,
  failure: string,
  status: Extract<PaymentStatus, 'failed' | 'expired'> = 'failed',
): Promise<void> {
  await endUnpaid(db, row, { failure, status, missing: null })
}

/** Why an order has ended that was cancelled before its provider had it. */
const CANCELLED = 'cancelled'

/** Ends an order that its provider did not have. It is still checked: the request that opens it may be on its way. */
export const cancelUnknown = (db: Db, row: PaymentRow): Promise<void> =>
  endUnpaid(db, row, { failure: CANCELLED, status: 'expired', missing: null })

/** Ends an order that the provider refused for good, and forgets what the provider no longer has. */
export const refuseOrder = (db: Db, row: PaymentRow, { reason, missing }: ProviderRefused): Promise<void> =>
  endUnpaid(db, row, { failure: reason, status: 'failed', missing })

async function endUnpaid(
  db: Db,
  row: PaymentRow,
  { failure, status, missing }: { failure: string; status: 'failed' | 'expired'; missing: Missing | null },
): Promise<void> {
  await db.transaction(async (trx) => {
    await lockAccount(trx, row.account_id)
    const ended = await trx('payments')
      .where({ id: row.id })
      .whereIn('status', ['created', 'open'])
      .update({
        status,
        failure,
        next_check_at: failure === CANCELLED ? trx.fn.now() : null,
        version: trx.raw('version + 1'),
      })
    if (missing !== null && (await forgetMissing(trx, row, missing))) return
    if (ended === 1 && row.kind === 'auto' && failure !== NO_ANSWER) await countTopUp(trx, row.account_id, failure)
  })
}

/**
 * Ends a review: the credits are granted after all, or not. A granted order is due for a check at once, which finds
 * its receipt, and what was refunded meanwhile.
 * @returns the order and, where credits were granted, the balance. @throws ApiError not_found; invalid_request if
 * the order needs no operator; forbidden for one of one's own.
 */
export async function resolveReview(
  db: Db,
  operator: UserId | null,
  id: PaymentId,
  how: 'grant' | 'dismiss',
): Promise<{ row: PaymentRow; balance: number | null }> {
  const found = await findPayment(db, id)
  if (!found) throw new ApiError('not_found')
  return db.transaction(async (trx) => {
    await refuseOwnAccount(trx, operator, found.account_id)
    await lockAccount(trx, found.account_id)
    const row = await lockPayment(trx, id)
    if (row.status !== 'review') throw new ApiError('invalid_request', { message: 'This payment is not in review.' })
    const about = { payment: publicId('payment', id), outcome: how, reason: row.review_reason }
    await recordAction(trx, operator, 'payment_resolved', row.account_id, about)
    const end = { review_reason: null, version: trx.raw('version + 1') }
    await trx('payments')
      .where({ id })
      .update(
        how === 'grant'
          ? { ...end, status: 'paid', paid_at: trx.fn.now(), checks: 0, next_check_at: trx.fn.now() }
          : { ...end, status: 'failed', failure: DISMISSED },
      )
    const balance = how === 'grant' ? await grantOrdered(trx, row) : null
    if (how === 'grant') await mailOwner(trx, row.account_id, 'receipt', receiptOf(row))
    return { row: (await findPayment(trx, id))!, balance }
  })
}
