/**
 * Turns of what reads stored responses: each may unpack as much as the longest body has, so one account has one of them
 * in work at a time.
 */
import type { AccountId } from '../../../shared/platform/ids.ts'
import { SenderQueue } from '../../endpoint/sender-queue.ts'

const turns = new SenderQueue({ atOnce: 1, waiting: 32 })

/** Does the work when it is the account's turn. @throws ApiError rate_limited where too much waits already */
export async function inTurn<T>(accountId: AccountId, work: () => Promise<T>): Promise<T> {
  const end = await turns.take(accountId)
  try {
    return await work()
  } finally {
    end()
  }
}
