/**
 * The seam to whoever takes the money: five verbs, and three that keep house. Another provider is one more folder
 * beside `stripe`. Amounts are in the minor unit of the currency.
 */
import type { AccountId, PaymentId, RefundId } from '../ids.ts'

/** A card that a customer let the provider keep. `method` is the provider's id of it. */
export type Card = { method: string; brand: string; last4: string; expMonth: number; expYear: number }

/** What a provider has to know of an order. */
export type Order = {
  id: PaymentId
  accountId: AccountId
  kind: 'checkout' | 'auto'
  currency: string
  amountMinor: number
  credits: number
  bonus: number
  createdAt: Date
  /** The provider's ids, where they are known. */
  customer: string | null
  session: string | null
  intent: string | null
  /** The card that an automatic payment asks. */
  method: string | null
}

/** A refund that moved money, or is about to. `ours` is the public id that we gave it. */
export type SeenRefund = { reference: string; ours: string | null; amountMinor: number }

/** How an order stands at its provider. */
export type Seen = {
  state: 'open' | 'paid' | 'expired' | 'failed'
  /** The public id of the order that the object names. */
  names: string | null
  /** null where its parts do not agree. */
  liveMode: boolean | null
  currency: string
  amountMinor: number
  customer: string | null
  session: string | null
  intent: string | null
  expiresAt: Date | null
  receiptUrl: string | null
  /** Why it failed, in a word of the provider. */
  failure: string | null
  refunds: SeenRefund[]
  /** What disputes have withdrawn and not given back. */
  disputedMinor: number
  /** The newest card that the customer lets it keep; null also where it was not asked for. */
  card: Card | null
}

/** An event, verified and reduced to the object that it is about. It is a hint: nothing is credited by it. */
export type Hint = {
  id: string
  type: string
  liveMode: boolean
  /** Whether anybody needs to look. */
  matters: boolean
  /** The public id of the order that it names. */
  names: string | null
  session: string | null
  intent: string | null
  /** Of the whole payment, where it tells. */
  currency: string | null
  amountMinor: number | null
}

/** A payment in the provider's own list. */
export type Listed = { names: string | null; reference: string; paid: boolean; currency: string; amountMinor: number }

export type Provider = {
  name: 'stripe'
  /** Whether real money moves. */
  liveMode: boolean
  /**
   * Opens the page on which an order is paid; `returnUrl` is where it sends people back to. The same page again when
   * it is asked again.
   */
  createCheckout: (order: Order, returnUrl: string) => Promise<{ seen: Seen; url: string }>
  /** How the order stands now, with its refunds and disputes; null where the provider knows nothing of it. */
  read: (order: Order, about?: { card?: boolean }) => Promise<Seen | null>
  /** Refunds a part of a payment, once for each id. @returns the provider's id of the refund. */
  refund: (order: Order, refund: { id: RefundId; amountMinor: number }) => Promise<string>
  /** Asks the kept card of an automatic payment, once for each order. A decline is a `failed`. */
  charge: (order: Order) => Promise<Seen>
  /** Reads a signed event. @throws ApiError invalid_signature. */
  verify: (body: Buffer, signature: string) => Hint
  /** The customer of an account, made where there is none. */
  customerOf: (accountId: AccountId) => Promise<string>
  /** Forgets every card of a customer. */
  forgetCards: (customer: string) => Promise<void>
  /** What was paid or begun between two moments, for reconciling. */
  list: (from: Date, to: Date) => AsyncIterable<Listed>
}

/** The provider does not answer, or cannot now: nobody knows what came of it, and the same may be asked again. */
export class ProviderAway extends Error {}

/** The provider says no, for good. `reason` is its word for why. */
export class ProviderRefused extends Error {
  readonly reason: string

  constructor(reason: string, cause: unknown) {
    super(`The payment provider refused: ${reason}.`, { cause })
    this.reason = reason
  }
}
