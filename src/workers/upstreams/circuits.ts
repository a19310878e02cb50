/**
 * How the upstreams are doing, as this process sees them: a circuit breaker and a limit of requests in progress for
 * each. The breaker blocks nobody; it says to `routing.ts` whom to ask last.
 */
import { circuitBreaker, CircuitState as BreakerState, ConsecutiveBreaker, handleWhen } from 'cockatiel'
import type { CircuitBreakerPolicy } from 'cockatiel'
import type { Upstream } from '../../shared/catalogue/catalogue.ts'
import type { FailureKind } from './adapter.ts'
import { UpstreamError } from './adapter.ts'
import type { StopSignal } from '../stop.ts'

/** An upstream at one moment, for metrics and logs. */
export type UpstreamHealth = {
  upstream: string
  state: 'closed' | 'half_open' | 'open'
  /** Requests in progress, and those that wait for `concurrency` to let them. */
  inFlight: number
  waiting: number
}

/** How an upstream does, as this worker saw it. */
export type Health = {
  /**
   * Does one piece of work at an upstream within its `concurrency`, and learns from how it ends. Waits for its turn.
   * @throws whatever the work throws; UpstreamError `aborted` at the signal while it waits
   */
  during<T>(upstream: Upstream, signal: StopSignal, work: () => Promise<T>): Promise<T>
  /** Until when the upstream's circuit is open, in Unix ms; 0 where it is closed. A test that runs keeps it open. */
  openUntil(upstream: string): number
  /** Every upstream that this process has used. */
  snapshot(): UpstreamHealth[]
}

/** When a circuit opens, and for how long. */
export type BreakerSettings = { failures: number; coolDownMs: number }

/** Opens after five failures in a row; after ten seconds one call tests whether it may close. */
export const BREAKER: BreakerSettings = { failures: 5, coolDownMs: 10_000 }

/**
 * What says that an upstream is ill. A refusal or a rate limit says that it is well. One that keeps calls waiting until
 * their deadlines is as ill as one that fails: nobody else would ever be asked.
 */
const TRIPS_BREAKER: ReadonlySet<FailureKind> = new Set(['not_sent', 'overloaded', 'unknown', 'late'])

const STATES = {
  [BreakerState.Closed]: 'closed',
  [BreakerState.HalfOpen]: 'half_open',
  [BreakerState.Open]: 'open',
  [BreakerState.Isolated]: 'open',
} as const

/** The health of all upstreams, nothing known yet. @param opened is called for each circuit that opens. */
export function createHealth(
  settings: BreakerSettings = BREAKER,
  opened: (upstream: string) => void = () => {},
): Health {
  const circuits = new Map<string, CircuitState>()
  return {
    async during(upstream, signal, work) {
      let circuit = circuits.get(upstream.name)
      if (!circuit) circuits.set(upstream.name, (circuit = new CircuitState(settings, () => opened(upstream.name))))
      await circuit.semaphore.acquire(upstream.concurrency ?? Infinity, signal)
      try {
        return await circuit.run(work)
      } finally {
        circuit.semaphore.release()
      }
    },
    openUntil: (upstream) => circuits.get(upstream)?.openUntil() ?? 0,
    snapshot: () =>
      [...circuits].map(([upstream, { breaker, semaphore }]) => ({
        upstream,
        state: STATES[breaker.state],
        inFlight: semaphore.taken,
        waiting: semaphore.waiting,
      })),
  }
}

/** What is known of one upstream. */
class CircuitState {
  readonly semaphore = new Semaphore()
  readonly breaker: CircuitBreakerPolicy
  private coolsUntil = 0

  constructor({ failures, coolDownMs }: BreakerSettings, opened: () => void) {
    this.breaker = circuitBreaker(
      handleWhen((error) => error instanceof UpstreamError && TRIPS_BREAKER.has(error.kind)),
      {
        breaker: new ConsecutiveBreaker(failures),
        halfOpenAfter: coolDownMs,
      },
    )
    this.breaker.onBreak(() => {
      this.coolsUntil = Date.now() + coolDownMs
      opened()
    })
  }

  openUntil(): number {
    const { state } = this.breaker
    if (state === BreakerState.HalfOpen) return Number.MAX_SAFE_INTEGER
    return state === BreakerState.Open && this.coolsUntil > Date.now() ? this.coolsUntil : 0
  }

  /** The breaker would refuse work while it is open and hold it while it tests: such work is done past it. */
  run<T>(work: () => Promise<T>): Promise<T> {
    return this.openUntil() === 0 ? this.breaker.execute(work) : work()
  }
}

/** A limit of what goes on at once; who comes first goes first. The limit is the catalogue's of the moment. */
class Semaphore {
  taken = 0
  private readonly queue: (() => void)[] = []

  get waiting(): number {
    return this.queue.length
  }

  acquire(limit: number, signal: StopSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(ended(signal))
    if (this.taken < limit) {
      this.taken += 1
      return Promise.resolve()
    }
    return new Promise((resolve, reject) => {
      const leave = () => {
        this.queue.splice(this.queue.indexOf(enter), 1)
        reject(ended(signal))
      }
      const enter = () => {
        signal.removeEventListener('abort', leave)
        resolve()
      }
      signal.addEventListener('abort', leave, { once: true })
      this.queue.push(enter)
    })
  }

  /** Hands the turn to the next in the queue; nobody else can take it in between. */
  release(): void {
    const next = this.queue.shift()
    if (next) next()
    else this.taken -= 1
  }
}

const ended = (signal: StopSignal): UpstreamError =>
  new UpstreamError('aborted', 'ended before its turn', { cause: signal.reason })
