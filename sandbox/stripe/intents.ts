import type Stripe from 'stripe'
import { asText, Refusal } from '../wire.ts'
import type { Fields } from '../wire.ts'
import { newId, seconds } from './account.ts'
import type { StripeAccount } from './account.ts'
import type { Outcome } from './cards.ts'
import { charge } from './charges.ts'
import type { Decline } from './charges.ts'
import { customerOf, knownCustomer } from './customers.ts'
import { need } from './errors.ts'
import { emit } from './events.ts'
import { badField, flag, metadataOf, needText, needWhole } from './fields.ts'
import { fitsCreated, page } from './lists.ts'
import { idIn } from './objects.ts'
import { cardOf, methodOf } from './payment-methods.ts'
import { listing } from './requests.ts'
import type { Call, Endpoint } from './requests.ts'

/** The smallest amount that is charged, in minor units. */
const MIN_AMOUNT = 50
const CURRENCIES = new Set(Intl.supportedValuesOf('currency').map((one) => one.toLowerCase()))
const DECLINES: Readonly<Record<Exclude<Outcome, 'paid'>, Decline>> = {
  generic_decline: { code: 'card_declined', decline: 'generic_decline', message: 'Your card was declined.' },
  insufficient_funds: {
    code: 'card_declined',
    decline: 'insufficient_funds',
    message: 'Your card has insufficient funds.',
  },
  authentication: {
    code: 'authentication_required',
    decline: 'authentication_required',
    message: 'Your card was declined. This transaction requires authentication.',
  },
}
const FIELDS = [
  'amount',
  'currency',
  'customer',
  'payment_method',
  'payment_method_types',
  'off_session',
  'confirm',
  'metadata',
  'description',
  'receipt_email',
  'statement_descriptor_suffix',
  'automatic_payment_methods',
  'setup_future_usage',
  'error_on_requires_action',
  'return_url',
]

/** The endpoints of payment intents: create, confirm, cancel, read, list. */
export const intentEndpoints: readonly Endpoint[] = [
  { method: 'POST', path: '/v1/payment_intents', takes: FIELDS, run: create },
  listing('/v1/payment_intents', ['customer'], ({ account, fields, path }) => {
    knownCustomer(account, fields)
    const found = account.objects
      .list('payment_intent')
      .filter((one) => fitsCreated(one.created, fields))
      .filter((one) => fields['customer'] === undefined || one.customer === fields['customer'])
    return page(found, fields, path)
  }),
  {
    method: 'GET',
    path: '/v1/payment_intents/:id',
    takes: ['client_secret'],
    run: ({ account, id }) => need(account, 'payment_intent', id),
  },
  {
    method: 'POST',
    path: '/v1/payment_intents/:id/confirm',
    takes: ['payment_method', 'off_session', 'return_url', 'receipt_email', 'error_on_requires_action'],
    run: (call) => confirm(call, need(call.account, 'payment_intent', call.id)),
  },
  { method: 'POST', path: '/v1/payment_intents/:id/cancel', takes: ['cancellation_reason'], run: cancel },
]

/**
 * An amount and its currency, as Stripe checks them.
 * @throws {Refusal} 400
 */
export function checkedAmount(amount: number, currency: string): { amount: number; currency: string } {
  const known = currency.toLowerCase()
  if (!CURRENCIES.has(known)) throw badField(`Invalid currency: ${known}`, 'currency')
  if (amount < MIN_AMOUNT) throw badField('Amount must be at least 50 cents.', 'amount', 'amount_too_small')
  if (amount > 99_999_999) throw badField('Amount must be no more than 999,999.99.', 'amount', 'amount_too_large')
  return { amount, currency: known }
}

/** A payment intent that waits for a payment method. */
export function newIntent(
  account: StripeAccount,
  asked: Pick<Stripe.PaymentIntent, 'amount' | 'currency' | 'customer' | 'metadata'> & Partial<Stripe.PaymentIntent>,
): Stripe.PaymentIntent {
  const id = newId('pi')
  const intent: Stripe.PaymentIntent = {
    object: 'payment_intent',
    allowed_payment_method_types: null,
    amount_capturable: 0,
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic_async',
    client_secret: `${id}_secret_sandbox`,
    confirmation_method: 'automatic',
    created: seconds(),
    customer_account: null,
    description: null,
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: null,
    livemode: account.livemode,
    managed_payments: null,
    next_action: null,
    on_behalf_of: null,
    payment_method: null,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card'],
    payment_record: null,
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: null,
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'requires_payment_method',
    transfer_group: null,
    ...asked,
    id,
  }
  account.objects.add(intent)
  emit(account, 'payment_intent.created', intent)
  return intent
}

/** Charges a card for an intent; returns why it was declined, or undefined if it is paid. */
export function chargeCard(
  account: StripeAccount,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  outcome: Outcome,
  origin: string,
): Decline | undefined {
  intent.payment_method = method.id
  if (outcome === 'paid') {
    charge(account, intent, method, 'succeeded', origin)
    succeed(account, intent)
    return undefined
  }
  const decline = DECLINES[outcome]
  charge(account, intent, method, decline, origin)
  fail(account, intent, method, decline)
  return decline
}

/** An intent whose charge is paid. */
export function succeed(account: StripeAccount, intent: Stripe.PaymentIntent): void {
  Object.assign(intent, { status: 'succeeded', amount_received: intent.amount, last_payment_error: null })
  emit(account, 'payment_intent.succeeded', intent)
}

/** An intent whose charge failed: it takes another payment method. */
export function fail(
  account: StripeAccount,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  decline: Decline,
): void {
  intent.status = 'requires_payment_method'
  intent.payment_method = null
  intent.last_payment_error = {
    type: 'card_error',
    code: decline.code,
    decline_code: decline.decline,
    message: decline.message,
    charge: idIn(intent.latest_charge),
    payment_method: structuredClone(method),
  }
  emit(account, 'payment_intent.payment_failed', intent)
}

function create(call: Call): Stripe.PaymentIntent {
  const { account, fields } = call
  const { amount, currency } = checkedAmount(needWhole(fields, 'amount'), needText(fields, 'currency'))
  const customer = asText(fields['customer']) || null
  if (customer) customerOf(account, customer, 'customer')
  const metadata = metadataOf(fields['metadata'])
  if (flag(fields, 'off_session') && !flag(fields, 'confirm')) {
    throw badField('The parameter `off_session` can only be used when `confirm` is true.', 'off_session')
  }
  // Everything that can be refused is refused before anything exists.
  const method = flag(fields, 'confirm') ? usableMethod(account, fields, customer) : undefined
  const intent = newIntent(account, {
    amount,
    currency,
    customer,
    metadata,
    description: asText(fields['description']) || null,
    receipt_email: asText(fields['receipt_email']) || null,
  })
  return method ? attempt(call, intent, method) : intent
}

function confirm(call: Call, intent: Stripe.PaymentIntent): Stripe.PaymentIntent {
  if (!['requires_payment_method', 'requires_confirmation', 'requires_action'].includes(intent.status)) {
    throw unexpectedState(intent, 'confirm')
  }
  return attempt(call, intent, usableMethod(call.account, call.fields, intent.customer as string | null))
}

function attempt(call: Call, intent: Stripe.PaymentIntent, method: Stripe.PaymentMethod): Stripe.PaymentIntent {
  const { account, fields, origin } = call
  const card = cardOf(account, method.id)
  const offSession = flag(fields, 'off_session')
  if (!offSession && card.now === 'authentication') {
    Object.assign(intent, { status: 'requires_action', payment_method: method.id })
    emit(account, 'payment_intent.requires_action', intent)
    return intent
  }
  const decline = chargeCard(account, intent, method, offSession ? card.later : card.now, origin)
  if (!decline) return intent
  throw new Refusal({
    status: 402,
    message: decline.message,
    code: decline.code,
    details: {
      decline_code: decline.decline,
      doc_url: `https://stripe.com/docs/error-codes/${decline.code.replaceAll('_', '-')}`,
      charge: intent.latest_charge,
      payment_intent: structuredClone(intent),
      payment_method: structuredClone(method),
    },
  })
}

function usableMethod(account: StripeAccount, fields: Fields, customer: string | null): Stripe.PaymentMethod {
  const method = methodOf(account, needText(fields, 'payment_method'), 'payment_method')
  if (method.customer === customer) return method
  const message =
    method.customer === null
      ? 'The provided PaymentMethod is not attached to this Customer.'
      : 'The provided PaymentMethod cannot be attached to this Customer: it belongs to another one.'
  throw badField(message, 'payment_method')
}

function cancel({ account, id, fields }: Call): Stripe.PaymentIntent {
  const intent = need(account, 'payment_intent', id)
  if (['succeeded', 'processing', 'canceled'].includes(intent.status)) throw unexpectedState(intent, 'cancel')
  const reason = (asText(fields['cancellation_reason']) || null) as Stripe.PaymentIntent['cancellation_reason']
  Object.assign(intent, { status: 'canceled', canceled_at: seconds(), cancellation_reason: reason })
  emit(account, 'payment_intent.canceled', intent)
  return intent
}

function unexpectedState(intent: Stripe.PaymentIntent, verb: string): Refusal {
  return new Refusal({
    status: 400,
    message: `You cannot ${verb} this PaymentIntent because it has a status of ${intent.status}.`,
    code: 'payment_intent_unexpected_state',
    details: { payment_intent: structuredClone(intent) },
  })
}
