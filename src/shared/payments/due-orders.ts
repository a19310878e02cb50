/**
 * What a worker does for an order that is due: checks it, repeats requests that were never answered, and gives up in
 * time. None of it needs a webhook.
 */
import type { PaymentId } from '../platform/ids.ts'
import { recordCheck } from './apply.ts'
import { openCheckout } from './checkout.ts'
import type { PaymentDeps } from './deps.ts'
import { NO_ANSWER, failOrder, refuseOrder } from './ending.ts'
import { checkOrder } from './check.ts'
import type { PaymentRow } from './orders.ts'
import { findPayment, scheduleCheck } from './orders.ts'
import { ProviderUnavailable, ProviderRefused } from './provider.ts'
import { askRefund } from './refunds.ts'
import { waitingRefundsOf } from './refund-rows.ts'
import { publicId } from '../platform/ids.ts'
import { chargeCard } from './top-ups.ts'

/** How long a worker holds an order, in seconds. */
const LEASE_SECONDS = 120

/** How long a provider remembers an order by its id, in ms: after that it is not asked again. */
const KNOWN_MS = 23 * 3_600_000

/** Checks an order that is due. It is due again later in any case. */
export async function processDueOrder(deps: PaymentDeps, id: PaymentId): Promise<void> {
  const held = await scheduleCheck(deps.db, id, LEASE_SECONDS)
  try {
    const row = await checkOrder(deps, id, null, held)
    if (row?.status === 'created') await askAgain(deps, row)
    for (const refund of row ? await waitingRefundsOf(deps.db, row) : []) await askRefund(deps, row!, refund)
  } catch (error) {
    if (!(error instanceof ProviderUnavailable) && !(error instanceof ProviderRefused)) throw error
    deps.log.warn({ payment: publicId('payment', id), err: error }, 'payment not checked')
    await recordCheck(deps.db, id)
  }
}

/** Repeats the request of an order that was never answered, with the same id. */
async function askAgain(deps: PaymentDeps, row: PaymentRow): Promise<void> {
  const isAuto = row.kind === 'auto'
  if (Date.now() - row.created_at.getTime() > KNOWN_MS)
    return failOrder(deps.db, row, NO_ANSWER, isAuto ? 'failed' : 'expired')
  // Its customer and its card are in the other mode, if it was placed.
  if (row.live_mode !== deps.provider.liveMode) return
  if (isAuto) return chargeCard(deps, row)
  try {
    await openCheckout(deps, row)
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error
    await refuseOrder(deps.db, (await findPayment(deps.db, row.id))!, error)
  }
}
