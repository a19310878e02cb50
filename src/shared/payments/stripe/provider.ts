/**
 * Stripe as a payment provider. Of its API only customers, payment methods, checkout sessions, payment intents,
 * charges, refunds and disputes are asked (docs/payments.md#stripe).
 */
import Stripe from 'stripe'
import type { PaymentsConfig } from '../../platform/config/config.ts'
import { publicId } from '../../platform/ids.ts'
import type { Listed, Order, Provider, OrderState } from '../provider.ts'
import type { StripeAccess } from './client.ts'
import { ask, createClient, find, reasonOf } from './client.ts'
import { verifyEvent } from './events.ts'
import { expireOrder, readOrder, orderStateOfIntent, orderStateOfSession } from './reading.ts'

/** Stripe of this configuration. */
export function createStripe(config: PaymentsConfig, access: StripeAccess & { webhookSecret: string }): Provider {
  const stripe = createClient(config, access)
  const liveMode = /^[sr]k_live_/.test(access.secretKey)
  return {
    name: 'stripe',
    liveMode,
    createCheckout: (order, returnUrl) => createCheckout(stripe, order, returnUrl),
    read: (order, about) => readOrder(stripe, order, about),
    refund: (order, refund) => createRefund(stripe, order, refund),
    charge: (order) => charge(stripe, order, liveMode),
    verify: (body, signature) => verifyEvent(stripe, access.webhookSecret, body, signature),
    expire: (order) => expireOrder(stripe, order),
    customerOf: async (accountId, gone) => {
      const account = publicId('account', accountId)
      const customer = { metadata: { account } }
      // Stripe gives the same customer again for a day, also one that was deleted since.
      const idempotencyKey = `customer-${account}${gone === null ? '' : `-${gone}`}`
      const made = await ask(() => stripe.customers.create(customer, { idempotencyKey }))
      return made.id
    },
    forgetCards: (customer, until) => forgetCards(stripe, customer, until),
    forgetCustomer: async (customer) => {
      await find(() => stripe.customers.del(customer))
    },
    list: (from, to) => list(stripe, from, to),
  }
}

async function forgetCards(stripe: Stripe, customer: string, until: Date): Promise<void> {
  const listed = await find(() => stripe.paymentMethods.list({ customer, type: 'card', limit: 100 }))
  const kept = (listed?.data ?? []).filter(({ created }) => created * 1000 <= until.getTime())
  for (const { id } of kept) await ask(() => stripe.paymentMethods.detach(id))
}

async function createCheckout(
  stripe: Stripe,
  order: Order,
  returnUrl: string,
): Promise<{ seen: OrderState; url: string }> {
  const payment = publicId('payment', order.id)
  const session = await ask(() =>
    stripe.checkout.sessions.create(
      {
        mode: 'payment',
        client_reference_id: payment,
        metadata: { payment },
        payment_intent_data: { metadata: { payment } },
        customer: order.customer ?? undefined,
        saved_payment_method_options: { payment_method_save: 'enabled' },
        line_items: [
          {
            quantity: 1,
            price_data: {
              currency: order.currency,
              unit_amount: order.amountMinor,
              product_data: { name: `${order.credits + order.bonus} credits` },
            },
          },
        ],
        success_url: returnUrl,
        cancel_url: returnUrl,
      },
      { idempotencyKey: payment },
    ),
  )
  return { seen: orderStateOfSession(session, null), url: session.url ?? returnUrl }
}

async function charge(stripe: Stripe, order: Order, liveMode: boolean): Promise<OrderState> {
  const payment = publicId('payment', order.id)
  try {
    const intent = await ask(() =>
      stripe.paymentIntents.create(
        {
          amount: order.amountMinor,
          currency: order.currency,
          customer: order.customer!,
          payment_method: order.method!,
          automatic_payment_methods: { enabled: true, allow_redirects: 'never' },
          off_session: true,
          confirm: true,
          metadata: { payment },
          expand: ['latest_charge'],
        },
        { idempotencyKey: payment },
      ),
    )
    return orderStateOfIntent(intent)
  } catch (error) {
    if (error instanceof Stripe.errors.StripeCardError) return declined(order, error, liveMode)
    throw error
  }
}

/** The state after a decline, with its intent if the error has one. */
function declined(
  order: Order,
  error: InstanceType<typeof Stripe.errors.StripeCardError>,
  liveMode: boolean,
): OrderState {
  const intent = error.payment_intent
  const failure = reasonOf(error)
  if (intent) return { ...orderStateOfIntent(intent), state: 'failed', failure }
  const { currency, amountMinor, customer } = order
  const asked = { names: publicId('payment', order.id), liveMode, currency, amountMinor, customer }
  const nothing = { session: null, intent: null, expiresAt: null, page: null, receiptUrl: null, card: null }
  return { state: 'failed', failure, ...asked, ...nothing, refunds: [], disputedMinor: 0 }
}

async function createRefund(
  stripe: Stripe,
  order: Order,
  { id, amountMinor }: Parameters<Provider['refund']>[1],
): Promise<string> {
  const refund = publicId('refund', id)
  const made = await ask(() =>
    stripe.refunds.create(
      {
        payment_intent: order.intent!,
        amount: amountMinor,
        metadata: { refund, payment: publicId('payment', order.id) },
      },
      { idempotencyKey: refund },
    ),
  )
  return made.id
}

async function* list(stripe: Stripe, from: Date, to: Date): AsyncIterable<Listed> {
  const created = { gte: Math.floor(from.getTime() / 1000), lt: Math.ceil(to.getTime() / 1000) }
  let after: string | undefined
  for (;;) {
    const page = await ask(() => stripe.paymentIntents.list({ created, limit: 100, starting_after: after }))
    for (const intent of page.data) {
      const { names, currency, amountMinor, state } = orderStateOfIntent(intent)
      yield { names, reference: intent.id, paid: state === 'paid', currency, amountMinor }
    }
    after = page.data.at(-1)?.id
    if (!page.has_more || after === undefined) return
  }
}
