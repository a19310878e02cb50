/**
 * What a worker does for an order that is due: looks, asks again for what was never answered, and gives up in time. No
 * webhook is needed for any of it.
 */
import type { PaymentId } from '../ids.ts'
import { noteLook } from './apply.ts'
import { openCheckout } from './checkout.ts'
import type { PaymentDeps } from './deps.ts'
import { failOrder } from './ending.ts'
import { look } from './look.ts'
import type { PaymentRow } from './orders.ts'
import { checkIn } from './orders.ts'
import { ProviderAway, ProviderRefused } from './provider.ts'
import { askRefund } from './refunds.ts'
import { refundsOf } from './refund-rows.ts'
import { chargeCard } from './top-ups.ts'

/** How long a worker has an order, in seconds. */
const LEASE_SECONDS = 120

/** How long a provider knows an order by its id, in ms; beyond that it is not asked for it again. */
const KNOWN_MS = 23 * 3_600_000

/** Looks at an order that is due. Whatever the provider does, it is due again later. */
export async function attend(deps: PaymentDeps, id: PaymentId): Promise<void> {
  await checkIn(deps.db, id, LEASE_SECONDS)
  try {
    const row = await look(deps, id)
    if (row?.status === 'created') await askAgain(deps, row)
    for (const refund of row ? await refundsOf(deps.db, id) : []) {
      if (refund.status === 'asked') await askRefund(deps, row!, refund)
    }
  } catch (error) {
    if (!(error instanceof ProviderAway) && !(error instanceof ProviderRefused)) throw error
    deps.log.warn({ payment: id, err: error }, 'payment not looked at')
    await noteLook(deps.db, id)
  }
}

/** Asks again for an order whose answer never came: the same question, under the same id. */
async function askAgain(deps: PaymentDeps, row: PaymentRow): Promise<void> {
  const isAuto = row.kind === 'auto'
  if (Date.now() - row.created_at.getTime() > KNOWN_MS)
    return failOrder(deps.db, row, 'no answer in a day', isAuto ? 'failed' : 'expired')
  if (isAuto) return chargeCard(deps, row)
  try {
    await openCheckout(deps, row)
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error
    await failOrder(deps.db, row, error.reason)
  }
}
