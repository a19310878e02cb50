/**
 * The limits of who sends a request.
 */
import type { Standing } from '../../shared/identity/account-limits.ts'
import type { EffectiveLimits } from '../../shared/identity/effective-limits.ts'
import { effectiveLimits } from '../../shared/identity/effective-limits.ts'
import type { WebDeps } from '../deps.ts'

/** The limits of an account, by what it has of its own and by its group. */
export const limitsOf = (
  { catalogue, config }: Pick<WebDeps, 'catalogue' | 'config'>,
  standing: Standing,
): EffectiveLimits => effectiveLimits(standing, catalogue.current().groups, config)
