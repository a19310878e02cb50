/**
 * Streams whose worker was lost: what was delivered of one is settled by the web process that sent it on
 * (docs/architecture.md#lost-streams).
 */
import type { Job } from 'bullmq'
import { SETTLE_LOST_SECONDS } from '../../shared/terms/lifecycle.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { BegunCall } from '../../shared/calls/types.ts'
import type { CallJob } from '../../shared/queues.ts'
import type { WorkerDeps } from '../deps.ts'
import { comeBack } from './begin.ts'

/**
 * Leaves a stream that another worker had begun to its web process for a time, once. To be called before such a call is
 * refunded for any reason.
 * @throws DelayedError if it leaves the stream: the job runs again after that time, and refunds a call that is open
 */
export async function leaveToReader(
  { queues }: Pick<WorkerDeps, 'queues'>,
  { id, replyTo, resumed }: Pick<BegunCall, 'id' | 'replyTo' | 'resumed'>,
  job: Job<CallJob>,
  token: string | undefined,
): Promise<void> {
  if (!resumed || !isStream(job)) return
  if (!(await queues.isLeftToReader(id, replyTo))) return
  await comeBack(job, token, SETTLE_LOST_SECONDS * 1000)
}

/** Whether what is made of a call is sent on meanwhile, so that a reader may have some of it. */
const isStream = ({ name, data }: Pick<Job<CallJob>, 'name' | 'data'>): boolean =>
  name === 'speech' || (name === 'chat' && (data.request as ChatRequest | null)?.stream === true)
