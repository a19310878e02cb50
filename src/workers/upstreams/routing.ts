/**
 * Which upstream of a model to try next, and when: the rule of docs/upstreams/README.md as a pure function. A second
 * submission of a picture or a video may be a second bill, so media go on only after what was certainly not accepted.
 */
import type { Route } from '../../shared/catalogue/catalogue.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import { KINDS } from '../../shared/terms/kinds.ts'
import type { UpstreamError } from './adapter.ts'
import { NOT_ACCEPTED } from './adapter.ts'

/** A try of this call that failed. `at` in Unix ms. */
export type FailedTry = { route: Route; error: UpstreamError; at: number }

/** All that decides the next step. */
export type RoutingState = {
  modality: Modality
  /** The model's configured routes, in their order. */
  routes: readonly Route[]
  /** This call's failed tries so far, oldest first. */
  failed: readonly FailedTry[]
  /** Until when an upstream's circuit is open, in Unix ms; 0 where it is closed. */
  openUntil: (upstream: string) => number
  /** Unix ms. */
  now: number
  /** The pause before the second try of one upstream that names none itself, in ms; it doubles. */
  backoffMs: number
  /** 0 to 1, so that many callers do not come back in the same moment. */
  random: () => number
}

/** What to do: try this route after `afterMs`, or give up with the last failure. */
export type NextAttempt = { is: 'try'; route: Route; afterMs: number } | { is: 'give_up' }

/** How often one upstream is tried for one call where it certainly accepted nothing. */
const MAX_TRIES = 3

/** The pause before the second try, in ms. */
export const BACKOFF_MS = 500

/**
 * The next step of a call. The routes are tried in their order, those with an open circuit last; then those that may be
 * tried again, whichever is ready first. A call whose every circuit is open is still tried: where the circuit closes
 * first. After the first chunk of a stream was sent nothing may be tried: do not ask then.
 */
export function nextAttempt(situation: RoutingState): NextAttempt {
  const { failed, openUntil } = situation
  const last = failed.at(-1)
  if (last && !mayTryAgain(situation, last.error)) return { is: 'give_up' }
  const routes = longEnough(situation)
  const untried = routes.filter((route) => !failed.some((one) => one.route === route))
  const fresh =
    untried.find((route) => openUntil(route.upstream.name) === 0) ??
    untried.toSorted((a, b) => openUntil(a.upstream.name) - openUntil(b.upstream.name))[0]
  if (fresh) return { is: 'try', route: fresh, afterMs: 0 }
  const again = routes.flatMap((route) => retryOf(situation, route)).toSorted((a, b) => a.afterMs - b.afterMs)[0]
  return again ?? { is: 'give_up' }
}

/**
 * Whether anything can be tried after a failure of this kind. What may have been accepted is sent again only where its
 * kind of call may be: to each further upstream once, or once more to the only one.
 */
function mayTryAgain({ modality, failed, routes }: RoutingState, { kind, fault }: UpstreamError): boolean {
  if (NOT_ACCEPTED.has(kind) || fault === 'context_length_exceeded') return true
  const unknown = failed.filter(({ error }) => error.kind === 'unknown').length
  return kind === 'unknown' && !KINDS[modality].isSentOnce && unknown < Math.max(routes.length, 2)
}

/** The routes that take more tokens than each that found the chat too long; all while none did. */
function longEnough({ routes, failed }: RoutingState): readonly Route[] {
  const tooShort = failed.filter(({ error }) => error.fault === 'context_length_exceeded')
  return routes.filter(({ contextLength = 0 }) =>
    tooShort.every(({ route }) => contextLength > (route.contextLength ?? Infinity)),
  )
}

/** The next try of a route that has failed before; none where it has had its share. */
function retryOf(
  { failed, routes, now, backoffMs, random }: RoutingState,
  route: Route,
): (NextAttempt & { is: 'try' })[] {
  const tries = failed.filter((one) => one.route === route)
  const last = tries.at(-1)!
  if (tries.some(({ error }) => error.kind === 'not_served')) return []
  const wasPerhapsAccepted = tries.some(({ error }) => error.kind === 'unknown')
  if (tries.length >= MAX_TRIES || (wasPerhapsAccepted && routes.length > 1)) return []
  const backoff = backoffMs * 2 ** (tries.length - 1) * (0.5 + random() / 2)
  const afterMs = Math.round(Math.max(0, last.at + (last.error.retryAfterMs ?? backoff) - now))
  return [{ is: 'try', route, afterMs }]
}
