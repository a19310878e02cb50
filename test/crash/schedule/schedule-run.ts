import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { Account } from '../simulation/accounts.ts'
import type { Request } from '../simulation/clients.ts'
import type { Prices } from '../simulation/prices.ts'
import type { Simulation } from '../simulation/simulation.ts'
import type { Played } from '../simulator.ts'

/** What one run of a schedule leaves to be checked. */
export type ScheduleRun = Played & {
  db: Db
  simulation: Simulation
  accounts: Account[]
  requests: Request[]
  /** The price of each model for its account when a request was made. */
  prices: Map<Request, Prices>
}
