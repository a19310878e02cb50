import type Stripe from 'stripe'

/** The objects that the sandbox stores, by the name that each has in `object`. */
export interface Kinds {
  customer: Stripe.Customer | Stripe.DeletedCustomer
  payment_method: Stripe.PaymentMethod
  'checkout.session': Stripe.Checkout.Session
  payment_intent: Stripe.PaymentIntent
  charge: Stripe.Charge
  refund: Stripe.Refund
  dispute: Stripe.Dispute
  balance_transaction: Stripe.BalanceTransaction
  event: StoredEvent
}

/** An object of any kind. */
export type Kept = Kinds[keyof Kinds]

/** An event; the SDK's own type of it is a union of 200 members. */
export interface StoredEvent {
  id: string
  object: 'event'
  api_version: string
  created: number
  data: { object: unknown; previous_attributes?: unknown }
  livemode: boolean
  pending_webhooks: number
  request: { id: string | null; idempotency_key: string | null }
  type: string
}

/** All objects of one account in one mode, oldest first. */
export class Objects {
  private readonly kept = new Map<string, Kept>()

  /** Stores an object. */
  add<T extends Kept>(object: T): T {
    this.kept.set(object.id, object)
    return object
  }

  /** The object of this kind with this id. */
  find<K extends keyof Kinds>(kind: K, id: string): Kinds[K] | undefined {
    const found = this.kept.get(id)
    return found?.object === kind ? (found as Kinds[K]) : undefined
  }

  /** The object with this id, of any kind. */
  any(id: string): Kept | undefined {
    return this.kept.get(id)
  }

  /** The objects of a kind, newest first. */
  list<K extends keyof Kinds>(kind: K): Kinds[K][] {
    const found: Kinds[K][] = []
    for (const one of this.kept.values()) if (one.object === kind) found.push(one as Kinds[K])
    return found.reverse()
  }

  /** Every object, oldest first. */
  all(): Kept[] {
    return [...this.kept.values()]
  }
}

/** The id that a field of an object holds; the sandbox stores ids there, and expands them only in answers. */
export function idIn(field: string | { readonly id: string } | null | undefined): string {
  return typeof field === 'string' ? field : (field?.id ?? '')
}
