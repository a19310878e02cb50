/**
 * The keys of the upstreams, as this process sees them: which of them take requests, how many each has, and which one
 * is next (docs/upstreams/keys.md). What is learned here is passed on to the other workers by the listener; what they
 * have learned comes by `take`.
 */
import type { PoolKey, Route } from '../../shared/catalogue/catalogue.ts'
import type { KeyRef, KeyState, KeyStates, Standing } from '../../shared/operators/key-states.ts'
import { nameOfKey, standingOf } from '../../shared/operators/key-states.ts'
import { Places } from '../../shared/platform/places.ts'
import type { Caller } from './circuits.ts'
import { UpstreamError } from './adapter.ts'
import { isOfWholeKey, stateAfter } from './key-health.ts'
import type { Target } from './routing.ts'

/**
 * The listener of keys. `failed`: a key, or a key for a model, that is not asked for now. `tested`: one that is not
 * asked until the call that tests it has ended. `works`: a success of keys that had failed, which began at `before`
 * (Unix ms). `asked`: each request that has ended.
 */
export type KeyListener = {
  failed: (ref: KeyRef, state: KeyState) => void
  tested: (ref: KeyRef, state: KeyState) => void
  works: (names: readonly string[], before: number) => void
  asked: (ref: KeyRef, outcome: string) => void
}

const NOBODY: KeyListener = { failed: () => {}, tested: () => {}, works: () => {}, asked: () => {} }

/** How long the one call that tests a key may take until another one does, in ms. */
const PROBE_MS = 60_000

/** The keys of all upstreams. */
export class Pools {
  private states = new Map<string, KeyState>()
  /** When a state was last changed here, by `performance.now`: what was read before that does not count. */
  private readonly changes = new Map<string, number>()
  private disabled: ReadonlySet<string> = new Set()
  private readonly places = new Map<string, Places>()
  /** How far each key is behind its share of requests: smooth weighted round robin. */
  private readonly credits = new Map<string, number>()
  private readonly share: number
  private readonly listener: KeyListener

  /** @param accountShare what one account may have of the `concurrency` of a key */
  constructor(accountShare: number, listener: KeyListener = NOBODY) {
    this.share = accountShare
    this.listener = listener
  }

  /**
   * Takes what all workers know, but for what was changed here since it was read.
   * @param disabled the keys that operators have switched off, by `nameOfKey`
   * @param readAt when the reading began, by `performance.now`
   */
  take(states: KeyStates, disabled: ReadonlySet<string>, readAt: number): void {
    const taken = new Map(states)
    for (const [name, at] of this.changes) {
      const own = this.states.get(name)
      if (at < readAt) this.changes.delete(name)
      else if (own) taken.set(name, own)
      else taken.delete(name)
    }
    this.states = taken
    this.disabled = disabled
  }

  /** From when on a key takes requests for a model, in Unix ms: 0 if it is well, Infinity if it is switched off. */
  readyAt = ({ route: { upstream, model }, key }: Target): number => {
    if (this.states.size === 0 && this.disabled.size === 0) return 0
    const [whole, own] = namesOf({ upstream: upstream.name, key: key.name, model })
    if (this.disabled.has(whole)) return Infinity
    return Math.max(this.states.get(whole)?.until ?? 0, this.states.get(own)?.until ?? 0)
  }

  /** Chooses among ready keys of one route: by weight and free places, each as often as its share of both. */
  choose = (targets: readonly Target[]): Target => {
    if (targets.length === 1) return targets[0]!
    const shares = targets.map((target) => ({ target, name: nameOf(target), share: this.shareOf(target) }))
    const sum = shares.reduce((total, { share }) => total + share, 0)
    for (const { name, share } of shares) this.credits.set(name, (this.credits.get(name) ?? 0) + share)
    const next = shares.reduce((best, one) => (this.creditOf(one.name) > this.creditOf(best.name) ? one : best))
    this.credits.set(next.name, this.creditOf(next.name) - sum)
    return next.target
  }

  /**
   * Asks with a key within its `concurrency`, and learns from how that ends. Waits for its turn. `isAgain`: although
   * the key cools down, unless it is switched off.
   * @param work gets what is to be called once the answer has begun: that the key works is known from then on
   * @returns null if the key takes no requests by the time of its turn: choose again
   * @throws what the work throws; UpstreamError `aborted` at the signal while it waits
   */
  async during<T>(
    target: Target & { isAgain?: true },
    caller: Caller,
    work: (begun: () => void) => Promise<T>,
  ): Promise<{ done: T } | null> {
    const places = this.placesOf(target)
    try {
      await places.acquire(caller.account, target.key.concurrency ?? Infinity, caller.signal)
    } catch (cause) {
      throw new UpstreamError('aborted', 'ended before its turn', { cause })
    }
    try {
      const isReady = this.readyAt(target) <= (target.isAgain ? Number.MAX_SAFE_INTEGER : Date.now())
      return isReady ? { done: await this.ask(target, work) } : null
    } finally {
      places.release(caller.account)
    }
  }

  /** How a key stands now, for metrics. */
  standingOf = (ref: KeyRef): Standing => standingOf(ref, this.states, this.disabled, Date.now()).state

  private async ask<T>(target: Target, work: (begun: () => void) => Promise<T>): Promise<T> {
    const startedAt = Date.now()
    const ref = refOf(target)
    this.claimTest(target, startedAt)
    const begun = (): void => this.works(ref, startedAt)
    try {
      const done = await work(begun)
      begun()
      this.listener.asked(ref, 'ok')
      return done
    } catch (error) {
      this.listener.asked(ref, error instanceof UpstreamError ? error.kind : 'defect')
      if (error instanceof UpstreamError) this.learn(ref, error)
      throw error
    }
  }

  /** A key that was off is tested by one call: until that has ended, no other takes it. */
  private claimTest(target: Target, now: number): void {
    const ref = { upstream: target.route.upstream.name, key: target.key.name }
    const state = this.states.get(nameOfKey(ref))
    if (!state) return
    const tested = { ...state, until: now + PROBE_MS, isTested: true as const }
    this.change(nameOfKey(ref), tested)
    this.listener.tested(ref, tested)
  }

  private learn(ref: Required<KeyRef>, { keyFault, resetMs }: UpstreamError): void {
    if (keyFault === null) return
    const now = Date.now()
    const scope = isOfWholeKey(keyFault) ? { upstream: ref.upstream, key: ref.key } : ref
    const state = stateAfter(this.states.get(nameOfKey(scope)), { keyFault, resetMs }, now)
    this.change(nameOfKey(scope), state)
    this.listener.failed(scope, state)
  }

  private change(name: string, state: KeyState | null): void {
    this.changes.set(name, performance.now())
    if (state) this.states.set(name, state)
    else this.states.delete(name)
  }

  private works(ref: Required<KeyRef>, startedAt: number): void {
    if (this.states.size === 0) return
    const over = namesOf(ref).filter((name) => (this.states.get(name)?.since ?? Infinity) <= startedAt)
    for (const name of over) this.change(name, null)
    if (over.length > 0) this.listener.works(over, startedAt)
  }

  private shareOf(target: Target): number {
    const { weight, concurrency } = target.key
    if (concurrency === undefined) return weight
    const free = Math.max(0, concurrency - (this.places.get(nameOf(target))?.taken ?? 0))
    // A key without a free place still counts a little: where all are busy, the call waits for one of them.
    return weight * Math.max(free / concurrency, 0.001)
  }

  private creditOf(name: string): number {
    return this.credits.get(name) ?? 0
  }

  private placesOf(target: Target): Places {
    const name = nameOf(target)
    const places = this.places.get(name) ?? new Places(this.share)
    this.places.set(name, places)
    return places
  }
}

const refOf = ({ route: { upstream, model }, key }: Target) => ({ upstream: upstream.name, key: key.name, model })

const nameOf = ({ route: { upstream }, key }: Target): string => nameOfKey({ upstream: upstream.name, key: key.name })

/** The names of a key, and of that key for a model. */
const namesOf = ({ upstream, key, model }: KeyRef): [string, string] => [
  nameOfKey({ upstream, key }),
  nameOfKey({ upstream, key, model }),
]

/** The targets of routes: each key that takes new requests, the routes in their order. Made once for a call. */
export const targetsOf = (routes: readonly Route[], keysOf: (route: Route) => readonly PoolKey[]): Target[] =>
  routes.flatMap((route) => keysOf(route).flatMap((key) => (key.weight > 0 ? [{ route, key }] : [])))
