import type Stripe from 'stripe'
import { asFields, asText } from '../wire.ts'
import { newId, seconds } from './account.ts'
import type { StripeAccount } from './account.ts'
import { need } from './errors.ts'
import { emit } from './events.ts'
import { badField, flag, metadataOf } from './fields.ts'
import { fitsCreated, page } from './lists.ts'
import { move } from './money.ts'
import { listing } from './requests.ts'
import type { Call, Endpoint } from './requests.ts'

const WEEK_SECONDS = 7 * 86_400

/** The endpoints of disputes. */
export const disputeEndpoints: readonly Endpoint[] = [
  listing('/v1/disputes', ['payment_intent', 'charge'], ({ account, fields, path }) => {
    const found = account.objects
      .list('dispute')
      .filter((one) => fitsCreated(one.created, fields))
      .filter((one) => fields['charge'] === undefined || one.charge === fields['charge'])
      .filter((one) => fields['payment_intent'] === undefined || one.payment_intent === fields['payment_intent'])
    return page(found, fields, path)
  }),
  { method: 'GET', path: '/v1/disputes/:id', takes: [], run: ({ account, id }) => need(account, 'dispute', id) },
  { method: 'POST', path: '/v1/disputes/:id', takes: ['evidence', 'metadata', 'submit'], run: answerDispute },
  {
    method: 'POST',
    path: '/v1/disputes/:id/close',
    takes: [],
    run: ({ account, id }) => endDispute(account, need(account, 'dispute', id), 'lost'),
  },
]

/** What a dispute is opened with; an inquiry is one that moves no money yet. */
export interface Opening {
  readonly amount?: number
  readonly reason?: string
  readonly inquiry?: boolean
}

/**
 * Opens a dispute of a charge. No money moves yet: `withdraw` is a step of its own.
 * @throws {Refusal} 400 beyond the amount of the charge
 */
export function openDispute(account: StripeAccount, charge: Stripe.Charge, opening: Opening = {}): Stripe.Dispute {
  const amount = opening.amount ?? charge.amount - charge.amount_refunded
  if (amount < 1 || amount > charge.amount) throw badField('A dispute is of a part of its charge.', 'amount')
  const dispute = account.objects.add(blank(charge, { ...opening, amount }))
  charge.disputed = true
  emit(account, 'charge.dispute.created', dispute)
  return dispute
}

/** Takes the disputed amount from the account. @throws {Refusal} 400 if it was taken */
export function withdraw(account: StripeAccount, dispute: Stripe.Dispute): Stripe.Dispute {
  if (held(dispute) > 0) throw badField('The funds of this dispute are withdrawn.', 'to')
  if (dispute.status === 'warning_needs_response') dispute.status = 'needs_response'
  dispute.is_charge_refundable = false
  addMovement(account, dispute, 'dispute', -dispute.amount)
  emit(account, 'charge.dispute.funds_withdrawn', dispute)
  return dispute
}

/** Gives the disputed amount back to the account. @throws {Refusal} 400 if it was not taken */
export function reinstate(account: StripeAccount, dispute: Stripe.Dispute): Stripe.Dispute {
  if (held(dispute) === 0) throw badField('The funds of this dispute are not withdrawn.', 'to')
  addMovement(account, dispute, 'dispute_reversal', dispute.amount)
  emit(account, 'charge.dispute.funds_reinstated', dispute)
  return dispute
}

/**
 * Ends a dispute; one that is won gives back what was taken, one that is lost has cost its funds.
 * @throws {Refusal} 400 for one that has ended
 */
export function endDispute(
  account: StripeAccount,
  dispute: Stripe.Dispute,
  status: 'won' | 'lost' | 'warning_closed',
): Stripe.Dispute {
  if (['won', 'lost', 'warning_closed'].includes(dispute.status)) throw badField('This dispute is closed.', 'id')
  // A dispute is never lost before its funds are withdrawn.
  if (status === 'lost' && dispute.balance_transactions.length === 0) withdraw(account, dispute)
  dispute.status = status
  dispute.is_charge_refundable = status !== 'lost'
  if (status === 'won' && held(dispute) > 0) reinstate(account, dispute)
  emit(account, 'charge.dispute.closed', dispute)
  return dispute
}

function held(dispute: Stripe.Dispute): number {
  return -dispute.balance_transactions.reduce((sum, { amount }) => sum + amount, 0)
}

function addMovement(
  account: StripeAccount,
  dispute: Stripe.Dispute,
  movement: 'dispute' | 'dispute_reversal',
  amount: number,
): void {
  const { currency, id: source } = dispute
  dispute.balance_transactions.push(move(account, movement, { amount, currency, source }))
}

/** Stripe's test mode decides a dispute by the words of its evidence. */
function answerDispute({ account, id, fields }: Call): Stripe.Dispute {
  const dispute = need(account, 'dispute', id)
  Object.assign(dispute.metadata, metadataOf(fields['metadata']))
  const words = asText(asFields(fields['evidence'])['uncategorized_text'])
  if (words) dispute.evidence.uncategorized_text = words
  if (!flag(fields, 'submit')) return dispute
  if (words === 'winning_evidence') return endDispute(account, dispute, 'won')
  if (words === 'losing_evidence') return endDispute(account, dispute, 'lost')
  dispute.status = 'under_review'
  emit(account, 'charge.dispute.updated', dispute)
  return dispute
}

function blank(charge: Stripe.Charge, opening: Opening & { amount: number }): Stripe.Dispute {
  const now = seconds()
  return {
    id: newId('du'),
    object: 'dispute',
    amount: opening.amount,
    balance_transactions: [],
    charge: charge.id,
    created: now,
    currency: charge.currency,
    enhanced_eligibility_types: [],
    // Two of 27 fields, which are null until they are filled in.
    evidence: { uncategorized_text: null, enhanced_evidence: {} } as Stripe.Dispute.Evidence,
    evidence_details: {
      due_by: now + WEEK_SECONDS,
      enhanced_eligibility: {},
      has_evidence: false,
      past_due: false,
      submission_count: 0,
      submission_method: 'manual',
    } as Stripe.Dispute.EvidenceDetails,
    intended_submission_method: null,
    is_charge_refundable: opening.inquiry === true,
    livemode: charge.livemode,
    metadata: {},
    payment_intent: charge.payment_intent,
    reason: opening.reason ?? 'fraudulent',
    status: opening.inquiry ? 'warning_needs_response' : 'needs_response',
  }
}
