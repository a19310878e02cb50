/**
 * The begin of a call (docs/architecture.md#begin): that of a fresh chat is written while its upstream is asked, that
 * of every other call before.
 */
import { isDeepStrictEqual } from 'node:util'
import { randomUUID } from 'node:crypto'
import type { Job } from 'bullmq'
import type { BegunCall } from '../../shared/calls/types.ts'
import type { Catalogue } from '../../shared/catalogue/catalogue.ts'
import { findModel } from '../../shared/catalogue/catalogue.ts'
import { publicId } from '../../shared/platform/ids.ts'
import { retryWhileUnreachable } from '../../shared/platform/postgres/db.ts'
import type { CallJob } from '../../shared/queues.ts'
import { WHOLE_PRICE, shareOf } from '../../shared/requests/pricing.ts'
import type { ChatRequest } from '../../shared/requests/requests.ts'
import type { WorkerDeps } from '../deps.ts'
import { Cancelled } from './held-calls.ts'

/** How long to wait for Postgres before a call is begun, in ms; the queue tries again after that. */
export const BEGIN_PATIENCE_MS = 30_000

/**
 * A call to work on. `begin` writes its begin where that is to be done meanwhile, and must have returned before the
 * call is ended or handed back.
 * @returns false where the call had ended, or another run has begun it: its upstream is asked no longer
 * @throws where Postgres is unreachable for BEGIN_PATIENCE_MS, or the row has another price: the job has to run again
 */
export type Taken = { call: BegunCall; begin: (ending: AbortController) => Promise<boolean> }

/**
 * Takes the call of a job; null where it has ended.
 * @param catalogue the version that it was opened at
 */
export async function takeCall(
  { calls }: Pick<WorkerDeps, 'calls'>,
  job: Job<CallJob>,
  catalogue: Catalogue,
): Promise<Taken | null> {
  const run = randomUUID()
  const { callId, request } = job.data
  const fresh = freshChat(job, catalogue)
  if (fresh) return { call: fresh, begin: (ending) => beginMeanwhile(calls, fresh, run, ending) }
  // A step of a submitted task goes on with its attempt.
  const call = await retryWhileUnreachable(BEGIN_PATIENCE_MS, () =>
    request === null ? calls.resume(callId) : calls.begin(callId, run, mayFollow(job) ? 'following' : 'any'),
  )
  return call && { call, begin: () => Promise.resolve(true) }
}

/**
 * Whether an earlier run of this job may have asked an upstream and left no begin. So may one whose job Redis has lost,
 * if the chat is answered whole; a stream of which a worker has delivered a part has a begin, or is about to find that
 * another run has the call.
 */
const mayFollow = ({ name, data, stalledCounter, attemptsMade }: Job<CallJob>): boolean =>
  name === 'chat' && (stalledCounter > 0 || attemptsMade > 0 || (data.again === true && !isStream(data)))

const isStream = ({ request }: CallJob): boolean => (request as ChatRequest | null)?.stream === true

/** The call of a chat whose job runs for the first time, as the job describes it; null where its row has to be read. */
function freshChat(job: Job<CallJob>, catalogue: Catalogue): BegunCall | null {
  const { callId, accountId, row, deadlineAt } = job.data
  const now = Date.now()
  if (!row || mayFollow(job) || job.data.again || job.attemptsStarted > 1 || deadlineAt <= now) return null
  const { priceBasisPoints = WHOLE_PRICE, ...known } = row
  const model = findModel(catalogue, row.model, 'chat')
  return (
    model && {
      ...known,
      id: callId,
      accountId,
      modality: 'chat',
      price: shareOf(model.price, priceBasisPoints),
      costMicroUsd: null,
      attempt: 1,
      resumed: false,
      upstream: null,
      upstreamRef: null,
      isDeleted: false,
      startedAt: new Date(now),
      remainingMs: deadlineAt - now,
    }
  )
}

/** See `Taken`. From then on `call` has the values of its row. */
async function beginMeanwhile(
  calls: WorkerDeps['calls'],
  call: BegunCall,
  run: string,
  ending: AbortController,
): Promise<boolean> {
  let isOurs = false
  try {
    const begun = await retryWhileUnreachable(BEGIN_PATIENCE_MS, () => calls.begin(call.id, run, 'fresh'))
    if (!begun) return false
    isOurs = isDeepStrictEqual(begun.price, call.price)
    if (!isOurs) throw new Error(`${publicId('call', call.id)} has another price than its job says`)
    Object.assign(call, begun)
    return true
  } finally {
    if (!isOurs) ending.abort(new Cancelled())
  }
}
