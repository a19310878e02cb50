/**
 * Reconciling with the provider's own list: every payment in it is checked, and what is in only one list is reported.
 */
import type { Db } from '../platform/postgres/db.ts'
import { parseId, publicId } from '../platform/ids.ts'
import type { PaymentDeps } from './deps.ts'
import { checkOrder } from './check.ts'
import type { PaymentRow } from './orders.ts'
import { findPayment } from './orders.ts'
import type { Listed } from './provider.ts'

/** What reconciling found. */
export type Reconciled = {
  /** Orders that were checked, and those that changed. */
  checked: number
  changed: number
  /** Public ids of orders that are paid here, but not in the provider's list. */
  missing: string[]
  /** Payments in the provider's list that are no order here. */
  unknown: Pick<Listed, 'names' | 'reference' | 'currency' | 'amountMinor'>[]
}

/** Compares what was paid between two moments. @throws ProviderUnavailable. */
export async function reconcile(deps: PaymentDeps, from: Date, to: Date): Promise<Reconciled> {
  const found: Reconciled = { checked: 0, changed: 0, missing: [], unknown: [] }
  const paidThere = new Set<string>()
  for await (const { names, reference, paid, currency, amountMinor } of deps.provider.list(from, to)) {
    const id = names === null ? null : parseId('payment', names)
    const before = id && (await findPayment(deps.db, id))
    if (!before) {
      if (paid) found.unknown.push({ names, reference, currency, amountMinor })
      continue
    }
    const after = (await checkOrder(deps, before.id))!
    found.checked++
    if (after.version !== before.version) found.changed++
    if (paid) paidThere.add(before.id)
  }
  const paidHere = await paidBetween(deps.db, from, to)
  found.missing = paidHere.filter(({ id }) => !paidThere.has(id)).map(({ id }) => publicId('payment', id))
  return found
}

/** Orders of these hours that are paid here. The provider may have made its object a little later than the order. */
const paidBetween = async (db: Db, from: Date, to: Date): Promise<PaymentRow[]> =>
  db('payments')
    .where({ status: 'paid' })
    .where('created_at', '>=', from)
    .where('paid_at', '<', to)
    .select<PaymentRow[]>('*')
