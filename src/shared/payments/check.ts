/**
 * Checking an order: its current state is read from the provider, and decides. The webhook, the page that customers
 * return to, the sweep and operators all do this, and nothing else.
 */
import type { PaymentId } from '../platform/ids.ts'
import { parseId, publicId } from '../platform/ids.ts'
import { failpoint } from '../platform/process/failpoints.ts'
import type { Applied } from './apply.ts'
import { applyState, recordCheck, putToReview } from './apply.ts'
import { DISMISSED, UNDECIDED } from './decide.ts'
import type { PaymentDeps } from './deps.ts'
import { NO_ANSWER, failOrder } from './ending.ts'
import { endEvent, postponeEvent, takeEvent } from './events.ts'
import type { PaymentRow } from './orders.ts'
import { findByObject, findPayment, orderOf } from './orders.ts'
import type { Hint, OrderState } from './provider.ts'
import { ProviderUnavailable } from './provider.ts'

/** How often an order is read again when others change it meanwhile. */
const MAX_READS = 5

/** Applies the state that was read, and publishes what it changed. @returns null if it was stale. */
export async function applyAndPublish(deps: PaymentDeps, row: PaymentRow, seen: OrderState): Promise<Applied | null> {
  const applied = await applyState(deps.db, row, seen)
  if (!applied) return null
  const { difference, balance } = applied
  if (difference !== null) {
    deps.observer.differenceFound(difference)
    deps.log.error({ payment: publicId('payment', row.id), difference }, 'a payment differs from its order')
  }
  if (applied.row.status !== row.status) deps.observer.statusReached(applied.row.status)
  if (balance !== null) deps.publishBalance(row.account_id, balance)
  return applied
}

/**
 * Reads an order from its provider and applies what was read.
 * @param session the checkout that an event names, for an order that does not have its own yet.
 * @param known the order as it was read a moment ago, by who has it already.
 * @returns the order afterwards; null if there is none. @throws ProviderUnavailable, ProviderRefused.
 */
export async function checkOrder(
  deps: PaymentDeps,
  id: PaymentId,
  session: string | null = null,
  known: PaymentRow | null = null,
): Promise<PaymentRow | null> {
  for (let reads = 0; reads < MAX_READS; reads++) {
    const row = reads === 0 && known ? known : await findPayment(deps.db, id)
    if (!row || row.status === 'review') return row
    const order = orderOf(row)
    const seen = await deps.provider.read(
      { ...order, session: order.session ?? session },
      { card: row.status !== 'paid' && row.kind === 'checkout' },
    )
    failpoint('payment.read', id)
    if (!seen) return recordMissing(deps, row)
    const applied = await applyAndPublish(deps, row, seen)
    if (applied) return applied.row
  }
  throw new ProviderUnavailable('the order keeps changing')
}

/** After this long past its expiry nothing comes of an order that its provider does not have, in ms. */
const LOST_MS = 24 * 3_600_000

/** Records that the provider does not have an order: it was opened in another mode or account. In time that ends it. */
async function recordMissing({ db }: PaymentDeps, row: PaymentRow): Promise<PaymentRow | null> {
  const over = (row.expires_at ?? row.created_at).getTime() + LOST_MS
  if (row.status === 'open' && over < Date.now()) await failOrder(db, row, NO_ANSWER, 'expired')
  return recordCheck(db, row.id)
}

/** How long a worker holds an event, in seconds. */
const LEASE_SECONDS = 120

/** The first pause of an event whose provider is unreachable, in seconds; it doubles, up to an hour. */
const FIRST_PAUSE_SECONDS = 5
const HOUR_SECONDS = 3600

/** After this many attempts an event is given up, a day after it arrived: the sweep checks every order anyway. */
const MAX_TRIES = 32

/** Handles an event: checks the orders that it may be about. */
export async function handleEvent(deps: PaymentDeps, id: string): Promise<void> {
  const { db, provider, observer } = deps
  const hint = await takeEvent(db, provider.name, id, LEASE_SECONDS)
  if (!hint) return
  failpoint('payment.event_taken', id)
  try {
    const found = await checkAll(deps, hint)
    const outcome = found ? 'checked' : 'unknown'
    await endEvent(db, provider.name, id, outcome)
    observer.eventHandled(outcome)
  } catch (error) {
    if (!(error instanceof ProviderUnavailable)) throw error
    deps.log.warn({ event: id, err: error }, 'event not handled yet')
    if (hint.tries >= MAX_TRIES) return endEvent(db, provider.name, id, 'given up')
    await postponeEvent(db, provider.name, id, Math.min(FIRST_PAUSE_SECONDS * 2 ** (hint.tries - 1), HOUR_SECONDS))
  }
}

async function checkAll(deps: PaymentDeps, hint: Hint): Promise<boolean> {
  const { db, provider } = deps
  const namedId = hint.names === null ? null : parseId('payment', hint.names)
  const named = namedId && (await findPayment(db, namedId))
  const own = await findByObject(db, provider.name, hint)
  const ids = new Set([...own, ...(named ? [named] : [])].map((row) => row.id))
  for (const id of ids) {
    const row = await checkOrder(deps, id, id === named?.id ? hint.session : null)
    const fault = row && faultOf(row, hint, id === named?.id)
    if (fault && (await putToReview(db, id, fault))) {
      deps.observer.differenceFound(fault)
      deps.observer.statusReached('review')
      deps.log.error(
        { payment: publicId('payment', id), event: hint.id, difference: fault },
        'an event differs from its order',
      )
    }
  }
  return ids.size > 0
}

/** The field in which an event differs from its order; null if none does, or if the order is decided for good. */
function faultOf(row: PaymentRow, hint: Hint, isNamed: boolean): string | null {
  if (!UNDECIDED.includes(row.status) || row.failure === DISMISSED) return null
  if (isNamed && hint.session !== null && row.session !== null && hint.session !== row.session) return 'session'
  if (isNamed && hint.intent !== null && row.intent !== null && hint.intent !== row.intent) return 'intent'
  if (hint.liveMode !== row.live_mode) return 'live_mode'
  if (hint.currency !== null && hint.currency !== row.currency) return 'currency'
  if (hint.amountMinor !== null && hint.amountMinor !== row.amount_minor) return 'amount'
  return null
}
