import type { Db } from '../../../src/shared/infra/db.ts'
import type { Account } from '../world/accounts.ts'
import type { Request } from '../world/clients.ts'
import type { World } from '../world/world.ts'

/** What one run of a schedule leaves to be judged. */
export type Story = {
  db: Db
  world: World
  accounts: Account[]
  requests: Request[]
  /** The price of each model when a request was made. */
  prices: Map<Request, World['prices']>
}
