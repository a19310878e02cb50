/** Refunds that operators requested: the rows of `payment_refunds`. */
import type { Db, Trx } from '../platform/postgres/db.ts'
import type { PaymentId, RefundId, UserId } from '../platform/ids.ts'
import { publicId } from '../platform/ids.ts'
import type { AskedRefund } from './decide.ts'

/** A row of `payment_refunds`, amounts in the minor unit of the currency. */
export type RefundRow = {
  id: RefundId
  payment_id: PaymentId
  amount_minor: number
  status: AskedRefund['status']
  reference: string | null
  failure: string | null
  created_at: Date
}

/** A refund as operators see it. */
export type Refund = {
  id: string
  amountMinor: number
  status: AskedRefund['status']
  failure: string | null
  createdAt: string
}

/** Records a refund before the provider is asked for it. */
export async function writeRefund(
  trx: Trx,
  refund: { id: RefundId; paymentId: PaymentId; amountMinor: number; operator: UserId | null },
): Promise<void> {
  await trx('payment_refunds').insert({
    id: refund.id,
    payment_id: refund.paymentId,
    amount_minor: refund.amountMinor,
    operator_id: refund.operator,
  })
}

/** Every requested refund of a payment, oldest first. */
export const refundsOf = async (db: Db | Trx, paymentId: PaymentId): Promise<RefundRow[]> =>
  db('payment_refunds').where({ payment_id: paymentId }).orderBy('id').select<RefundRow[]>('*')

/**
 * The requested refunds of an order that nobody has answered yet, oldest first. What they take is counted as refunded,
 * so an order with nothing refunded has none.
 */
export const waitingRefundsOf = async (
  db: Db,
  { id, refunded_minor: refundedMinor }: { id: PaymentId; refunded_minor: number },
): Promise<RefundRow[]> =>
  refundedMinor === 0 ? [] : (await refundsOf(db, id)).filter(({ status }) => status === 'asked')

/** What the rules of payments need to know of refunds. */
export const askedOf = (rows: readonly RefundRow[]): AskedRefund[] =>
  rows.map(({ id, status, amount_minor: amountMinor }) => ({ id: publicId('refund', id), status, amountMinor }))

/** A refund's row as operators see it. */
export const presentRefund = (row: RefundRow): Refund => ({
  id: publicId('refund', row.id),
  amountMinor: row.amount_minor,
  status: row.status,
  failure: row.failure,
  createdAt: row.created_at.toISOString(),
})

/** Records that the provider took the refund, or refused it for good. That is final. */
export async function endRefund(
  db: Db | Trx,
  id: RefundId,
  end: { status: 'taken'; reference: string } | { status: 'refused'; failure: string },
): Promise<void> {
  await db('payment_refunds').where({ id, status: 'asked' }).update(end)
}
