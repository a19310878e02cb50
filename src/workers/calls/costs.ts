/**
 * What a call costs its operator, in whole micro-dollars, rounded up. Null is unknown, and a sum with something unknown
 * in it is unknown too: it never counts as zero (docs/pricing.md#what-a-call-costs-you).
 */
import type { MediaShape } from '../../shared/terms/media-rows.ts'
import type { Tokens } from '../../shared/terms/pricing.ts'
import { chatCost, mediaMicroUsd, searchCost, speechCost } from '../../shared/terms/pricing.ts'
import type { Route } from '../../shared/catalogue/catalogue.ts'
import type { CallRequest } from '../../shared/requests/requests.ts'
import type { UpstreamUsage } from '../upstreams/adapter.ts'
import { UpstreamError } from '../upstreams/adapter.ts'
import { trustedUsage } from '../upstreams/trusted-usage.ts'
import type { UsageBounds } from '../upstreams/trusted-usage.ts'

/** What the tries of a call have cost together. */
export class Spending {
  private sum: number | null

  /** @param sum what earlier tries have cost */
  constructor(sum: number | null) {
    this.sum = sum
  }

  /** Adds what a further try has cost. */
  add(cost: number | null): void {
    this.sum = this.sum === null || cost === null ? null : this.sum + cost
  }

  /** Replaces the sum by what is known in the end: only the last try of a media call can cost anything. */
  is(cost: number | null): void {
    this.sum = cost
  }

  /** Everything so far. */
  get total(): number | null {
    return this.sum
  }
}

/** What the tokens of a call cost at a route: what its upstream reports, else by the catalogue. */
export function chatMicroUsd(
  { cost }: Pick<Route, 'cost'>,
  tokens: Tokens,
  usage: UpstreamUsage | null,
): number | null {
  if (usage?.costMicroUsd !== undefined) return usage.costMicroUsd
  return cost && 'perTokens' in cost ? chatCost(cost, tokens) : null
}

/** What a video, a number of pictures, or a moderation (which has no shape) costs at a route, by the catalogue. */
export function shapeMicroUsd({ cost }: Pick<Route, 'cost'>, shape: MediaShape, pictures = 1): number | null {
  if (!cost || 'perTokens' in cost || 'perSearch' in cost || 'perCharacter' in cost) return null
  const each = mediaMicroUsd(cost, shape)
  return each === null ? null : each * pictures
}

/** What a number of searches costs at a route, by the catalogue. */
export const searchMicroUsd = ({ cost }: Pick<Route, 'cost'>, searches: number): number | null =>
  cost && 'perSearch' in cost ? searchCost(cost, searches) : null

/** What a number of characters of speech costs at a route, by the catalogue. */
export const speechMicroUsd = ({ cost }: Pick<Route, 'cost'>, characters: number): number | null =>
  cost && 'perCharacter' in cost ? speechCost(cost, characters) : null

/** Characters, searches and the like are the same at every route: any number shows which costs less. */
const ANY_NUMBER = 1000

/** What a call is expected to cost at a route, by its estimate and the catalogue; null if that is unknown. */
export function expectedMicroUsd(
  route: Pick<Route, 'cost'>,
  estimate: Tokens,
  request: CallRequest | null,
): number | null {
  const { cost } = route
  if (!cost) return null
  if ('perTokens' in cost) return chatCost(cost, estimate)
  return (
    searchMicroUsd(route, ANY_NUMBER) ??
    speechMicroUsd(route, ANY_NUMBER) ??
    shapeMicroUsd(route, (request ?? {}) as MediaShape)
  )
}

/**
 * HTTP statuses that may come from something between us and the upstream, which gives up while the upstream goes on:
 * those of any proxy, and Cloudflare's 520 to 530.
 */
const OF_A_GATEWAY = new Set([408, 499, 502, 504, 520, 521, 522, 523, 524, 525, 526, 527, 528, 529, 530])

/**
 * What a try that failed has cost. An upstream bills what it reported, as far as that can be true, and nothing for what
 * it refused or answered with an error of its own. The cost of what was lost or abandoned on the way is unknown.
 */
export function failureMicroUsd(route: Pick<Route, 'cost'>, error: unknown, bounds: UsageBounds): number | null {
  if (!(error instanceof UpstreamError)) return null
  if (error.usage) return chatMicroUsd(route, trustedUsage(error.usage, { bounds, counted: 0 }).tokens, error.usage)
  // Anthropic itself sends 529, in its own words.
  const isOwn = error.kind === 'overloaded' && error.type !== null
  if (error.status !== null && OF_A_GATEWAY.has(error.status) && !isOwn) return null
  switch (error.kind) {
    case 'not_sent':
    case 'rate_limited':
    case 'overloaded':
    case 'not_served':
    case 'rejected':
      return 0
    case 'unknown':
      return error.status === null ? null : 0
    case 'late':
    case 'aborted':
      return null
  }
}
