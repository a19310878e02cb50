import type Stripe from 'stripe'
import { newId, seconds } from './account.ts'
import type { StripeAccount } from './account.ts'
import { need } from './errors.ts'
import { emit } from './events.ts'
import { fitsCreated, page } from './lists.ts'
import { move } from './money.ts'
import { listing } from './requests.ts'
import type { Endpoint } from './requests.ts'

/** The endpoints of charges and of the movements of the balance. */
export const chargeEndpoints: readonly Endpoint[] = [
  listing('/v1/charges', ['customer', 'payment_intent'], ({ account, fields, path }) => {
    const found = account.objects
      .list('charge')
      .filter((one) => fitsCreated(one.created, fields))
      .filter((one) => fields['customer'] === undefined || one.customer === fields['customer'])
      .filter((one) => fields['payment_intent'] === undefined || one.payment_intent === fields['payment_intent'])
    return page(found, fields, path)
  }),
  { method: 'GET', path: '/v1/charges/:id', takes: [], run: ({ account, id }) => need(account, 'charge', id) },
  listing('/v1/balance_transactions', ['type', 'source', 'currency'], ({ account, fields, path }) => {
    const found = account.objects
      .list('balance_transaction')
      .filter((one) => fitsCreated(one.created, fields))
      .filter((one) =>
        ['type', 'source', 'currency'].every((key) => !fields[key] || one[key as 'type'] === fields[key]),
      )
    return page(found, fields, path)
  }),
  {
    method: 'GET',
    path: '/v1/balance_transactions/:id',
    takes: [],
    run: ({ account, id }) => need(account, 'balance_transaction', id),
  },
]

/** Why a charge failed, in the words of Stripe's errors. */
export interface Decline {
  readonly code: string
  readonly decline: string
  readonly message: string
}

/** Makes the charge of a payment intent: paid, waiting for a bank (`pending`), or failed. */
export function charge(
  account: StripeAccount,
  intent: Stripe.PaymentIntent,
  method: Stripe.PaymentMethod,
  outcome: 'succeeded' | 'pending' | Decline,
  origin: string,
): Stripe.Charge {
  const status = typeof outcome === 'string' ? outcome : 'failed'
  const decline = typeof outcome === 'string' ? undefined : outcome
  const id = newId(method.type === 'card' ? 'ch' : 'py')
  const made: Stripe.Charge = {
    ...blank(intent),
    id,
    livemode: account.livemode,
    amount_captured: status === 'succeeded' ? intent.amount : 0,
    captured: status !== 'failed',
    failure_code: decline?.code ?? null,
    failure_message: decline?.message ?? null,
    paid: status !== 'failed',
    payment_method: method.id,
    payment_method_details: { type: method.type, ...(method.card && { card: method.card as never }) },
    receipt_url: status === 'failed' ? null : `${origin}/stripe/receipts/${id}`,
    status,
  }
  account.objects.add(made)
  intent.latest_charge = id
  if (status === 'succeeded') book(account, made)
  const name = { succeeded: 'succeeded', pending: 'pending', failed: 'failed' }[status]
  emit(account, `charge.${name}`, made)
  return made
}

/** What a bank answered to a charge that was pending. */
export function finishCharge(account: StripeAccount, made: Stripe.Charge, decline: Decline | undefined): void {
  made.status = decline ? 'failed' : 'succeeded'
  made.paid = !decline
  made.failure_code = decline?.code ?? null
  made.failure_message = decline?.message ?? null
  if (!decline) {
    made.amount_captured = made.amount
    book(account, made)
  }
  emit(account, decline ? 'charge.failed' : 'charge.succeeded', made)
}

function book(account: StripeAccount, made: Stripe.Charge): void {
  made.balance_transaction = move(account, 'charge', {
    amount: made.amount,
    currency: made.currency,
    source: made.id,
  }).id
}

function blank(intent: Stripe.PaymentIntent): Stripe.Charge {
  return {
    id: '',
    object: 'charge',
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: null,
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    calculated_statement_descriptor: 'SANDBOX',
    captured: false,
    created: seconds(),
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: null,
    failure_message: null,
    fraud_details: {},
    livemode: intent.livemode,
    metadata: { ...intent.metadata },
    on_behalf_of: null,
    outcome: null,
    paid: false,
    payment_intent: intent.id,
    payment_method: null,
    payment_method_details: null,
    receipt_email: intent.receipt_email,
    receipt_number: null,
    receipt_url: null,
    refunded: false,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'pending',
    transfer_data: null,
    transfer_group: null,
  }
}
