/**
 * What the verbs of payments are given.
 */
import type { AccountId } from '../ids.ts'
import type { Config, PaymentsConfig } from '../config.ts'
import type { Db } from '../infra/db.ts'
import type { Log } from '../infra/log.ts'
import type { PaymentStatus } from './orders.ts'
import type { Provider } from './provider.ts'
import { createStripe } from './stripe/provider.ts'

/** What a process can measure of payments. */
export type PaymentsObserver = {
  /** An order has reached this state. */
  became: (status: PaymentStatus) => void
  /** A provider's object was not as its order says. `what`: a field of a fixed list. */
  differed: (what: string) => void
  /** An event came in, and what became of it. */
  event: (outcome: string) => void
}

export type PaymentDeps = {
  db: Db
  log: Log
  provider: Provider
  baseUrl: string
  observer: PaymentsObserver
  /** Tells who follows an account of its new balance. */
  tell: (accountId: AccountId, balance: number) => void
}

/** The provider of a configuration; null without PAYMENTS. */
export function providerOf(config: PaymentsConfig): Provider | null {
  const { PAYMENTS, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET } = config
  if (PAYMENTS === undefined || STRIPE_SECRET_KEY === undefined || STRIPE_WEBHOOK_SECRET === undefined) return null
  return createStripe(config, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET)
}

/** The verbs' dependencies in a process; null without PAYMENTS. */
export function paymentsOf(config: Config, rest: Omit<PaymentDeps, 'provider' | 'baseUrl'>): PaymentDeps | null {
  const provider = providerOf(config)
  return provider && { ...rest, provider, baseUrl: config.BASE_URL }
}
