/**
 * The limits of who sends a request.
 */
import type { EffectiveLimits } from '../../shared/accounts/effective-limits.ts'
import { effectiveLimits } from '../../shared/accounts/effective-limits.ts'
import type { WebDeps } from '../deps.ts'

/** The limits of an account, by the group that it is in (null: none). */
export const limitsOf = (
  { catalogue, config }: Pick<WebDeps, 'catalogue' | 'config'>,
  { group }: { group: string | null },
): EffectiveLimits => effectiveLimits(group === null ? null : (catalogue.current().groups.get(group) ?? null), config)
