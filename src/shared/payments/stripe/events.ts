/** Events of Stripe: verified over their raw bytes, and reduced to a hint. */
import type Stripe from 'stripe'
import { ApiError } from '../../platform/errors.ts'
import type { Hint } from '../provider.ts'
import { isStorable } from '../../platform/text-fields.ts'

/** How old a signature may be, in seconds: an older one is a replay. */
const TOLERANCE_SECONDS = 300

/** Events that are about an order. */
const MATTERS = new Set([
  'checkout.session.completed',
  'checkout.session.async_payment_succeeded',
  'checkout.session.async_payment_failed',
  'checkout.session.expired',
  'charge.refunded',
  'refund.updated',
  'refund.failed',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.funds_reinstated',
  'charge.dispute.closed',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
])

/** Whether Postgres can store it. Stripe sends nothing else, but a hint is never worth an error. */
const isText = (value: unknown): value is string => typeof value === 'string' && isStorable(value)

/** A text, or the id of the object that is there in its place. */
function text(value: unknown): string | null {
  const found = typeof value === 'object' ? (value as { id?: unknown } | null)?.id : value
  return isText(found) ? found : null
}

const whole = (value: unknown): number | null => (typeof value === 'number' ? value : null)

/** Reads a signed event. @throws ApiError invalid_signature for everything that is none. */
export function verifyEvent(stripe: Stripe, secret: string, body: Buffer, signature: string): Hint {
  let event: Stripe.Event
  try {
    event = stripe.webhooks.constructEvent(body, signature, secret, TOLERANCE_SECONDS)
  } catch (error) {
    throw new ApiError('invalid_signature', { cause: error })
  }
  if (!isEvent(event)) throw new ApiError('invalid_signature')
  return hintOf(event)
}

const isEvent = (event: Partial<Stripe.Event> | null): boolean =>
  isText(event?.id) &&
  event.id.length > 0 &&
  event.id.length <= 255 &&
  isText(event.type) &&
  typeof event.data?.object === 'object' &&
  event.data.object !== null

function hintOf(event: Stripe.Event): Hint {
  const about = event.data.object as unknown as Record<string, unknown>
  const kind = about.object
  const metadata = (about.metadata ?? {}) as Record<string, unknown>
  const total = kind === 'checkout.session' ? about.amount_total : about.amount
  return {
    id: event.id,
    type: event.type.slice(0, 100),
    liveMode: event.livemode === true,
    matters: MATTERS.has(event.type),
    names: text(about.client_reference_id) ?? text(metadata.payment),
    session: kind === 'checkout.session' ? text(about.id) : null,
    intent: kind === 'payment_intent' ? text(about.id) : text(about.payment_intent),
    // Refunds and disputes have amounts of their own.
    ...(kind === 'refund' || kind === 'dispute'
      ? { currency: null, amountMinor: null }
      : { currency: text(about.currency), amountMinor: whole(total) }),
  }
}
