import type Stripe from 'stripe'
import { asFields, asText } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { newId, seconds } from './account.ts'
import type { IntentData, StripeAccount } from './account.ts'
import { customerOf, knownCustomer } from './customers.ts'
import { need } from './errors.ts'
import { emit } from './events.ts'
import { asList, badField, metadataOf, needText, needWhole, onlyKnown, whole } from './fields.ts'
import { checkedAmount } from './intents.ts'
import { fitsCreated, page } from './lists.ts'
import { listing } from './requests.ts'
import type { Call, Endpoint } from './requests.ts'
import { blankSession } from './session.ts'

const DAY_SECONDS = 86_400
const SHORTEST_SECONDS = 30 * 60
const FIELDS = [
  'mode',
  'line_items',
  'success_url',
  'cancel_url',
  'client_reference_id',
  'customer',
  'customer_email',
  'customer_creation',
  'customer_update',
  'expires_at',
  'locale',
  'metadata',
  'payment_intent_data',
  'payment_method_types',
  'saved_payment_method_options',
  'submit_type',
  'billing_address_collection',
  'currency',
  'automatic_tax',
  'tax_id_collection',
  'invoice_creation',
  'allow_promotion_codes',
  'custom_text',
  'ui_mode',
]
const INTENT_FIELDS = ['description', 'metadata', 'receipt_email', 'setup_future_usage', 'statement_descriptor_suffix']
const FILTERS = ['customer', 'payment_intent', 'status', 'customer_details']

/** The endpoints of checkout sessions of the mode `payment`. */
export const checkoutEndpoints: readonly Endpoint[] = [
  { method: 'POST', path: '/v1/checkout/sessions', takes: FIELDS, run: create },
  listing('/v1/checkout/sessions', FILTERS, ({ account, fields, path }) => {
    knownCustomer(account, fields)
    const found = account.objects
      .list('checkout.session')
      .map((one) => dueSession(account, one))
      .filter((one) => fitsCreated(one.created, fields))
      .filter((one) => fields['customer'] === undefined || one.customer === fields['customer'])
      .filter((one) => fields['payment_intent'] === undefined || one.payment_intent === fields['payment_intent'])
      .filter((one) => fields['status'] === undefined || one.status === fields['status'])
    return page(found, fields, path)
  }),
  {
    method: 'GET',
    path: '/v1/checkout/sessions/:id',
    takes: [],
    run: ({ account, id }) => dueSession(account, need(account, 'checkout.session', id)),
  },
  listing('/v1/checkout/sessions/:id/line_items', [], ({ account, id, fields, path }) => {
    need(account, 'checkout.session', id)
    return page(account.lineItems.get(id) ?? [], fields, path)
  }),
  {
    method: 'POST',
    path: '/v1/checkout/sessions/:id/expire',
    takes: [],
    run: ({ account, id }) => {
      const session = dueSession(account, need(account, 'checkout.session', id))
      if (session.status === 'open') return expire(account, session)
      const message = `Only Checkout Sessions with a status in ["open"] can be expired. This one is ${session.status}.`
      throw badField(message, 'session')
    },
  },
]

/** The session as it is now: one that is past its time has expired. */
export function dueSession(account: StripeAccount, session: Stripe.Checkout.Session): Stripe.Checkout.Session {
  return session.status === 'open' && session.expires_at <= seconds() ? expire(account, session) : session
}

function expire(account: StripeAccount, session: Stripe.Checkout.Session): Stripe.Checkout.Session {
  session.status = 'expired'
  session.url = null
  emit(account, 'checkout.session.expired', session)
  return session
}

function create({ account, fields, origin }: Call): Stripe.Checkout.Session {
  if (asText(fields['mode']) !== 'payment')
    throw badField('The sandbox has sessions of the mode `payment` only.', 'mode')
  const id = newId(account.livemode ? 'cs_live' : 'cs_test')
  const items = asList(fields['line_items']).map((one, at) => lineItem(asFields(one), `line_items[${at}]`))
  if (items.length === 0) throw badField('Missing required param: line_items.', 'line_items', 'parameter_missing')
  const total = items.reduce((sum, one) => sum + one.amount_total, 0)
  const { amount, currency } = checkedAmount(total, items[0]!.currency)
  if (items.some((one) => one.currency !== currency)) throw badField('All prices need the same currency.', 'line_items')
  const customer = asText(fields['customer']) || null
  if (customer) customerOf(account, customer, 'customer')
  const session: Stripe.Checkout.Session = {
    ...blankSession(account.livemode),
    id,
    amount_subtotal: amount,
    amount_total: amount,
    currency,
    customer,
    customer_email: emailOf(fields, customer),
    client_reference_id: referenceOf(fields),
    expires_at: expiryOf(fields),
    metadata: metadataOf(fields['metadata']),
    saved_payment_method_options: savingOf(fields),
    success_url: address(fields, 'success_url'),
    cancel_url: fields['cancel_url'] === undefined ? null : address(fields, 'cancel_url'),
    url: `${origin}/stripe/pay/${id}`,
  }
  account.intentData.set(id, intentData(fields))
  account.lineItems.set(id, items)
  account.objects.add(session)
  const left = (session.expires_at - session.created) * 1000
  account.timers.later(left, () => {
    dueSession(account, session)
  })
  return session
}

function lineItem(fields: Fields, name: string): Stripe.LineItem {
  const price = asFields(fields['price_data'])
  if (Object.keys(price).length === 0) {
    throw badField(`Missing required param: ${name}[price_data].`, `${name}[price_data]`, 'parameter_missing')
  }
  const product = asFields(price['product_data'])
  const description = needText(product, 'name', `${name}[price_data][product_data][name]`)
  const unit = needWhole(price, 'unit_amount', `${name}[price_data][unit_amount]`)
  const quantity = needWhole(fields, 'quantity', `${name}[quantity]`)
  const currency = needText(price, 'currency', `${name}[price_data][currency]`).toLowerCase()
  return {
    id: newId('li'),
    object: 'item',
    adjustable_quantity: null,
    amount_discount: 0,
    amount_subtotal: unit * quantity,
    amount_tax: 0,
    amount_total: unit * quantity,
    currency,
    description,
    metadata: metadataOf(product['metadata']),
    price: null,
    quantity,
  }
}

function address(fields: Fields, name: string): string {
  const given = needText(fields, name)
  if (!/^https?:\/\//.test(given) || !URL.canParse(given)) throw badField('Not a valid URL', name, 'url_invalid')
  return given
}

function expiryOf(fields: Fields): number {
  const given = whole(fields, 'expires_at')
  const now = seconds()
  if (given === undefined) return now + DAY_SECONDS
  // The clocks of both sides may be a little apart.
  if (given < now + SHORTEST_SECONDS - 60 || given > now + DAY_SECONDS + 60) {
    throw badField(
      'The `expires_at` timestamp must be at least 30 minutes and at most 24 hours from Checkout Session creation.',
      'expires_at',
    )
  }
  return given
}

function referenceOf(fields: Fields): string | null {
  const given = asText(fields['client_reference_id'])
  if (given.length > 200) throw badField('This value can have up to 200 characters.', 'client_reference_id')
  return given || null
}

function emailOf(fields: Fields, customer: string | null): string | null {
  const given = asText(fields['customer_email'])
  if (given && customer) {
    throw badField('You may only specify one of these parameters: customer, customer_email.', 'customer_email')
  }
  return given || null
}

function savingOf(fields: Fields): Stripe.Checkout.Session.SavedPaymentMethodOptions | null {
  if (fields['saved_payment_method_options'] === undefined) return null
  const asked = asFields(fields['saved_payment_method_options'])
  onlyKnown(asked, ['allow_redisplay_filters', 'payment_method_save', 'payment_method_remove'])
  return {
    allow_redisplay_filters: asList(asked['allow_redisplay_filters']) as never,
    payment_method_remove: (asText(asked['payment_method_remove']) || null) as never,
    payment_method_save: (asText(asked['payment_method_save']) || null) as never,
  }
}

function intentData(fields: Fields): IntentData {
  const asked = asFields(fields['payment_intent_data'])
  onlyKnown(asked, INTENT_FIELDS)
  return {
    metadata: metadataOf(asked['metadata'], 'payment_intent_data[metadata]'),
    description: asText(asked['description']) || null,
    receipt_email: asText(asked['receipt_email']) || null,
    setup_future_usage: (asText(asked['setup_future_usage']) || null) as IntentData['setup_future_usage'],
  }
}
