/**
 * The words of webhooks: the types of events (docs/webhooks.md#events), and why
 * nothing is sent. Each is written by the function of `sql/` that its cause calls.
 */

/** The events that accounts can get. */
export const EVENT_TYPES = [
  'call.succeeded',
  'call.failed',
  'balance.low',
  'budget.exceeded',
  'payment.succeeded',
  'payment.refunded',
  'payment.disputed',
  'key.created',
  'key.revoked',
  'credits.expiring',
] as const

/** What a webhook of an account may list: `chat` adds the events of chats that a client waits for. */
export const LISTED_TYPES = [...EVENT_TYPES, 'chat'] as const

/** The events that operators can get. */
export const OPERATOR_TYPES = [
  'payment.disputed',
  'payment.review',
  'mail.dead',
  'upstream.unhealthy',
  'upstream.recovered',
  'upstream.key.failed',
  'reconciler.refunded',
] as const

/** What only asking for it sends. */
export const TEST_TYPE = 'webhook.test'

/** Why a webhook is disabled: by its owner, because its receiver answered 410, or because it failed for five days. */
export const DISABLED_REASONS = ['owner', 'gone', 'failing'] as const
/** Why a webhook is disabled. */
export type DisabledReason = (typeof DISABLED_REASONS)[number]
