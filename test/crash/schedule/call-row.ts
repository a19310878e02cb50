import type { Modality } from '../../../src/shared/terms/kinds.ts'
import type { CallStatus } from '../../../src/shared/terms/lifecycle.ts'
import type { Dialect } from '../../../src/shared/chat/dialect.ts'
import type { ErrorCode } from '../../../src/shared/platform/errors.ts'
import type { AccountId, CallId } from '../../../src/shared/platform/ids.ts'

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
