/**
 * The row as the fallback of a lost reply (docs/architecture.md#the-reply-channel).
 */
import type { Db } from '../../shared/infra/db.ts'
import { gatewayError } from '../../shared/errors.ts'
import type { Calls } from '../../shared/calls/calls.ts'
import type { ReadAnswer } from '../../shared/calls/replies.ts'
import { readState } from '../../shared/calls/records.ts'

/**
 * Reads a call's answer from its row. Past its deadline the waiting request itself refunds the call, by the same
 * guarded verb as every other process, so it gets an answer even if no worker is left.
 */
export function readAnswer({ db, calls }: { db: Db; calls: Calls }): ReadAnswer {
  return async (callId, overdue) => {
    if (overdue) {
      const ended = await calls.refund(
        callId,
        gatewayError('upstream_failed', 'The call was not finished in time. The credits charged for it were refunded.'),
        { overdue: true },
        0,
      )
      if (ended) return ended.answer
    }
    const state = await readState(db, callId)
    return state?.state === 'ended' ? state.answer : null
  }
}
