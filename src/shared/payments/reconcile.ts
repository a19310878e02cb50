/**
 * Reconciling with the provider's own list: every payment in it is looked at, and what is in one list alone is named.
 */
import type { Db } from '../infra/db.ts'
import { parseId, publicId } from '../ids.ts'
import type { PaymentDeps } from './deps.ts'
import { look } from './look.ts'
import type { PaymentRow } from './orders.ts'
import { findPayment } from './orders.ts'
import type { Listed } from './provider.ts'

/** What reconciling found. */
export type Reconciled = {
  /** Orders that were looked at, and those that were changed by it. */
  looked: number
  changed: number
  /** Paid here, and not paid in the provider's list: public ids. */
  missing: string[]
  /** Paid there, and no order of ours. */
  unknown: Pick<Listed, 'names' | 'reference' | 'currency' | 'amountMinor'>[]
}

/** Compares what was paid between two moments. @throws ProviderAway. */
export async function reconcile(deps: PaymentDeps, from: Date, to: Date): Promise<Reconciled> {
  const found: Reconciled = { looked: 0, changed: 0, missing: [], unknown: [] }
  const paidThere = new Set<string>()
  for await (const { names, reference, paid, currency, amountMinor } of deps.provider.list(from, to)) {
    const id = names === null ? null : parseId('payment', names)
    const before = id && (await findPayment(deps.db, id))
    if (!before) {
      if (paid) found.unknown.push({ names, reference, currency, amountMinor })
      continue
    }
    const after = (await look(deps, before.id))!
    found.looked++
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
