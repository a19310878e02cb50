/**
 * A circuit around a provider: once it has failed to answer a few times in a row, it is not asked at all for a while.
 * Customers get an answer at once; workers have no circuit, and ask again later.
 */
import { BrokenCircuitError, circuitBreaker, CircuitState, ConsecutiveBreaker, handleWhen } from 'cockatiel'
import type { Provider } from './provider.ts'
import { ProviderUnavailable, wrapped } from './provider.ts'

/** When the circuit opens, and for how long. */
export type CircuitSettings = { failures: number; coolDownMs: number }

/** Opens after three failures in a row; after five seconds one request tests whether it may close. */
const CIRCUIT: CircuitSettings = { failures: 3, coolDownMs: 5000 }

/** The same provider; its verbs throw ProviderUnavailable at once while the circuit is open. */
export function withCircuit(provider: Provider, { failures, coolDownMs }: CircuitSettings = CIRCUIT): Provider {
  const breaker = circuitBreaker(
    handleWhen((error) => error instanceof ProviderUnavailable),
    { breaker: new ConsecutiveBreaker(failures), halfOpenAfter: coolDownMs },
  )
  return wrapped(provider, (_name, question) => async (...args) => {
    // The breaker would let others wait for the one request that tests.
    if (breaker.state === CircuitState.HalfOpen) throw new ProviderUnavailable('the circuit is being tested')
    try {
      return await breaker.execute(() => question(...args))
    } catch (error) {
      if (error instanceof BrokenCircuitError) throw new ProviderUnavailable('the circuit is open', { cause: error })
      throw error
    }
  })
}
