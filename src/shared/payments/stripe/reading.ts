/** The state of an order at Stripe: its checkout session or payment intent, with its refunds and disputes. */
import type Stripe from 'stripe'
import { publicId } from '../../platform/ids.ts'
import type { Card, Order, OrderState, ProviderRefund } from '../provider.ts'
import { ProviderRefused } from '../provider.ts'
import { ask, find } from './client.ts'

/** The charge comes with its intent, so that one request shows both. */
const WITH_CHARGE = { expand: ['latest_charge'] }
const SESSION_WITH_CHARGE = { expand: ['payment_intent.latest_charge'] }

/** The most objects that one request lists. */
const PAGE = 100

/** Refunds that moved no money. */
const WITHOUT_EFFECT = ['failed', 'canceled']

const idOf = (of: string | { id: string } | null | undefined): string | null =>
  typeof of === 'string' ? of : (of?.id ?? null)

/** Reads the state of an order; null if Stripe does not have it. */
export async function readOrder(
  stripe: Stripe,
  order: Order,
  about: { card?: boolean } = {},
): Promise<OrderState | null> {
  const seen = order.kind === 'checkout' ? await readSession(stripe, order) : await readIntent(stripe, order)
  if (seen?.state !== 'paid' || seen.intent === null) return seen
  const [refunds, disputedMinor, card] = await Promise.all([
    refundsOf(stripe, seen.intent),
    disputedOf(stripe, seen.intent),
    about.card && seen.customer ? newestCard(stripe, seen.customer) : null,
  ])
  return { ...seen, refunds, disputedMinor, card }
}

async function readSession(stripe: Stripe, order: Order): Promise<OrderState | null> {
  const { session } = order
  const found = session
    ? await find(() => stripe.checkout.sessions.retrieve(session, SESSION_WITH_CHARGE))
    : await searchSession(stripe, order)
  if (!found) return null
  const { payment_intent: intent } = found
  return orderStateOfSession(found, typeof intent === 'string' ? await intentOf(stripe, intent) : intent)
}

/**
 * Expires the session of an order; one that is no longer open stays as it is.
 * @returns the order's state after that.
 */
export async function expireOrder(stripe: Stripe, order: Order): Promise<OrderState | null> {
  const session = order.session ?? (await searchSession(stripe, order))?.id
  if (!session) return null
  try {
    await find(() => stripe.checkout.sessions.expire(session))
  } catch (error) {
    if (!(error instanceof ProviderRefused)) throw error
  }
  return readOrder(stripe, { ...order, session })
}

async function readIntent(stripe: Stripe, order: Order): Promise<OrderState | null> {
  const found = order.intent ? await intentOf(stripe, order.intent) : await searchIntent(stripe, order)
  return found && orderStateOfIntent(found)
}

const intentOf = (stripe: Stripe, id: string): Promise<Stripe.PaymentIntent | null> =>
  find(() => stripe.paymentIntents.retrieve(id, WITH_CHARGE))

/** Not older than the order, with an allowance for clocks, in seconds. */
const since = ({ createdAt }: Order): { gte: number } => ({ gte: Math.floor(createdAt.getTime() / 1000) - 600 })

/** For lost answers: finds what was created by the order that it names. */
async function searchSession(stripe: Stripe, order: Order): Promise<Stripe.Checkout.Session | null> {
  const { customer } = order
  if (customer === null) return null
  const listed = await find(() => stripe.checkout.sessions.list({ customer, created: since(order), limit: PAGE }))
  const named = publicId('payment', order.id)
  return listed?.data.find((one) => one.client_reference_id === named) ?? null
}

async function searchIntent(stripe: Stripe, order: Order): Promise<Stripe.PaymentIntent | null> {
  const { customer } = order
  if (customer === null) return null
  const listed = await find(() => stripe.paymentIntents.list({ customer, created: since(order), limit: PAGE }))
  const named = publicId('payment', order.id)
  const found = listed?.data.find((one) => one.metadata?.payment === named)
  return found ? intentOf(stripe, found.id) : null
}

/** The order that both fields name; null if they differ. */
function namedBy(reference: string | null, metadata: Stripe.Metadata | null | undefined): string | null {
  const named = metadata?.payment
  return named !== undefined && reference !== null && named !== reference ? null : (reference ?? named ?? null)
}

/** The state of a session. */
export function orderStateOfSession(session: Stripe.Checkout.Session, intent: Stripe.PaymentIntent | null): OrderState {
  const paid = session.payment_status === 'paid'
  // The amount received, if Stripe reports it: an order is paid in full or not at all.
  const received = paid && intent?.status === 'succeeded' ? intent.amount_received : undefined
  return {
    state: stateOfSession(session, intent),
    names: namedBy(session.client_reference_id, session.metadata),
    liveMode: intent && intent.livemode !== session.livemode ? null : session.livemode,
    currency: session.currency ?? '',
    amountMinor: received ?? session.amount_total ?? 0,
    customer: idOf(session.customer),
    session: session.id,
    intent: intent?.id ?? idOf(session.payment_intent),
    expiresAt: new Date(session.expires_at * 1000),
    page: session.status === 'open' ? session.url : null,
    receiptUrl: receiptOf(intent),
    failure: intent?.last_payment_error?.code ?? null,
    refunds: [],
    disputedMinor: 0,
    card: null,
  }
}

function stateOfSession(
  { status, payment_status: paid }: Stripe.Checkout.Session,
  intent: Stripe.PaymentIntent | null,
): OrderState['state'] {
  if (paid === 'paid') return 'paid'
  if (status === 'expired') return 'expired'
  // A payment that takes days has failed when it asks for another payment method.
  const over = intent?.status === 'canceled' || intent?.status === 'requires_payment_method'
  return status === 'complete' && over ? 'failed' : 'open'
}

/** The state of an automatic payment. Nobody is there to authenticate: a request for it is a decline. */
export function orderStateOfIntent(intent: Stripe.PaymentIntent): OrderState {
  const { status } = intent
  const paid = status === 'succeeded'
  return {
    state: paid ? 'paid' : status === 'processing' || status === 'requires_capture' ? 'open' : 'failed',
    names: intent.metadata?.payment ?? null,
    liveMode: intent.livemode,
    currency: intent.currency,
    amountMinor: (paid ? intent.amount_received : undefined) ?? intent.amount,
    customer: idOf(intent.customer),
    session: null,
    intent: intent.id,
    expiresAt: null,
    page: null,
    receiptUrl: receiptOf(intent),
    failure: paid ? null : (intent.last_payment_error?.decline_code ?? intent.last_payment_error?.code ?? status),
    refunds: [],
    disputedMinor: 0,
    card: null,
  }
}

function receiptOf(intent: Stripe.PaymentIntent | null): string | null {
  const charge = intent?.latest_charge
  return charge && typeof charge === 'object' ? charge.receipt_url : null
}

async function refundsOf(stripe: Stripe, intent: string): Promise<ProviderRefund[]> {
  const { data } = await ask(() => stripe.refunds.list({ payment_intent: intent, limit: PAGE }))
  return data
    .filter(({ status }) => !WITHOUT_EFFECT.includes(status ?? ''))
    .map(({ id, metadata, amount }) => ({ reference: id, ours: metadata?.refund ?? null, amountMinor: amount }))
}

async function disputedOf(stripe: Stripe, intent: string): Promise<number> {
  const { data } = await ask(() => stripe.disputes.list({ payment_intent: intent, limit: PAGE }))
  return data.filter(hasFunds).reduce((sum, { amount }) => sum + amount, 0)
}

/**
 * Whether a dispute holds funds: by what moved, not by what it is called. Stripe lists a withdrawal as negative, and
 * what came back as positive, perhaps in another currency than the dispute's own.
 */
function hasFunds({ balance_transactions: moves, status }: Stripe.Dispute): boolean {
  if (!moves || moves.length === 0) return status === 'lost'
  return moves.reduce((sum, { amount }) => sum + amount, 0) < 0
}

/** The newest card that a customer let Stripe save. */
async function newestCard(stripe: Stripe, customer: string): Promise<Card | null> {
  const listed = await find(() => stripe.paymentMethods.list({ customer, type: 'card', limit: PAGE }))
  const [newest] = (listed?.data ?? []).filter(({ card }) => card).toSorted((one, other) => other.created - one.created)
  if (!newest?.card) return null
  const { brand, last4, exp_month: expMonth, exp_year: expYear } = newest.card
  return { method: newest.id, brand, last4, expMonth, expYear }
}
