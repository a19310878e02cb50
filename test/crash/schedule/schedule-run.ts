import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { Account } from '../world/accounts.ts'
import type { Request } from '../world/clients.ts'
import type { World } from '../world/world.ts'

/** What one run of a schedule leaves to be checked. */
export type ScheduleRun = {
  db: Db
  name: string
  world: World
  accounts: Account[]
  requests: Request[]
  /** The price of each model when a request was made. */
  prices: Map<Request, World['prices']>
}

/** An error with the whole run that led to it. */
export function withHistory({ name, world }: ScheduleRun, error: unknown): Error {
  const message = error instanceof Error ? error.message : String(error)
  return new Error(`${name}: ${message}\nWhat happened:\n${world.turns.history.join('\n')}`, { cause: error })
}
