/**
 * What is left of a limit, and the refusal where nothing is.
 */
import { ApiError } from '../../shared/platform/errors.ts'
import type { Standing, EffectiveLimits, TokenAllowance } from '../../shared/identity/account-limits.ts'
import { effectiveLimits, tightest } from '../../shared/identity/account-limits.ts'
import type { CatalogueHolder } from '../../shared/catalogue/holder.ts'

/** The state of a counter after this request. Times in whole seconds. */
export type Allowance = { limit: number; remaining: number; resetSeconds: number }

/** `points`: events of somebody in a window, where that is not the same for all. `count`: 1 if absent. */
export type Taking = { points?: number; count?: number }

/** One limit. `take` counts one event of `subject`, or `count` of them. */
export type Limit = {
  /** @throws ApiError rate_limited, with `Retry-After`. */
  take: (subject: string, taking?: Taking) => Promise<Allowance>
}

/** A limit whose `subject` is a client's address: it is counted in all networks that the address is in. */
export type NetworkLimit = Limit & {
  /** Counts nothing. @throws ApiError rate_limited, with `Retry-After`, if nothing is left. */
  refuseSpent: (subject: string) => Promise<void>
}

/** The refusal of a request beyond its limit. */
export const spent = (allowance: Allowance): ApiError =>
  new ApiError('rate_limited', { retryAfterSeconds: allowance.resetSeconds, headers: allowanceHeaders(allowance) })

/** Milliseconds as whole seconds, at least one. */
export const secondsOf = (ms: number): number => Math.max(1, Math.ceil(ms / 1000))

/** OpenAI's names of the headers of tokens. */
export const TOKEN_HEADERS = [
  'X-RateLimit-Limit-Tokens',
  'X-RateLimit-Remaining-Tokens',
  'X-RateLimit-Reset-Tokens',
] as const

/** What is left of the tokens of a minute, for the client: of the tightest limit. Empty without a limit. */
export function tokenHeaders(allowances: readonly TokenAllowance[]): Record<string, string> {
  const least = tightest(allowances)
  if (!least) return {}
  const [limit, remaining, reset] = TOKEN_HEADERS
  return {
    [limit]: String(least.limit),
    [remaining]: String(least.remaining),
    [reset]: `${least.resetSeconds}s`,
  }
}

/** OpenAI's names of the headers below. */
export const ALLOWANCE_HEADERS = [
  'X-RateLimit-Limit-Requests',
  'X-RateLimit-Remaining-Requests',
  'X-RateLimit-Reset-Requests',
] as const

/** The allowance, for the client. */
export const allowanceHeaders = (allowance: Allowance): Record<(typeof ALLOWANCE_HEADERS)[number], string> => ({
  'X-RateLimit-Limit-Requests': String(allowance.limit),
  'X-RateLimit-Remaining-Requests': String(allowance.remaining),
  'X-RateLimit-Reset-Requests': `${allowance.resetSeconds}s`,
})

/** The limits of an account, by what it has of its own and by its group. */
export const limitsOf = (
  { catalogue, config }: { catalogue: Pick<CatalogueHolder, 'current'>; config: Parameters<typeof effectiveLimits>[2] },
  standing: Standing,
): EffectiveLimits => effectiveLimits(standing, catalogue.current().groups, config)
