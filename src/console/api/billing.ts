/**
 * Buying credits: the account's own part of the API.
 */
import type { Answered, Asked, RowOf } from './declared.ts'
import { ask } from './declared.ts'

/** What can be bought, what the account set about it, and its card. */
export type Billing = Answered<'GET /api/billing'>
export type Pack = Billing['packs'][number]
export type TopUp = NonNullable<Billing['topUp']>
export type Card = NonNullable<Billing['card']>
export type BillingSettings = Billing['settings']
export type AutoTopUp = NonNullable<BillingSettings['autoTopUp']>
export type TopUpFailure = NonNullable<Billing['topUpFailure']>
export type Payment = RowOf<'GET /api/billing/payments'>

export const getBilling = () => ask('GET /api/billing')
export const checkout = (body: Asked<'POST /api/billing/checkout'>['body']) =>
  ask('POST /api/billing/checkout', { body })
export const getPayments = (query: { cursor?: string }) => ask('GET /api/billing/payments', { query })
export const syncPayment = (id: string) => ask('POST /api/billing/payments/:id/sync', { params: { id } })
export const cancelPayment = (id: string) => ask('POST /api/billing/payments/:id/cancel', { params: { id } })
export const redeem = (code: string) => ask('POST /api/billing/redeem', { body: { code } })
/** A setting that is absent stays as it is; null turns it off. */
export const saveBilling = (body: Partial<BillingSettings>) => ask('PUT /api/billing/settings', { body })
export const removeCard = () => ask('DELETE /api/billing/card')
