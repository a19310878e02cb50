/**
 * The limits that hold for an account.
 */
import type { GroupLimits } from '../catalogue/groups.ts'
import type { Config } from '../platform/config/config.ts'

/** What bounds an account: requests a minute, and calls that have not ended. */
export type EffectiveLimits = { rateLimit: number; maxOutstanding: number }

/** The limits of an account: its group's, else those of every account. @param group null: none, or unknown yet */
export const effectiveLimits = (
  group: GroupLimits | null,
  usual: Pick<Config, 'GATEWAY_RATE_LIMIT' | 'MAX_OUTSTANDING_CALLS'>,
): EffectiveLimits => ({
  rateLimit: group?.rateLimit ?? usual.GATEWAY_RATE_LIMIT,
  maxOutstanding: group?.maxOutstanding ?? usual.MAX_OUTSTANDING_CALLS,
})
