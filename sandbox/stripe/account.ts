import { randomUUID } from 'node:crypto'
import type Stripe from 'stripe'
import type { CardName } from './cards.ts'
import { Faults } from './faults.ts'
import { Objects } from './objects.ts'
import type { StoredEvent } from './objects.ts'

/** The version of Stripe's API that the sandbox implements: that of the SDK in its tests. */
export const API_VERSION = '2026-10-28.endive'

/** What the payment intent of a checkout session gets from the order that made the session. */
export type IntentData = Pick<Stripe.PaymentIntent, 'metadata' | 'description' | 'receipt_email' | 'setup_future_usage'>

/** An answer that is given again to the same idempotency key. */
export interface KeptAnswer {
  /** Of method, path and fields: another one is another request. */
  readonly fingerprint: string
  readonly requestId: string
  status: number
  text: string
}

/** Where an account wants its events delivered. */
interface Endpoint {
  readonly url: string
  readonly secret: string
  /** Keep events back; a control delivers them. */
  readonly hold: boolean
  /** The pauses before each further try, in milliseconds. */
  readonly retryMs: readonly number[]
}

/** One try to deliver an event. `status` 0: no answer came. */
interface Delivery {
  readonly event: string
  readonly type: string
  readonly at: string
  readonly status: number
}

/** What the sandbox does later by itself. All of it ends with the sandbox. */
export interface Timers {
  /** Aborted when the sandbox closes. */
  readonly stopped: AbortSignal
  /** Does something after `ms` milliseconds, unless the sandbox has closed by then. */
  readonly later: (ms: number, work: () => void) => void
  /** The handler of failures of work in the background. */
  readonly failed: (failure: unknown) => void
}

/** What one secret key sees: the objects of one account in one mode, and where its events go. */
export interface StripeAccount {
  readonly name: string
  readonly livemode: boolean
  readonly objects: Objects
  readonly lineItems: Map<string, Stripe.LineItem[]>
  /** What the payment intent of a session is to have once it is made. */
  readonly intentData: Map<string, IntentData>
  /** The test card of each payment method. */
  readonly cards: Map<string, CardName>
  readonly answers: Map<string, KeptAnswer>
  readonly faults: Faults
  readonly deliveries: Delivery[]
  readonly timers: Timers
  /** Events that wait for the next one to go first. */
  overtaken: StoredEvent[]
  endpoint: Endpoint | undefined
  /** How long a payment that comes later takes, in milliseconds. */
  laterMs: number
}

const LATER_MS = 5000

/** An account that has nothing yet. */
export function createAccount(name: string, livemode: boolean, timers: Timers): StripeAccount {
  return {
    name,
    livemode,
    objects: new Objects(),
    lineItems: new Map(),
    intentData: new Map(),
    cards: new Map(),
    answers: new Map(),
    faults: new Faults(),
    deliveries: [],
    timers,
    overtaken: [],
    endpoint: undefined,
    laterMs: LATER_MS,
  }
}

/** An id like Stripe's: unguessable, with the prefix of its kind. */
export function newId(prefix: string): string {
  // Of a UUID, which Node makes from bytes that it drew beforehand.
  return `${prefix}_${randomUUID().replaceAll('-', '').slice(-24)}`
}

/** Now, in whole seconds since the epoch, as every time of the API. */
export function seconds(): number {
  return Math.floor(Date.now() / 1000)
}
