/**
 * The deletion of a video, in any state of its call.
 */
import type { Membership } from '../../../shared/identity/members.ts'
import { hasEnded } from '../../../shared/terms/lifecycle.ts'
import { deleteVideo } from '../../../shared/calls/videos.ts'
import { gatewayError } from '../../../shared/platform/errors.ts'
import type { CallId } from '../../../shared/platform/ids.ts'
import { publicId } from '../../../shared/platform/ids.ts'
import { failpoint } from '../../../shared/platform/process/failpoints.ts'
import { readState } from '../../../shared/reports/call-records.ts'
import type { WebDeps } from '../../deps.ts'
import { waitFor } from '../calls/get-call.ts'

/** What a deletion needs. */
export type DeleteDeps = Pick<WebDeps, 'db' | 'calls' | 'queues' | 'replies' | 'joins' | 'stopping' | 'log'>

/** Deletes a video of a member, and ends its call. @returns false if they have no such video */
export async function removeVideo(deps: DeleteDeps, holder: Membership, id: CallId): Promise<boolean> {
  const status = await deleteVideo(deps.db, holder, id)
  if (status === null) return false
  failpoint('call.deleted', id)
  if (!hasEnded(status)) await stop(deps, holder, id)
  return true
}

/** How long a deletion waits for the end of its call, in seconds: who asks after it sees what the call cost. */
const STOP_SECONDS = 10

const DELETED = gatewayError('upstream_failed', 'The video was deleted before it began. It cost nothing.')

/**
 * Ends the call of a deleted video: at once where no worker has begun it, else its worker does. Where this process
 * dies before that, its worker finds that it was deleted all the same.
 */
async function stop(deps: DeleteDeps, { accountId }: Membership, id: CallId): Promise<void> {
  const { db, calls, queues, replies, log } = deps
  try {
    const ended = await calls.refund(id, DELETED, { attempt: 0 })
    if (ended) {
      replies.publishEvent(accountId, { callId: id, status: ended.status, balance: ended.balance })
      return await queues.removeCall('video', id)
    }
    await replies.cancel(id)
    await queues.pollNow('video', id)
    const state = await readState(db, id)
    if (state?.state === 'open') await waitFor(deps, state, STOP_SECONDS)
  } catch (error) {
    log.warn({ call: publicId('call', id), err: error }, 'deleted video not stopped at once')
  }
}
