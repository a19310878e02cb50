import type Stripe from 'stripe'
import { asText } from '../wire.ts'
import { newId, seconds } from './account.ts'
import type { StripeAccount } from './account.ts'
import { cardOfToken, CARDS } from './cards.ts'
import type { CardName, TestCard } from './cards.ts'
import { customerOf } from './customers.ts'
import { need } from './errors.ts'
import { emit } from './events.ts'
import { badField, needText } from './fields.ts'
import { fitsCreated, page } from './lists.ts'
import { listing } from './requests.ts'
import type { Call, Endpoint } from './requests.ts'

const EXPIRES = { exp_month: 12, exp_year: 2034 }

/** The endpoints of payment methods: read, list, attach, detach. */
export const paymentMethodEndpoints: readonly Endpoint[] = [
  listing('/v1/payment_methods', ['customer', 'type', 'allow_redisplay'], list),
  listing('/v1/customers/:id/payment_methods', ['type', 'allow_redisplay'], (call) => {
    customerOf(call.account, call.id)
    return list({ ...call, fields: { ...call.fields, customer: call.id } })
  }),
  {
    method: 'GET',
    path: '/v1/payment_methods/:id',
    takes: [],
    run: ({ account, id }) => need(account, 'payment_method', id),
  },
  {
    method: 'GET',
    path: '/v1/customers/:customer/payment_methods/:id',
    takes: [],
    run: ({ account, id }) => need(account, 'payment_method', id),
  },
  {
    method: 'POST',
    path: '/v1/payment_methods/:id/attach',
    takes: ['customer'],
    run: ({ account, id, fields }) => {
      const customer = customerOf(account, needText(fields, 'customer'), 'customer')
      return attach(account, methodOf(account, id), customer.id)
    },
  },
  { method: 'POST', path: '/v1/payment_methods/:id/detach', takes: [], run: ({ account, id }) => detach(account, id) },
]

/** The test card behind a payment method. */
export function cardOf(account: StripeAccount, method: string): TestCard {
  return CARDS[account.cards.get(method) ?? 'card']
}

/**
 * The payment method with this id; one of Stripe's tokens (`pm_card_visa`) makes a new one.
 * @throws {Refusal} `resource_missing`
 */
export function methodOf(account: StripeAccount, id: string, param?: string): Stripe.PaymentMethod {
  const name = cardOfToken(id)
  return name ? newMethod(account, name) : need(account, 'payment_method', id, param)
}

/** A payment method of a card that is not stored yet. */
export function newMethod(account: StripeAccount, name: CardName): Stripe.PaymentMethod {
  const { brand, number } = CARDS[name]
  const method: Stripe.PaymentMethod = {
    id: newId('pm'),
    object: 'payment_method',
    allow_redisplay: 'unspecified',
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    card: {
      brand,
      checks: { address_line1_check: null, address_postal_code_check: null, cvc_check: 'pass' },
      country: 'IE',
      display_brand: brand,
      ...EXPIRES,
      fingerprint: 'sandbox',
      funding: 'credit',
      generated_from: null,
      last4: number.slice(-4),
      networks: { available: [brand], preferred: null },
      regulated_status: 'unregulated',
      three_d_secure_usage: { supported: true },
      wallet: null,
    },
    created: seconds(),
    customer: null,
    customer_account: null,
    livemode: account.livemode,
    metadata: {},
    type: 'card',
  }
  account.cards.set(method.id, name)
  return account.objects.add(method)
}

/** Stores a payment method for a customer. @throws {Refusal} 400 if another one has it */
export function attach(account: StripeAccount, method: Stripe.PaymentMethod, customer: string): Stripe.PaymentMethod {
  if (method.customer !== null && method.customer !== customer) {
    throw badField('The payment method you provided has already been attached to a customer.', 'payment_method')
  }
  method.customer = customer
  emit(account, 'payment_method.attached', method)
  return method
}

function detach(account: StripeAccount, id: string): Stripe.PaymentMethod {
  const method = need(account, 'payment_method', id)
  if (method.customer === null) {
    throw badField('The payment method you provided is not attached to a customer so detachment is impossible.', 'id')
  }
  method.customer = null
  emit(account, 'payment_method.detached', method)
  return method
}

function list({ account, fields, path }: Call): object {
  if (fields['customer'] !== undefined) customerOf(account, asText(fields['customer']), 'customer')
  const found = account.objects
    .list('payment_method')
    .filter((one) => one.customer !== null && fitsCreated(one.created, fields))
    .filter((one) => fields['customer'] === undefined || one.customer === fields['customer'])
    .filter((one) => fields['type'] === undefined || one.type === asText(fields['type']))
  return page(found, fields, path)
}
