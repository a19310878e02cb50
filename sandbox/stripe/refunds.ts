import type Stripe from 'stripe'
import { asText } from '../wire.ts'
import { newId, seconds } from './account.ts'
import type { StripeAccount } from './account.ts'
import { need } from './errors.ts'
import { emit } from './events.ts'
import { badField, metadataOf, needText, whole } from './fields.ts'
import { fitsCreated, page } from './lists.ts'
import { move } from './money.ts'
import { idIn } from './objects.ts'
import { cardOf } from './payment-methods.ts'
import { listing } from './requests.ts'
import type { Call, Endpoint } from './requests.ts'

const REASONS = ['duplicate', 'fraudulent', 'requested_by_customer']

/** The endpoints of refunds. */
export const refundEndpoints: readonly Endpoint[] = [
  {
    method: 'POST',
    path: '/v1/refunds',
    takes: ['payment_intent', 'charge', 'amount', 'reason', 'metadata'],
    run: create,
  },
  listing('/v1/refunds', ['payment_intent', 'charge'], ({ account, fields, path }) => {
    const found = account.objects
      .list('refund')
      .filter((one) => fitsCreated(one.created, fields))
      .filter((one) => fields['charge'] === undefined || one.charge === fields['charge'])
      .filter((one) => fields['payment_intent'] === undefined || one.payment_intent === fields['payment_intent'])
    return page(found, fields, path)
  }),
  listing('/v1/charges/:id/refunds', [], ({ account, id, fields, path }) => {
    need(account, 'charge', id)
    return page(
      account.objects.list('refund').filter((one) => one.charge === id),
      fields,
      path,
    )
  }),
  { method: 'GET', path: '/v1/refunds/:id', takes: [], run: ({ account, id }) => need(account, 'refund', id) },
  {
    method: 'POST',
    path: '/v1/refunds/:id/cancel',
    takes: [],
    run: ({ account, id }) => {
      const refund = need(account, 'refund', id)
      if (refund.status !== 'pending') throw badField('This refund cannot be canceled.', 'id')
      return undo(account, refund, 'canceled')
    },
  },
]

/**
 * Lets a refund that is pending come to its end, or one that had succeeded fail after all.
 * @throws {Refusal} 400 if it cannot go there
 */
export function finishRefund(account: StripeAccount, refund: Stripe.Refund, to: 'succeeded' | 'failed'): Stripe.Refund {
  if (to === 'failed' && ['pending', 'succeeded'].includes(refund.status ?? '')) return undo(account, refund, 'failed')
  if (to !== 'succeeded' || refund.status !== 'pending') {
    throw badField(`A refund that is ${refund.status} cannot be ${to}.`, 'status')
  }
  refund.status = 'succeeded'
  emit(account, 'refund.updated', refund)
  emit(account, 'charge.refund.updated', refund)
  return refund
}

function create({ account, fields }: Call): Stripe.Refund {
  const charge = chargeOf(account, fields)
  const left = charge.amount - charge.amount_refunded
  if (left === 0) throw badField(`Charge ${charge.id} has already been refunded.`, 'charge', 'charge_already_refunded')
  if (account.objects.list('dispute').some((one) => one.charge === charge.id && !one.is_charge_refundable)) {
    throw badField(`Charge ${charge.id} has been charged back; cannot issue a refund.`, 'charge', 'charge_disputed')
  }
  const amount = whole(fields, 'amount') ?? left
  if (amount === 0) throw badField('Invalid positive integer', 'amount', 'parameter_invalid_integer')
  if (amount > left) {
    throw badField(`Refund amount (${amount}) is greater than unrefunded amount on charge (${left})`, 'amount')
  }
  const reason = asText(fields['reason'])
  if (reason && !REASONS.includes(reason)) throw badField(`Invalid reason: must be one of ${REASONS.join()}`, 'reason')
  const behaviour = cardOf(account, charge.payment_method ?? '').refunds
  const refund: Stripe.Refund = account.objects.add({
    id: newId('re'),
    object: 'refund',
    amount,
    balance_transaction: null,
    charge: charge.id,
    created: seconds(),
    currency: charge.currency,
    customer: charge.customer,
    customer_account: null,
    metadata: metadataOf(fields['metadata']),
    payment_intent: charge.payment_intent,
    payment_method: charge.payment_method,
    reason: (reason || null) as Stripe.Refund['reason'],
    receipt_number: null,
    source_transfer_reversal: null,
    status: behaviour === 'pending' ? 'pending' : 'succeeded',
    transfer_reversal: null,
  })
  const source = { currency: charge.currency, source: refund.id }
  refund.balance_transaction = move(account, 'refund', { ...source, amount: -amount }).id
  addRefunded(charge, amount)
  emit(account, 'refund.created', refund)
  emit(account, 'charge.refunded', charge)
  if (behaviour === 'failed') {
    account.timers.later(account.laterMs, () => {
      finishRefund(account, refund, 'failed')
    })
  }
  return refund
}

function chargeOf(account: StripeAccount, fields: Call['fields']): Stripe.Charge {
  const intent = asText(fields['payment_intent'])
  const id = intent
    ? need(account, 'payment_intent', intent, 'payment_intent').latest_charge
    : needText(fields, 'charge')
  const charge = need(account, 'charge', idIn(id), 'charge')
  if (charge.status !== 'succeeded') {
    throw badField(`Charge ${charge.id} is not paid and cannot be refunded.`, 'charge', 'charge_not_refundable')
  }
  return charge
}

function undo(account: StripeAccount, refund: Stripe.Refund, status: 'failed' | 'canceled'): Stripe.Refund {
  const charge = need(account, 'charge', idIn(refund.charge))
  refund.status = status
  if (status === 'failed') refund.failure_reason = 'expired_or_canceled_card'
  const source = { currency: refund.currency, source: refund.id }
  refund.failure_balance_transaction = move(account, 'refund_failure', { ...source, amount: refund.amount }).id
  addRefunded(charge, -refund.amount)
  emit(account, 'refund.updated', refund)
  if (status === 'failed') emit(account, 'refund.failed', refund)
  emit(account, 'charge.refund.updated', refund)
  return refund
}

function addRefunded(charge: Stripe.Charge, amount: number): void {
  charge.amount_refunded += amount
  charge.refunded = charge.amount_refunded === charge.amount
}
