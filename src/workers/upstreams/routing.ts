/**
 * Which upstream of a model to try next, with which of its keys, and when: the rule of docs/upstreams/README.md as a
 * pure function. A second submission of a picture or a video may be a second bill, so media go on only after what was
 * certainly not accepted.
 */
import type { PoolKey, Route } from '../../shared/catalogue/catalogue.ts'
import type { Modality } from '../../shared/terms/kinds.ts'
import { KINDS } from '../../shared/terms/kinds.ts'
import type { UpstreamError } from './adapter.ts'
import { NOT_ACCEPTED } from './adapter.ts'

/** A route and one key of its upstream. */
export type Target = { route: Route; key: PoolKey }

/** A try of this call that failed. `at` in Unix ms. */
export type FailedTry = Target & { error: UpstreamError; at: number }

/** All that decides the next step. */
export type RoutingState = {
  modality: Modality
  /** What may be tried, the routes in their order: a list that is made once for a call. */
  targets: readonly Target[]
  /** This call's failed tries so far, oldest first. */
  failed: readonly FailedTry[]
  /** Until when an upstream's circuit is open, in Unix ms; 0 where it is closed. */
  openUntil: (upstream: string) => number
  /** From when on a key takes requests, in Unix ms; Infinity if never by itself. */
  readyAt: (target: Target) => number
  /** Chooses among keys of one route that are ready. */
  choose: (targets: readonly Target[]) => Target
  /** What the session of the call was served by before: it is tried first where that is possible. */
  preferred?: Target | undefined
  /** Unix ms. */
  now: number
  /** The pause before the second try of one upstream that names none itself, in ms; it doubles. */
  backoffMs: number
  /** The longest pause before a retry, in ms: beyond it the call gives up. Infinity if absent. */
  patienceMs?: number | undefined
  /** 0 to 1, so that many callers do not come back in the same moment. */
  random: () => number
}

/**
 * What to do: try this target after `afterMs`, or give up with the last failure. `isAgain`: with the only key, whose
 * cool-down this call has caused itself and does not wait for.
 */
export type NextAttempt = (Target & { is: 'try'; afterMs: number; isAgain?: true }) | { is: 'give_up' }

/** How often one upstream is tried for one call where it certainly accepted nothing. */
const MAX_TRIES = 3

/** How long a call waits for a key to take requests again, in ms. */
export const MAX_COOLING_MS = 2000

/** The pause before the second try, in ms. */
export const BACKOFF_MS = 500

/**
 * The next step of a call. The routes are tried in their order, those with an open circuit last; then those that may be
 * tried again, whichever is ready first. A call whose every circuit is open is still tried: where the circuit closes
 * first. A key that cools down is not asked; where all of a route do, the call waits for the first up to
 * MAX_COOLING_MS. After the first chunk of a stream was sent nothing may be tried: do not ask then.
 */
export function nextAttempt(situation: RoutingState): NextAttempt {
  const { failed, openUntil } = situation
  const last = failed.at(-1)
  if (last && !mayTryAgain(situation, last.error)) return { is: 'give_up' }
  const routes = longEnough(situation)
  const byCircuit = routes.toSorted((a, b) => openUntil(a.upstream.name) - openUntil(b.upstream.name))
  const first = preferredOf(situation)
  if (first) return { is: 'try', ...first, afterMs: 0 }
  for (const route of byCircuit) {
    const step = freshOf(situation, route)
    if (step) return step
  }
  const again = routes.flatMap((route) => retryOf(situation, route)).toSorted((a, b) => a.afterMs - b.afterMs)[0]
  return again && again.afterMs <= (situation.patienceMs ?? Infinity) ? again : { is: 'give_up' }
}

/** The preferred target, if nothing has failed yet and it is as ready as any other; also one that gets nothing new. */
function preferredOf({ preferred, failed, openUntil, readyAt, now }: RoutingState) {
  const isPossible =
    preferred && failed.length === 0 && openUntil(preferred.route.upstream.name) === 0 && readyAt(preferred) <= now
  return isPossible ? preferred : null
}

/**
 * Whether anything can be tried after a failure of this kind. What may have been accepted is sent again only where its
 * kind of call may be: to each further upstream once, or once more to the only one.
 */
function mayTryAgain({ modality, failed, targets }: RoutingState, { kind, fault }: UpstreamError): boolean {
  if (NOT_ACCEPTED.has(kind) || fault === 'context_length_exceeded') return true
  const unknown = failed.filter(({ error }) => error.kind === 'unknown').length
  return kind === 'unknown' && !KINDS[modality].isSentOnce && unknown < Math.max(routesOf(targets).length, 2)
}

const routesOf = (targets: readonly Target[]): Route[] => [...new Set(targets.map(({ route }) => route))]

/** The routes that take more tokens than each that found the chat too long; all while none did. */
function longEnough({ targets, failed }: RoutingState): Route[] {
  const tooShort = failed.filter(({ error }) => error.fault === 'context_length_exceeded')
  return routesOf(targets).filter(({ contextLength = 0 }) =>
    tooShort.every(({ route }) => contextLength > (route.contextLength ?? Infinity)),
  )
}

/** The tries of a route, and its keys that were not asked. */
const partsOf = ({ targets, failed }: RoutingState, route: Route) => {
  const tries = failed.filter((one) => one.route === route)
  const own = targets.filter((one) => one.route === route)
  return { tries, own, unasked: own.filter(({ key }) => !tries.some((one) => one.key === key)) }
}

/** The first try of a route, or the next of its keys where only keys have failed; null if there is none. */
function freshOf(situation: RoutingState, route: Route): NextAttempt | null {
  const { tries, unasked } = partsOf(situation, route)
  // What is wrong with the upstream itself is so for each key.
  if (tries.some(({ error }) => error.keyFault === null)) return null
  return soonest(situation, unasked, situation.now)
}

/** A try of one of these keys from `earliest` on; null if none is ready soon enough after that. */
function soonest({ readyAt, choose, now }: RoutingState, targets: readonly Target[], earliest: number) {
  const first = Math.max(earliest, Math.min(...targets.map(readyAt)))
  if (targets.length === 0 || first - earliest > MAX_COOLING_MS) return null
  const ready = targets.filter((one) => readyAt(one) <= first)
  return { is: 'try', ...choose(ready), afterMs: Math.ceil(first - now) } as const
}

/** The next try of a route that has failed before; none where it has had its share. */
function retryOf(situation: RoutingState, route: Route): (NextAttempt & { is: 'try' })[] {
  const { now, backoffMs, random, targets, readyAt } = situation
  const { tries, own, unasked } = partsOf(situation, route)
  const last = tries.at(-1)
  if (!last || tries.some(({ error }) => error.kind === 'not_served' && error.keyFault === null)) return []
  const wasPerhapsAccepted = tries.some(({ error }) => error.kind === 'unknown')
  if (tries.length >= MAX_TRIES || (wasPerhapsAccepted && routesOf(targets).length > 1)) return []
  const backoff = backoffMs * 2 ** (tries.length - 1) * (0.5 + random() / 2)
  const from = Math.max(now, last.at + Math.round(last.error.retryAfterMs ?? backoff))
  const other = soonest(situation, unasked, from)
  if (other) return [other]
  // No key is asked twice but the only one, which waits for a limit that this very call has met.
  if (tries.some(({ key }) => key !== last.key) || (own.length > 1 && last.error.keyFault !== null)) return []
  if (last.error.kind === 'not_served' || (last.error.keyFault === 'limited' && from - now > MAX_COOLING_MS)) return []
  if (readyAt(last) === Infinity) return []
  return [{ is: 'try', route, key: last.key, isAgain: true, afterMs: from - now }]
}
