/**
 * The row as the fallback of a lost reply (docs/architecture.md#the-reply-channel).
 */
import type { Db } from '../../../shared/platform/postgres/db.ts'
import { gatewayError } from '../../../shared/platform/errors.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import type { Queues } from '../../../shared/queues.ts'
import { EXPIRED } from '../../../shared/calls/stored-answers.ts'
import type { Calls } from '../../../shared/calls/calls.ts'
import type { ReadAnswer } from '../../../shared/replies/reply-channel.ts'
import { mayHaveDelivered } from '../../../shared/terms/lifecycle.ts'
import { readState } from '../../../shared/reports/call-records.ts'

/** What reading needs. `address`: this process's own. */
type ReadDeps = { db: Db; calls: Calls; queues: Pick<Queues, 'isLeftToReader'>; address: string }

/**
 * Reads a call's answer from its row. Past its deadline the waiting request itself refunds the call, by the same
 * guarded verb as every other process, so it gets an answer even if no worker is left. What another process may have
 * delivered of it, that one settles.
 */
export function readAnswer({ db, calls, queues, address }: ReadDeps): ReadAnswer {
  return async (callId, overdue) => {
    if (overdue && !(await isLeftToAnother(db, queues, callId, address))) {
      const ended = await calls.refund(
        callId,
        gatewayError('upstream_failed', 'The call was not finished in time. The credits charged for it were refunded.'),
        { overdue: true },
        0,
      )
      if (ended) return ended.answer
    }
    const state = await readState(db, callId)
    if (state?.state === 'expired') return EXPIRED
    return state?.state === 'ended' || state?.state === 'passing' ? state.answer : null
  }
}

async function isLeftToAnother(db: Db, queues: ReadDeps['queues'], callId: CallId, address: string): Promise<boolean> {
  const state = await readState(db, callId)
  if (state?.state !== 'open' || !mayHaveDelivered(state) || state.replyTo === address) return false
  return await queues.isLeftToReader(callId, state.replyTo)
}
