/** The client of Stripe's API, and what its errors mean. */
import Stripe from 'stripe'
import type { PaymentsConfig } from '../../platform/config/config.ts'
import type { Missing } from '../provider.ts'
import { ProviderUnavailable, ProviderRefused } from '../provider.ts'

/** The key that requests carry, and how long one may take, in ms. */
export type StripeAccess = { secretKey: string; timeoutMs: number }

/** The client. It never tries again by itself: orders wait in their rows, and web answers at once. */
export function createClient({ STRIPE_API_BASE }: PaymentsConfig, { secretKey, timeoutMs }: StripeAccess): Stripe {
  const options = { timeout: timeoutMs, maxNetworkRetries: 0, telemetry: false }
  if (STRIPE_API_BASE === undefined) return new Stripe(secretKey, options)
  const { protocol, hostname, port } = new URL(STRIPE_API_BASE)
  const http = protocol === 'http:'
  return new Stripe(secretKey, {
    ...options,
    protocol: http ? 'http' : 'https',
    // A URL has IPv6 addresses in brackets, a connection has none.
    host: hostname.replace(/^\[|\]$/g, ''),
    port: port || (http ? '80' : '443'),
  })
}

const REASON_LENGTH = 100

/** Why Stripe refused: chosen fields only, since its message may contain personal data. */
export const reasonOf = ({ code, decline_code: decline, type }: Stripe.errors.StripeError): string =>
  (decline ?? code ?? type).slice(0, REASON_LENGTH)

/**
 * How Stripe reports that it no longer has a payment method; without a code, that it was detached from its customer.
 */
const GONE: readonly (string | undefined)[] = ['resource_missing', 'payment_method_unexpected_state', undefined]

/** What a request names and Stripe does not have. */
function missingOf({ code, param }: Stripe.errors.StripeError): Missing | null {
  if (param === 'customer' && code === 'resource_missing') return 'customer'
  return param === 'payment_method' && GONE.includes(code) ? 'card' : null
}

const NOT_FOUND = 404
const TOO_EARLY = 409

/** Asks. @throws ProviderUnavailable or ProviderRefused; a card's decline as it is. */
export async function ask<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question()
  } catch (error) {
    if (error instanceof Stripe.errors.StripeCardError) throw error
    if (error instanceof Stripe.errors.StripeIdempotencyError && error.statusCode !== TOO_EARLY)
      throw new ProviderRefused(reasonOf(error), error)
    if (error instanceof Stripe.errors.StripeInvalidRequestError && error.statusCode !== TOO_EARLY)
      throw new ProviderRefused(reasonOf(error), error, missingOf(error))
    if (error instanceof Stripe.errors.StripeError)
      throw new ProviderUnavailable(`Stripe: ${reasonOf(error)}`, { cause: error })
    throw error
  }
}

/** Asks for an object, or for what a customer has; null if there is no such object or customer. */
export async function find<T>(question: () => Promise<T>): Promise<T | null> {
  try {
    return await ask(question)
  } catch (error) {
    const { statusCode } = ((error as Error).cause ?? {}) as { statusCode?: number }
    if (error instanceof ProviderRefused && (statusCode === NOT_FOUND || error.missing === 'customer')) return null
    throw error
  }
}
