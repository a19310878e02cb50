/**
 * How the upstreams are doing, as this process sees them: a circuit breaker and a limit of requests in progress for
 * each. The breaker blocks nothing; `routing.ts` asks an upstream with an open circuit last.
 */
import { circuitBreaker, CircuitState as BreakerState, ConsecutiveBreaker, handleWhen } from 'cockatiel'
import type { CircuitBreakerPolicy } from 'cockatiel'
import type { Upstream } from '../../shared/catalogue/catalogue.ts'
import type { AccountId } from '../../shared/platform/ids.ts'
import { Places } from '../../shared/platform/places.ts'
import type { FailureKind } from './adapter.ts'
import { UpstreamError } from './adapter.ts'

/** An upstream at one moment, for metrics and logs. */
export type UpstreamHealth = {
  upstream: string
  state: 'closed' | 'half_open' | 'open'
  /** Requests in progress, and those that wait for `concurrency` to let them. */
  inFlight: number
  waiting: number
}

/** The account on whose behalf an upstream is asked, and the signal that ends the work. */
export type Caller = { account: AccountId; signal: AbortSignal }

/** How an upstream does, as this worker saw it. */
export type Health = {
  /**
   * Does one piece of work at an upstream within its `concurrency` and its account's share of that, and learns from how
   * it ends. Waits for its turn.
   * @throws what the work throws; UpstreamError `aborted` at the signal while it waits
   */
  during<T>(upstream: Upstream, caller: Caller, work: () => Promise<T>): Promise<T>
  /** Until when the upstream's circuit is open, in Unix ms; 0 where it is closed. A test that runs keeps it open. */
  openUntil: (upstream: string) => number
  /** Every upstream that this process has used. */
  snapshot(): UpstreamHealth[]
}

/** When a circuit opens, for how long, and how often a success is reported of an upstream that keeps working. */
export type BreakerSettings = { failures: number; coolDownMs: number; stillWorksMs: number }

/** Opens after five failures in a row; after ten seconds one call tests whether it may close. */
const BREAKER: BreakerSettings = { failures: 5, coolDownMs: 10_000, stillWorksMs: 60_000 }

/**
 * Failures that count against an upstream. A refusal or a rate limit shows that it works. One that delays calls until
 * their deadlines counts as failing: otherwise no other upstream would be asked.
 */
const TRIPS_BREAKER: ReadonlySet<FailureKind> = new Set(['not_sent', 'overloaded', 'unknown', 'late'])

const STATES = {
  [BreakerState.Closed]: 'closed',
  [BreakerState.HalfOpen]: 'half_open',
  [BreakerState.Open]: 'open',
  [BreakerState.Isolated]: 'open',
} as const

/**
 * The listener of circuits. `opened`: each that opens. `works`: the first success at an upstream in this process, and
 * the first after each opening; if it rejects, the next success is reported too. `stillWorks`: a success after those,
 * one in `stillWorksMs`: a process whose circuit is open may have died, and another knows.
 */
export type HealthListener = {
  opened: (upstream: string) => void
  works: (upstream: string) => Promise<void>
  stillWorks: (upstream: string) => void
}

const NOBODY: HealthListener = { opened: () => {}, works: () => Promise.resolve(), stillWorks: () => {} }

/**
 * The health of all upstreams, nothing known yet.
 * @param accountShare what one account may have of an upstream's `concurrency`
 */
export function createHealth(
  accountShare: number,
  settings: BreakerSettings = BREAKER,
  listener: HealthListener = NOBODY,
): Health {
  const circuits = new Map<string, CircuitState>()
  const circuitOf = ({ name }: Upstream): CircuitState => {
    const known = circuits.get(name) ?? new CircuitState(name, accountShare, settings, listener)
    circuits.set(name, known)
    return known
  }
  return {
    async during(upstream, { account, signal }, work) {
      const circuit = circuitOf(upstream)
      try {
        await circuit.places.acquire(account, upstream.concurrency ?? Infinity, signal)
      } catch (cause) {
        throw new UpstreamError('aborted', 'ended before its turn', { cause })
      }
      try {
        return await circuit.run(work)
      } finally {
        circuit.places.release(account)
      }
    },
    openUntil: (upstream) => circuits.get(upstream)?.openUntil() ?? 0,
    snapshot: () =>
      [...circuits].map(([upstream, { state, places }]) => ({
        upstream,
        state,
        inFlight: places.taken,
        waiting: places.waiting,
      })),
  }
}

/** What is known of one upstream. */
class CircuitState {
  /** Shared out by the catalogue's `concurrency` of the moment. */
  readonly places: Places
  readonly breaker: CircuitBreakerPolicy
  private readonly name: string
  private readonly settings: BreakerSettings
  private readonly listener: HealthListener
  private coolsUntil = 0
  private isKnownToWork = false
  private toldToWorkAt = 0

  constructor(name: string, accountShare: number, settings: BreakerSettings, listener: HealthListener) {
    const { failures, coolDownMs } = settings
    this.name = name
    this.settings = settings
    this.listener = listener
    this.places = new Places(accountShare)
    this.breaker = circuitBreaker(
      handleWhen((error) => error instanceof UpstreamError && TRIPS_BREAKER.has(error.kind)),
      { breaker: new ConsecutiveBreaker(failures), halfOpenAfter: coolDownMs },
    )
    this.breaker.onBreak(() => {
      this.coolsUntil = Date.now() + coolDownMs
      this.tellOpened()
    })
  }

  get state(): UpstreamHealth['state'] {
    return STATES[this.breaker.state]
  }

  openUntil(): number {
    const { state } = this.breaker
    if (state === BreakerState.HalfOpen) return Number.MAX_SAFE_INTEGER
    return state === BreakerState.Open && this.coolsUntil > Date.now() ? this.coolsUntil : 0
  }

  /** The breaker would refuse work while it is open and hold it while it tests: such work is done past it. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const result = await (this.openUntil() === 0 ? this.breaker.execute(work) : work())
    if (this.openUntil() === 0) this.tellWorks()
    return result
  }

  private tellOpened(): void {
    this.isKnownToWork = false
    this.listener.opened(this.name)
  }

  /** No work waits for it. */
  private tellWorks(): void {
    const wasKnown = this.isKnownToWork
    if (wasKnown && Date.now() - this.toldToWorkAt < this.settings.stillWorksMs) return
    this.toldToWorkAt = Date.now()
    this.isKnownToWork = true
    if (wasKnown) return this.listener.stillWorks(this.name)
    this.listener.works(this.name).catch(() => {
      this.isKnownToWork = false
    })
  }
}
