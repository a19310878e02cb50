import type Stripe from 'stripe'
import { newId, seconds } from './account.ts'
import type { StripeAccount } from './account.ts'

/** What moved: a movement of the account's balance is written down for each. */
export type Movement = 'charge' | 'refund' | 'refund_failure' | 'dispute' | 'dispute_reversal'

const TYPES = {
  charge: 'charge',
  refund: 'refund',
  refund_failure: 'refund_failure',
  dispute: 'adjustment',
  dispute_reversal: 'adjustment',
} as const

/** Writes down a movement of the account's balance; `amount` is signed, in minor units. */
export function move(
  account: StripeAccount,
  movement: Movement,
  { amount, currency, source }: { amount: number; currency: string; source: string },
): Stripe.BalanceTransaction {
  const now = seconds()
  return account.objects.add({
    id: newId('txn'),
    object: 'balance_transaction',
    amount,
    available_on: now,
    balance_type: 'payments',
    created: now,
    currency,
    description: null,
    exchange_rate: null,
    fee: 0,
    fee_details: [],
    net: amount,
    reporting_category: movement,
    source,
    status: 'available',
    type: TYPES[movement],
  })
}
