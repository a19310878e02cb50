/** The limits that hold for an account. Pure. */
import type { GroupLimits } from '../catalogue/groups.ts'
import type { Config } from '../platform/config/config.ts'
import type { Standing } from './account-limits.ts'

/** What bounds an account: requests a minute, and calls that have not ended. */
export type EffectiveLimits = { rateLimit: number; maxOutstanding: number }

/**
 * The limits of an account: its own, else its group's, else those of every account.
 * @param groups of the catalogue; one that is not among them is unknown yet, and has none
 */
export function effectiveLimits(
  { accountLimits: own, group: name }: Standing,
  groups: ReadonlyMap<string, GroupLimits>,
  usual: Pick<Config, 'GATEWAY_RATE_LIMIT' | 'MAX_OUTSTANDING_CALLS'>,
): EffectiveLimits {
  const group = name === null ? undefined : groups.get(name)
  return {
    rateLimit: own.rateLimit ?? group?.rateLimit ?? usual.GATEWAY_RATE_LIMIT,
    maxOutstanding: own.maxOutstanding ?? group?.maxOutstanding ?? usual.MAX_OUTSTANDING_CALLS,
  }
}
