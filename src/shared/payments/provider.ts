/**
 * The interface of a payment provider. Another provider is another folder next to `stripe`. Amounts are in the minor
 * unit of the currency.
 */
import { ApiError } from '../platform/errors.ts'
import type { AccountId, PaymentId, RefundId } from '../platform/ids.ts'

/** A card that a customer let the provider save. `method` is the provider's id of it. */
export type Card = { method: string; brand: string; last4: string; expMonth: number; expYear: number }

/** What a provider needs to know of an order. */
export type Order = {
  id: PaymentId
  accountId: AccountId
  kind: 'checkout' | 'auto'
  currency: string
  amountMinor: number
  credits: number
  bonus: number
  createdAt: Date
  /** The provider's ids, if they are known. */
  customer: string | null
  session: string | null
  intent: string | null
  /** The card that an automatic payment charges. */
  method: string | null
}

/** A refund that moved money, or is about to. `ours` is the public id that we gave it. */
export type ProviderRefund = { reference: string; ours: string | null; amountMinor: number }

/** The state of an order at its provider. */
export type OrderState = {
  state: 'open' | 'paid' | 'expired' | 'failed'
  /** The public id of the order that the object names. */
  names: string | null
  /** null if its parts do not agree. */
  liveMode: boolean | null
  currency: string
  amountMinor: number
  customer: string | null
  session: string | null
  intent: string | null
  expiresAt: Date | null
  /** The page on which it can still be paid; null once it was, or is on its way. */
  page: string | null
  receiptUrl: string | null
  /** Why it failed: the provider's code. */
  failure: string | null
  refunds: ProviderRefund[]
  /** What disputes have withdrawn and not reinstated. */
  disputedMinor: number
  /** The newest card that the customer let it save; null also if it was not asked for. */
  card: Card | null
}

/** A verified event, reduced to the object that it is about. Only a hint: it never decides anything. */
export type Hint = {
  id: string
  type: string
  liveMode: boolean
  /** Whether its order needs to be checked. */
  matters: boolean
  /** The public id of the order that it names. */
  names: string | null
  session: string | null
  intent: string | null
  /** Of the whole payment, if the event has them. */
  currency: string | null
  amountMinor: number | null
}

/** A payment in the provider's own list. */
export type Listed = { names: string | null; reference: string; paid: boolean; currency: string; amountMinor: number }

/** A payment provider, as the verbs of payments need it. */
export type Provider = {
  name: 'stripe'
  /** Whether real money moves. */
  liveMode: boolean
  /**
   * Opens the page on which an order is paid; it sends customers back to `returnUrl`. Asked again, it gives the same
   * page.
   */
  createCheckout: (order: Order, returnUrl: string) => Promise<{ seen: OrderState; url: string }>
  /** The current state of an order, with its refunds and disputes; null if the provider does not have it. */
  read: (order: Order, about?: { card?: boolean }) => Promise<OrderState | null>
  /** Refunds part of a payment, once per id. @returns the provider's id of the refund. */
  refund: (order: Order, refund: { id: RefundId; amountMinor: number }) => Promise<string>
  /** Charges the saved card for an automatic payment, once per order. A decline is the state `failed`. */
  charge: (order: Order) => Promise<OrderState>
  /** Reads a signed event. @throws ApiError invalid_signature. */
  verify: (body: Buffer, signature: string) => Hint
  /**
   * Ends an order that nobody has paid, so that nobody can any more; others stay as they are. @returns its state after
   * that; null if the provider does not have it.
   */
  expire: (order: Order) => Promise<OrderState | null>
  /** The customer of an account, created if there is none; `gone` is the one before, which is not to come back. */
  customerOf: (accountId: AccountId, gone: string | null) => Promise<string>
  /** Deletes the cards that a customer had saved by then. An unknown customer has none. */
  forgetCards: (customer: string, until: Date) => Promise<void>
  /** Deletes a customer and their data, except payments. */
  forgetCustomer: (customer: string) => Promise<void>
  /** What was paid or begun between two moments, for reconciling. */
  list: (from: Date, to: Date) => AsyncIterable<Listed>
}

/** Does something around a question to the provider, which has a name. */
export type Around = <Args extends unknown[], T>(
  name: string,
  question: (...args: Args) => Promise<T>,
) => (...args: Args) => Promise<T>

/** The same provider, with something done around every question about one order or customer. */
export const wrapped = (provider: Provider, around: Around): Provider => ({
  ...provider,
  createCheckout: around('create checkout', provider.createCheckout),
  read: around('read order', provider.read),
  refund: around('refund', provider.refund),
  charge: around('charge card', provider.charge),
  expire: around('expire order', provider.expire),
  customerOf: around('find customer', provider.customerOf),
  forgetCards: around('forget cards', provider.forgetCards),
  forgetCustomer: around('forget customer', provider.forgetCustomer),
})

/** The provider did not answer, or cannot now. The outcome is unknown, and the same request may be sent again. */
export class ProviderUnavailable extends Error {}

/** What a provider may not have any more: it was deleted there, or belongs to another mode or account. */
export type Missing = 'customer' | 'card'

/** The provider refused for good. `reason` is its code; `missing` is what the request names and it does not have. */
export class ProviderRefused extends Error {
  readonly reason: string
  readonly missing: Missing | null

  constructor(reason: string, cause: unknown, missing: Missing | null = null) {
    super(`The payment provider refused: ${reason}.`, { cause })
    this.reason = reason
    this.missing = missing
  }
}

const REFUSED =
  'The payment provider refused this request, and nothing was paid. If this happens again, tell the operator of this ' +
  'service.'

/** What customers get if a provider did not do what it was asked. @throws every error that is not the provider's. */
export function unavailable(error: unknown, retryAfterSeconds: number): ApiError {
  const more = { retryAfterSeconds, cause: error }
  if (error instanceof ProviderUnavailable) return new ApiError('payments_unavailable', more)
  if (!(error instanceof ProviderRefused)) throw error
  if (error.reason.startsWith('amount_too_')) return new ApiError('invalid_amount', { cause: error })
  return new ApiError('payments_unavailable', { ...more, message: REFUSED })
}
