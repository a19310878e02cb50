/** The dependencies of the verbs of payments. */
import type { AccountId } from '../platform/ids.ts'
import type { Config, PaymentsConfig } from '../platform/config/config.ts'
import type { Db } from '../platform/postgres/db.ts'
import type { Log } from '../platform/process/log.ts'
import { withCircuit } from './circuit.ts'
import type { PaymentStatus } from './orders.ts'
import type { Provider } from './provider.ts'
import { createStripe } from './stripe/provider.ts'

/** What a process measures of payments. */
export type PaymentsObserver = {
  /** An order has reached this state. */
  statusReached: (status: PaymentStatus) => void
  /** A payment at the provider differs from its order in this field, one of a fixed list. */
  differenceFound: (field: string) => void
  /** An event arrived, or was handled with this outcome. */
  eventHandled: (outcome: string) => void
}

/** What the verbs of payments need. */
export type PaymentDeps = {
  db: Db
  log: Log
  provider: Provider
  baseUrl: string
  observer: PaymentsObserver
  /** Publishes the new balance to followers of the account. */
  publishBalance: (accountId: AccountId, balance: number) => void
}

/** How long the provider may take for one request, in ms. */
const PATIENCE_MS = 20_000

/** The same where somebody waits: a worker asks again, under the same idempotency key. */
const SHORT_PATIENCE_MS = 5000

/** The provider of a configuration; null without PAYMENTS. */
export function providerOf(config: PaymentsConfig, timeoutMs = PATIENCE_MS): Provider | null {
  const { PAYMENTS, STRIPE_SECRET_KEY, STRIPE_WEBHOOK_SECRET } = config
  if (PAYMENTS === undefined || STRIPE_SECRET_KEY === undefined || STRIPE_WEBHOOK_SECRET === undefined) return null
  return createStripe(config, { secretKey: STRIPE_SECRET_KEY, webhookSecret: STRIPE_WEBHOOK_SECRET, timeoutMs })
}

/** What a process has besides its provider. */
type Rest = Omit<PaymentDeps, 'provider' | 'baseUrl'>

/** The verbs' dependencies in a worker; null without PAYMENTS. */
export function paymentsOf(config: Config, rest: Rest): PaymentDeps | null {
  const provider = providerOf(config)
  return provider && { ...rest, provider, baseUrl: config.BASE_URL }
}

/**
 * The same in a web process, where a customer waits: short time-outs, and at once `ProviderUnavailable` while it is
 * unreachable.
 */
export function promptPaymentsOf(config: Config, rest: Rest): PaymentDeps | null {
  const provider = providerOf(config, SHORT_PATIENCE_MS)
  return provider && { ...rest, provider: withCircuit(provider), baseUrl: config.BASE_URL }
}
