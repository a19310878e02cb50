/** Cancelling: an order that nobody has paid is ended at the provider first, so that nobody can pay it any more. */
import type { Db } from '../platform/postgres/db.ts'
import type { AccountId, PaymentId } from '../platform/ids.ts'
import { applyAndPublish } from './check.ts'
import type { PaymentDeps } from './deps.ts'
import { cancelUnknown } from './ending.ts'
import type { PaymentRow } from './orders.ts'
import { findPayment, orderOf } from './orders.ts'
import { publicId } from '../platform/ids.ts'
import { ProviderUnavailable, ProviderRefused } from './provider.ts'

/** How often an order is ended again when others change it meanwhile. */
const MAX_TRIES = 5

const isUnpaid = ({ kind, status }: PaymentRow): boolean =>
  kind === 'checkout' && (status === 'created' || status === 'open')

/**
 * Cancels an order, unless it was paid, or is on its way: what the provider reports after that decides.
 * @returns the order as it is then. @throws ProviderUnavailable, ProviderRefused.
 */
export async function cancelOrder(deps: PaymentDeps, id: PaymentId): Promise<PaymentRow> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const row = (await findPayment(deps.db, id))!
    if (!isUnpaid(row)) return row
    const seen = await deps.provider.expire(orderOf(row))
    if (seen === null) {
      // An order that was opened with real money stays where its provider does not show it: it may be paid there.
      if (row.status === 'created' || !row.live_mode) await cancelUnknown(deps.db, row)
      return (await findPayment(deps.db, id))!
    }
    const applied = await applyAndPublish(deps, row, seen)
    if (applied) return applied.row
  }
  throw new ProviderUnavailable('the order keeps changing')
}

/** Cancels every unpaid order of an account. What the provider does not answer to stays as it is. */
export async function cancelUnpaid(deps: PaymentDeps, accountId: AccountId): Promise<void> {
  for (const id of await unpaidOf(deps.db, accountId)) {
    try {
      await cancelOrder(deps, id)
    } catch (error) {
      if (!(error instanceof ProviderUnavailable) && !(error instanceof ProviderRefused)) throw error
      deps.log.warn({ payment: publicId('payment', id), err: error }, 'payment not cancelled')
    }
  }
}

const unpaidOf = async (db: Db, accountId: AccountId): Promise<PaymentId[]> =>
  db('payments')
    .where({ account_id: accountId, kind: 'checkout' })
    .whereIn('status', ['created', 'open'])
    .pluck<PaymentId[]>('id')
