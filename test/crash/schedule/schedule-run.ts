import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { Account } from '../simulation/accounts.ts'
import type { Request } from '../simulation/clients.ts'
import type { Prices } from '../simulation/prices.ts'
import type { Simulation } from '../simulation/simulation.ts'

/** What one run of a schedule leaves to be checked. */
export type ScheduleRun = {
  db: Db
  name: string
  simulation: Simulation
  accounts: Account[]
  requests: Request[]
  /** The price of each model for its account when a request was made. */
  prices: Map<Request, Prices>
}

/** An error with the whole run that led to it. */
export function withHistory({ name, simulation }: ScheduleRun, error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error)
  return new Error(`${name}: ${message}\nWhat happened:\n${simulation.turns.history.join('\n')}`, { cause: error })
}
