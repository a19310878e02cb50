import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import type { AccountId, CallId } from '../../../src/shared/platform/ids.ts'
import type { Db } from '../../../src/shared/platform/postgres/db.ts'
import type { Modality } from '../../../src/shared/terms/kinds.ts'
import type { CallStatus } from '../../../src/shared/terms/lifecycle.ts'
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

/** What is checked of the row of a call. */
export type CallRow = {
  id: CallId
  account_id: AccountId
  modality: Modality
  model: string
  /** Its first model, if it was given to another one. */
  requested: string | null
  status: CallStatus
  credits: number
  credits_precharged: number
  credits_uncollected: number
  estimated_input_tokens: number | null
  estimated_output_tokens: number | null
  deadline_at: Date | null
  finished_at: Date | null
  balance_after: number
  http_status: number
  error_type: ErrorCode | null
  dialect: Dialect | null
  attempts: number
  started_at: Date | null
  deleted_at: Date | null
}
