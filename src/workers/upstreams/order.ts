/** The order in which the upstreams of a model are tried, by its `routing` (docs/upstreams/README.md#routing). */
import type { Model, Route } from '../../shared/catalogue/catalogue.ts'

/** What orders routes. */
export type Ordering = {
  /** What a call is expected to cost at a route, in micro-dollars; null if unknown. */
  costOf: (route: Route) => number | null
  /** The median time to the first byte at a route, in ms; null if too little is known. */
  latencyOf: (route: Route) => number | null
  /** 0 to 1. */
  random: () => number
}

/**
 * The routes in the order in which a call tries them. By weight each comes first as often as its share of all weights;
 * one of weight 0 is only a fallback. By price an unknown cost comes last; by latency what is not measured comes first.
 */
export function orderedRoutes(
  { routes, routing = 'order' }: Pick<Model, 'routes' | 'routing'>,
  { costOf, latencyOf, random }: Ordering,
): readonly Route[] {
  switch (routing) {
    case 'order':
      return routes
    case 'weight':
      return byKey(routes, ({ weight = 1 }) => (weight === 0 ? Infinity : -Math.log(1 - random()) / weight))
    case 'price':
      return byKey(routes, (route) => costOf(route) ?? Infinity)
    case 'latency':
      return byKey(routes, (route) => latencyOf(route) ?? -1)
  }
}

/** Sorted, each key computed once; equal ones stay in their order. */
const byKey = (routes: readonly Route[], keyOf: (route: Route) => number): Route[] =>
  routes
    .map((route) => ({ route, key: keyOf(route) }))
    .toSorted((a, b) => (a.key === b.key ? 0 : a.key - b.key))
    .map(({ route }) => route)

/** How far back times count, in ms. */
const WINDOW_MS = 3_600_000

/** The most times that are remembered of a route. */
const MOST_TIMES = 500

/** Fewer times than these are no measure. */
const LEAST_TIMES = 20

/** How soon routes have answered lately, as this process saw it. */
export class Latencies {
  private readonly times = new Map<string, { at: number; ms: number }[]>()

  /** Notes the time to the first byte of an answer, in ms. @param at Unix ms */
  add(route: Route, ms: number, at: number): void {
    const name = nameOf(route)
    const known = this.times.get(name) ?? []
    known.push({ at, ms })
    if (known.length > MOST_TIMES) known.shift()
    this.times.set(name, known)
  }

  /** The median of the last hour, in ms; null of fewer than 20 answers. @param now Unix ms */
  medianOf(route: Route, now: number): number | null {
    const lately = (this.times.get(nameOf(route)) ?? []).filter(({ at }) => at > now - WINDOW_MS).map(({ ms }) => ms)
    return lately.length < LEAST_TIMES ? null : lately.toSorted((a, b) => a - b)[Math.floor(lately.length / 2)]!
  }
}

const nameOf = ({ upstream, model }: Route): string => JSON.stringify([upstream.name, model])
